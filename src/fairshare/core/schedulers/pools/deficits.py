"""The update of the deficit scheduler, 0.19 and 0.20: deficits, minimums, fair shares.

Everything is computed twice, for maps and for reduces (Hadoop: FairScheduler.update).
"""

from collections.abc import Sequence
from math import ceil, floor
from typing import TYPE_CHECKING

from fairshare.core.schedulers.pools import tree
from fairshare.core.schedulers.pools.jobs import Slots, to_start
from fairshare.core.schedulers.pools.settings import MAP, REDUCE
from fairshare.core.schedulers.pools.weights import raw_weight

if TYPE_CHECKING:
    from fairshare.core.schedulers.pools.state import PoolsState
    from fairshare.core.schedulers.pools.tree import Pool


def update(state: "PoolsState", now_ms: int) -> None:
    """One update: first the deficits for the time since the last one, by the shares of that
    time."""
    elapsed_ms = now_ms - state.updated_ms
    for job in state.jobs.values():
        for slots in job.slots:
            slots.deficit = grown(slots.deficit, slots.fair_share, slots.running, elapsed_ms)
    tree.admit(state)
    for job in state.jobs.values():
        waiting = to_start(state.settings, job, state.places) if job.runnable else (0, 0)
        for slots, place, count in zip(job.slots, state.places, waiting, strict=True):
            slots.running = job.used[place] if job.running else 0
            slots.needed = count
    for kind in (MAP, REDUCE):
        _weigh(state, kind, now_ms)
        _guarantee(state.root, state, kind)
        candidates = [
            job.slots[kind]
            for job in state.jobs.values()
            if job.runnable and job.slots[kind].wanted > 0
        ]
        for job in state.jobs.values():
            job.slots[kind].fair_share = 0.0
        divide(state.total[state.places[kind]], candidates)


def grown(deficit: int, fair_share: float, running: int, elapsed_ms: int) -> int:
    """A deficit after some time, in slot-milliseconds, truncated towards zero
    (Hadoop: FairScheduler.update).

    >>> grown(133, 4 / 3, 0, 100), grown(400, 2.0, 4, 100)
    (266, 200)
    """
    return int(deficit + (fair_share - running) * elapsed_ms)


def _weigh(state: "PoolsState", kind: int, now_ms: int) -> None:
    """Set the jobs' weights: in 0.19 a job's own weight; in 0.20 its part of its pool's
    (Hadoop: FairScheduler.updateWeights)."""
    settings = state.settings
    for job in state.jobs.values():
        slots = job.slots[kind]
        slots.weight = (
            raw_weight(settings, job, kind, slots.wanted, now_ms) if job.runnable else 0.0
        )
    if settings.generation == "0.20":
        for pool in state.root.parts:
            _spread(state, pool, kind, settings.allocation(pool.pool).weight)


def _spread(state: "PoolsState", pool: "Pool", kind: int, weight: float) -> None:
    """Divide a pool's weight between its active jobs, and the active pools inside."""
    jobs = [job.slots[kind] for job in pool.jobs.values() if job.runnable]
    active = [slots for slots in jobs if slots.wanted > 0]
    parts = [
        (part, state.settings.allocation(part.pool).weight)
        for part in pool.parts
        if any(job.runnable and job.slots[kind].wanted > 0 for job in part.all_jobs())
    ]
    whole = sum(slots.weight for slots in active) + sum(own for _, own in parts)
    for slots in jobs:
        slots.weight = slots.weight * weight / whole if whole > 0.0 else 0.0
    for part, own in parts:
        _spread(state, part, kind, own * weight / whole if whole > 0.0 else 0.0)


def _guarantee(pool: "Pool", state: "PoolsState", kind: int) -> None:
    """Divide the minimum of a pool between its jobs; the pools inside come first.

    The rest of the minimum of the pool around them goes to any job in it.
    """
    if pool.parent is None:
        for job in state.jobs.values():
            job.slots[kind].min = 0
    for part in pool.parts:
        _guarantee(part, state, kind)
    if pool.parent is None:
        return
    jobs = [job.slots[kind] for job in pool.all_jobs() if job.runnable]
    guarantee = state.settings.allocation(pool.pool).min_share[kind]
    split(
        guarantee - sum(slots.min for slots in jobs),
        jobs,
        again=state.settings.generation == "0.19",
        # A job of weight 0 is to have its minimum and nothing else; no release has such jobs.
        even=0.0 in state.settings.priority_factors,
    )


def split(
    guarantee: int, jobs: Sequence[Slots], *, again: bool = False, even: bool = False
) -> None:
    """Give whole slots to jobs by weight; the rest to the largest weight, then deficit
    (Hadoop: FairScheduler.updateMinSlots).

    `again`: while slots are left, as 0.19 does. `even`: jobs that all have weight 0 divide the
    slots evenly; without it they get none. Example: 5 for three equal jobs is 1 for each by
    rounding down, then 1 more for the two with the larger deficits.
    """
    left = guarantee
    while left > 0:
        wanting = [slots for slots in jobs if slots.wanted > slots.min]
        parts = [slots.weight for slots in wanting]
        if even and not any(parts):
            parts = [1.0] * len(wanting)
        whole = sum(parts)
        if whole <= 0.0:
            return
        before = left
        for slots, part in zip(wanting, parts, strict=True):
            left -= _give(slots, floor(before * part / whole), left)
        if left < before:
            continue
        weighed = sorted(
            zip(wanting, parts, strict=True), key=lambda one: (-one[1], -one[0].deficit)
        )
        for slots, part in weighed:
            left -= _give(slots, ceil(before * part / whole), left)
        if not again:
            return


def _give(slots: Slots, count: int, left: int) -> int:
    given = min(count, left, slots.wanted - slots.min)
    slots.min += given
    return given


def divide(total: int, candidates: Sequence[Slots]) -> None:
    """The fair shares: by weight, but each at least its minimum
    (Hadoop: FairScheduler.updateFairShares).

    Shares are not limited by a job's demand. Example: 4 slots, weights 1 and 1, minimums 3 and 0:
    the first has 3, the second the remaining 1.
    """
    left = float(total)
    rest = list(candidates)
    while rest:
        whole = sum(slots.weight for slots in rest)
        parts = [slots.weight / whole * left if whole > 0.0 else 0.0 for slots in rest]
        above = [slots for slots, part in zip(rest, parts, strict=True) if slots.min > part]
        if not above:
            for slots, part in zip(rest, parts, strict=True):
                slots.fair_share = part
            return
        for slots in above:
            slots.fair_share = float(slots.min)
            left -= slots.min
        rest = [slots for slots, part in zip(rest, parts, strict=True) if slots.min <= part]
