"""Owns the division of slots by filling: all shares rise together, in proportion to the weight.

Knows neither pools nor jobs (Hadoop: SchedulingAlgorithms.computeFairShares).
"""

from collections.abc import Sequence

import msgspec

_ROUNDS = 25


class Claim(msgspec.Struct, frozen=True):
    """One participant's demand, minimum and weight."""

    demand: int
    min_share: int = 0
    weight: float = 1.0


def fill(total: float, claims: Sequence[Claim]) -> list[float]:
    """The share of each: `min(demand, max(weight * r, min_share))` with the r that uses the slots.

    r is found by halving, 25 times, as in Hadoop: preemption compares with the result, so that its
    small error matters. A claim of weight 0 does not rise above its minimum.

    Example: 45 slots, demands 10, 11, 30, 20 with weights 2, 1, 1, 1/2 give 10, 11, 16, 8.
    """
    shares = [float(min(claim.demand, claim.min_share)) for claim in claims]
    # Claims of weight 0 do not rise: with them alone no ratio would use the slots.
    rising = [claim for claim in claims if claim.weight > 0.0 and claim.demand > 0]
    if not rising:
        return shares
    fixed = sum(share for share, claim in zip(shares, claims, strict=True) if claim.weight <= 0.0)
    cap = min(sum(claim.demand for claim in rising), total - fixed)
    highest = 1.0
    while _used(highest, rising) < cap:
        highest *= 2.0
    low, high = 0.0, highest
    for _ in range(_ROUNDS):
        middle = (low + high) / 2.0
        if _used(middle, rising) < cap:
            low = middle
        else:
            high = middle
    return [
        _share(claim, high) if claim.weight > 0.0 else share
        for share, claim in zip(shares, claims, strict=True)
    ]


def scaled(total: int, claims: Sequence[Claim]) -> list[Claim]:
    """The claims with their minimums, reduced in proportion and rounded down if they exceed the
    total.

    >>> [claim.min_share for claim in scaled(4, [Claim(9, 6), Claim(9, 2), Claim(1, 5)])]
    [2, 0, 0]
    """
    guaranteed = sum(min(claim.demand, claim.min_share) for claim in claims)
    if guaranteed <= total:
        return list(claims)
    return [
        msgspec.structs.replace(
            claim, min_share=min(claim.demand, claim.min_share) * total // guaranteed
        )
        for claim in claims
    ]


def _share(claim: Claim, ratio: float) -> float:
    return min(float(claim.demand), max(claim.weight * ratio, float(claim.min_share)))


def _used(ratio: float, claims: Sequence[Claim]) -> float:
    return sum(_share(claim, ratio) for claim in claims)
