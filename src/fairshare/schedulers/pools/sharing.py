"""Owns the update of 1.2: demands of pools and jobs, and their fair shares, from the root down.

Everything is computed twice, for maps and for reduces (Hadoop: FairScheduler.update,
SchedulingAlgorithms).
"""

from typing import TYPE_CHECKING

from fairshare.schedulers.pools import limits
from fairshare.schedulers.pools.cluster import PoolsCluster
from fairshare.schedulers.pools.counting import to_start
from fairshare.schedulers.pools.filling import Claim, fill, scaled
from fairshare.schedulers.pools.jobs import Job
from fairshare.schedulers.pools.settings import MAP, REDUCE
from fairshare.schedulers.pools.weights import raw_weight

if TYPE_CHECKING:
    from fairshare.schedulers.pools.tree import Pool

IDLE_WEIGHT = 1.0
"""The weight of a job that is not runnable: it avoids a division by 0 and has no effect."""


def update(state: PoolsCluster, now_ms: int) -> None:
    """One update: runnable jobs, demands from the jobs up, shares from the cluster down."""
    limits.admit(state)
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


def job_weight(state: PoolsCluster, job: Job, kind: int, now_ms: int) -> float:
    """A job's present weight, by its present priority (Hadoop: FairScheduler.getJobWeight)."""
    if not job.runnable:
        return IDLE_WEIGHT
    return raw_weight(state.settings, job, kind, job.slots[kind].demand, now_ms)


def min_share(state: PoolsCluster, pool: "Pool", kind: int) -> int:
    """A pool's minimum: its own, or the sum of those of the pools inside, whichever is more."""
    inside = sum(min_share(state, part, kind) for part in pool.parts)
    return max(state.settings.allocation(pool.pool).min_share[kind], inside)


def _collect(state: PoolsCluster, pool: "Pool", kind: int) -> int:
    """A pool's demand: that of its jobs and inner pools, up to its maximum
    (Hadoop: PoolSchedulable.updateDemand)."""
    demand = sum(job.slots[kind].demand for job in pool.jobs.values())
    demand += sum(_collect(state, part, kind) for part in pool.parts)
    pool.slots[kind].demand = min(demand, limits.pool_limit(state, pool, kind))
    return pool.slots[kind].demand


def _divide(state: PoolsCluster, pool: "Pool", kind: int) -> None:
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
