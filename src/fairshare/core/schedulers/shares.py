"""The division of one resource among siblings by weight, minimum and maximum.

The results equal Hadoop's exactly: one ratio R gives each sibling `clamp(R * weight, min, max)` and
is found by doubling and 25 halvings (Hadoop: ComputeFairShares.computeShares).
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from fairshare.core.model.resources import UNBOUNDED

HALVINGS = 25

FEW = 4
"""The most kinds of claims whose ratio is kept: leaves divide the same amounts again and again."""

Row = tuple[float, float, float, int]
"""Weight, minimum and maximum of a kind of claim as floats, and the number of such claims."""


class Claim(NamedTuple):
    """One sibling's weight (>= 0), minimum and maximum (units of the total).

    `active` is False for a queue in which nothing can run: it gets 0.
    """

    weight: float
    minimum: int
    maximum: int
    active: bool = True


def fair_shares(total: int, claims: Sequence[Claim]) -> list[int]:
    """Split `total` units; the parts sum to the total or a few units more (each is truncated at R).

    Example: total 30, four claims of weight 1 with maxima 100, 9, 4, 2 -> [15, 9, 4, 2]. Minimums
    are kept even if they sum to more than the total. Equal claims are computed once, so the cost
    depends on the number of distinct claims.
    """
    shares = shares_of_kinds(total, Counter(claims))
    return [shares[claim] for claim in claims]


def shares_of_kinds(
    total: int, kinds: Mapping[Claim, int], *, keep: bool = True
) -> dict[Claim, int]:
    """The same for so many claims of each kind: what one of each kind gets. `keep`: their ratio is
    kept, for callers who do not keep the result.

    >>> large, small = Claim(1.0, 0, 100), Claim(1.0, 0, 4)
    >>> found = shares_of_kinds(30, {large: 2, small: 1})
    >>> found[large], found[small]
    (13, 4)
    """
    shares: dict[Claim, int] = {}
    taken = 0
    for claim, count in kinds.items():
        fixed = _fixed_share(claim)
        if fixed is not None:
            shares[claim] = fixed
            taken = min(taken + fixed * count, UNBOUNDED)
    open_kinds = [(claim, count) for claim, count in kinds.items() if claim not in shares]
    if open_kinds:
        most = min(sum(claim.maximum * count for claim, count in open_kinds), UNBOUNDED)
        target = min(most, max(total - taken, 0))
        rows = tuple(_row(claim, count) for claim, count in open_kinds)
        ratio = _kept_ratio(target, rows) if keep and len(rows) <= FEW else _ratio(target, rows)
        for claim, _ in open_kinds:
            shares[claim] = _used((_row(claim, 1),), ratio)
    return shares


def _fixed_share(claim: Claim) -> int | None:
    if claim.maximum <= 0 or not claim.active:
        return 0
    if claim.weight <= 0:
        return max(claim.minimum, 0)
    return None


def _row(claim: Claim, count: int) -> Row:
    return claim.weight, float(claim.minimum), float(claim.maximum), count


def _used(rows: tuple[Row, ...], ratio: float) -> int:
    """What claims get together at one ratio."""
    used = 0
    for weight, minimum, maximum, count in rows:  # no min() or max(): most of the time is here
        share = weight * ratio
        if share < minimum:
            share = minimum
        if share > maximum:
            share = maximum
        used += min(int(share), UNBOUNDED) * count
    return min(used, UNBOUNDED)


def _ratio(target: int, rows: tuple[Row, ...]) -> float:
    """R such that the shares use the target: the end of the last halved interval.

    It is infinite where every claim at its maximum uses less than the target, since a maximum above
    2**53 is less as a float.
    """
    high = _below(target, rows)
    while _used(rows, high) < target and high < math.inf:
        high *= 2.0
    low = 0.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        used = _used(rows, middle)
        if used == target:
            return middle
        if used < target:
            low = middle
        else:
            high = middle
    return high


def _below(target: int, rows: tuple[Row, ...]) -> float:
    """A power of two, 1 at least, up to which no ratio uses the target: doubling begins there.

    Without minimums a ratio R uses at most R times all weights; half of what would do is far enough
    from the target for any rounding. With minimums it is 1.

    >>> _below(1000, ((1.0, 0.0, 9000.0, 2),)), _below(1000, ((1.0, 5.0, 9000.0, 2),))
    (128.0, 1.0)
    """
    weights = 0.0
    for weight, minimum, _, count in rows:
        if minimum > 0:
            return 1.0
        weights += weight * count
    exponent = math.frexp(target / weights)[1]  # 2**(exponent - 1) is at most the quotient
    return math.ldexp(1.0, max(0, exponent - 2))


_kept_ratio = lru_cache(maxsize=4_096)(_ratio)
