"""The update of 1.2: demands of pools and jobs, and their fair shares, from the root down.

Slots are divided by filling: all shares rise together, in proportion to the weight. Everything is
computed twice, for maps and for reduces (Hadoop: FairScheduler.update,
SchedulingAlgorithms.computeFairShares).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from fairshare.core.schedulers.pools import tree
from fairshare.core.schedulers.pools.jobs import Job, to_start
from fairshare.core.schedulers.pools.settings import MAP, REDUCE
from fairshare.core.schedulers.pools.weights import raw_weight

if TYPE_CHECKING:
    from fairshare.core.schedulers.pools.state import PoolsState
    from fairshare.core.schedulers.pools.tree import Pool


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


IDLE_WEIGHT = 1.0
"""The weight of a job that is not runnable: it avoids a division by 0 and has no effect."""


def update(state: "PoolsState", now_ms: int) -> None:
    """One update: runnable jobs, demands from the jobs up, shares from the cluster down."""
    tree.admit(state)
    for job in state.jobs.values():
        waiting = to_start(state.settings, job, state.places) if job.runnable else (0, 0)
        for slots, place, count in zip(job.slots, state.places, waiting, strict=True):
            slots.demand = count + job.used[place] if job.runnable else 0
    for kind in (MAP, REDUCE):
        for job in state.jobs.values():
            job.slots[kind].weight = job_weight(state, job, kind, now_ms)
        _collect(state, state.root, kind)
        state.root.slots[kind].fair_share = float(state.total[state.places[kind]])
        _divide(state, state.root, kind)


def job_weight(state: "PoolsState", job: Job, kind: int, now_ms: int) -> float:
    """A job's present weight, by its present priority (Hadoop: FairScheduler.getJobWeight)."""
    if not job.runnable:
        return IDLE_WEIGHT
    return raw_weight(state.settings, job, kind, job.slots[kind].demand, now_ms)


def min_share(state: "PoolsState", pool: "Pool", kind: int) -> int:
    """A pool's minimum: its own, or the sum of those of the pools inside, whichever is more."""
    inside = sum(min_share(state, part, kind) for part in pool.parts)
    return max(state.settings.allocation(pool.pool).min_share[kind], inside)


def _collect(state: "PoolsState", pool: "Pool", kind: int) -> int:
    """A pool's demand: that of its jobs and inner pools, up to its maximum
    (Hadoop: PoolSchedulable.updateDemand)."""
    demand = sum(job.slots[kind].demand for job in pool.jobs.values())
    demand += sum(_collect(state, part, kind) for part in pool.parts)
    pool.slots[kind].demand = min(demand, tree.pool_limit(state, pool, kind))
    return pool.slots[kind].demand


def _divide(state: "PoolsState", pool: "Pool", kind: int) -> None:
    """Divide a pool's share among its jobs and inner pools; the jobs of a fifo pool have none."""
    jobs = [job.slots[kind] for job in pool.jobs.values()]
    parts = pool.parts
    claims = [Claim(slots.demand, 0, slots.weight) for slots in jobs if pool.mode == "fair"]
    for part in parts:
        weight = state.settings.allocation(part.pool).weight
        part.slots[kind].weight = weight
        claims.append(Claim(part.slots[kind].demand, min_share(state, part, kind), weight))
    share = pool.slots[kind].fair_share
    if state.settings.scale_min_shares:
        claims = scaled(int(share), claims)
    shares = fill(share, claims)
    if pool.mode != "fair":
        shares = [0.0] * len(jobs) + shares
    for slots, found in zip([*jobs, *(part.slots[kind] for part in parts)], shares, strict=True):
        slots.fair_share = found
    for part in parts:
        _divide(state, part, kind)
