"""Owns how a resource manager normalises requested resources. Knows neither queue nor
application."""

from fairshare.model.resources import Resource


def normalise(ask: Resource, minimum: Resource, increment: Resource, maximum: Resource) -> Resource:
    """The size that is granted for an ask (Hadoop: FairScheduler.getNormalizedResource), computed
    for each type separately.

    At least the minimum; then rounded up to a multiple of the increment (0: not rounded); then at
    most the maximum. The maximum is applied last, so the result need not be a multiple of the
    increment:

    >>> normalise((4500, 1), minimum=(1024, 1), increment=(1024, 1), maximum=(5000, 4))
    (5000, 1)
    """
    return tuple(
        min(_round_up(max(wanted, least), step), most)
        for wanted, least, step, most in zip(ask, minimum, increment, maximum, strict=True)
    )


def _round_up(amount: int, step: int) -> int:
    return -(-amount // step) * step if step else amount
