"""The arithmetic of resources as in Hadoop: rounding to 32 bits, comparison, normalisation."""

import math
import struct
from collections.abc import Callable
from functools import lru_cache
from operator import truediv

from fairshare.core.model.resources import Resource, subtract

_SINGLE = struct.Struct("f")
pack, unpack = _SINGLE.pack, _SINGLE.unpack
"""For hot code, where a call of `single` costs as much as the rounding."""

SPLIT = float(2**29 + 1)
"""For the hottest code: with `high = value * SPLIT`, `high - (high - value)` is `single(value)` for
0 and for magnitudes from 2**-126 up to 2**127, without a call (Veltkamp's splitting of 53 bits into
29 and 24; ties go to even)."""


def single(value: float) -> float:
    """The nearest 32-bit float, as a double: `single(0.2) == 0.20000000298023224`.

    Infinity and NaN are returned unchanged.
    """
    rounded: float = unpack(pack(value))[0]
    return rounded


Calculator = Callable[[Resource, Resource, Resource, bool], int]


def memory_calculator(cluster: Resource, a: Resource, b: Resource, single: bool = False) -> int:
    """By memory alone: `memory_calculator(c, (1024, 9), (2048, 1)) == -1`."""
    return (a[0] > b[0]) - (a[0] < b[0])


def dominant_calculator(cluster: Resource, a: Resource, b: Resource, single: bool = False) -> int:
    """By dominant share of the cluster; equal dominant shares are compared by the next share, and
    so on.

    Example: of a cluster (8000, 8), (4000, 1) is half and (2000, 5) is five eighths, so -1.

    Hadoop ignores a type of which the cluster has 0 units, except where it compares all shares of
    memory and vcores only.
    """
    if a == b:
        return 0
    if not any(cluster):
        less = any(x < y for x, y in zip(a, b, strict=True))
        greater = any(x > y for x, y in zip(a, b, strict=True))
        return greater - less
    if not all(cluster) and (single or len(cluster) > 2):
        a, b, cluster = _present(a, cluster), _present(b, cluster), _present(cluster, cluster)
    if single:
        x: float = max(0.0, *map(truediv, a, cluster))
        y: float = max(0.0, *map(truediv, b, cluster))
        return (x > y) - (x < y)
    parts_a = sorted(map(_part, a, cluster), reverse=True)
    parts_b = sorted(map(_part, b, cluster), reverse=True)
    for x, y in zip(parts_a, parts_b, strict=True):
        if x != y:
            return 1 if x > y else -1
    return 0


def _present(amount: Resource, cluster: Resource) -> Resource:
    """The amounts of the types that the cluster has."""
    return tuple(part for part, whole in zip(amount, cluster, strict=True) if whole)


def take_from(amount: Resource, part: Resource) -> Resource:
    """Subtract a part from an amount; memory and vcores are never below 0.

    As in Hadoop further types are not clamped: they may become negative, and an amount that is not
    0 counts as starvation although nothing is missing.

    >>> take_from((1024, 2, 0), (2048, 1, 1))
    (0, 1, -1)
    """
    left = subtract(amount, part)
    return (max(left[0], 0), max(left[1], 0), *left[2:])


def _part(amount: int, whole: int) -> float:
    if whole == 0:
        return math.inf if amount > 0 else 0.0
    return amount / whole


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
