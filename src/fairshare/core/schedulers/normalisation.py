"""Owns how a resource manager normalises requested resources. Knows neither queue nor
application."""

from functools import lru_cache

from fairshare.core.model.resources import Resource


@lru_cache(maxsize=1_024)  # a cluster's asks have few sizes, and each is normalised several times
def normalise(ask: Resource, minimum: Resource, increment: Resource, maximum: Resource) -> Resource:
    """The size that is granted for an ask (Hadoop: FairScheduler.getNormalizedResource), computed
    for each type separately.

    At least the minimum; then rounded up to a multiple of the increment (0: not rounded); then at
    most the maximum. The maximum is applied last, so the result need not be a multiple of the
    increment:

    >>> normalise((4500, 1), minimum=(1024, 1), increment=(1024, 1), maximum=(5000, 4))
    (5000, 1)
    """
    amounts = zip(ask, minimum, increment, maximum, strict=True)
    return tuple([_granted(*one) for one in amounts])


def _granted(wanted: int, least: int, step: int, most: int) -> int:
    """The amount of one type."""
    amount = wanted if wanted > least else least
    if step:
        amount = -(-amount // step) * step
    return amount if amount < most else most
