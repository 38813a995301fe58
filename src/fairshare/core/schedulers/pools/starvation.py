"""Owns the starvation check of 1.2: which pools are below their minimum or below half of their fair
share, for how long, and how many tasks are to be killed for them
(Hadoop: FairScheduler.tasksToPreempt). Kills no task."""

from typing import TYPE_CHECKING

from fairshare.core.schedulers.pools.jobs import Slots
from fairshare.core.schedulers.pools.settings import MAP, NEVER_MS, REDUCE
from fairshare.core.schedulers.pools.sharing import min_share
from fairshare.core.schedulers.pools.tree import PoolsCluster

if TYPE_CHECKING:
    from fairshare.core.schedulers.pools.tree import Pool


def below_min_share(running: int, least: int, demand: int) -> bool:
    """Whether a pool has less than its minimum, and has demand for it."""
    return running < min(least, demand)


def below_half_share(running: int, fair_share: float, demand: int) -> bool:
    """Whether a pool has less than half of its fair share, in whole tasks, and has demand for it.

    >>> below_half_share(1, 4.0, 10), below_half_share(1, 3.99, 10)
    (True, False)
    """
    return running < int(min(fair_share / 2.0, demand))


def lacking(running: int, least: int, slots: Slots, *, by_minimum: bool, by_share: bool) -> int:
    """The number of tasks that a pool lacks, by its minimum or by its whole share, the larger
    (Hadoop: FairScheduler.tasksToPreempt)."""
    to_minimum = max(0, min(least, slots.demand) - running) if by_minimum else 0
    to_share = max(0, int(min(slots.fair_share, slots.demand)) - running) if by_share else 0
    return max(to_minimum, to_share)


def pools_of(state: PoolsCluster) -> list["Pool"]:
    """All pools but the root."""
    return [pool for pool in state.queues.values() if pool.parent is not None]


def note(state: PoolsCluster, now_ms: int) -> None:
    """Advance the clocks of all pools that are not starved
    (Hadoop: FairScheduler.updatePreemptionVariables)."""
    for pool in pools_of(state):
        for kind in (MAP, REDUCE):
            slots = pool.slots[kind]
            running = pool.used[state.places[kind]]
            if not below_min_share(running, min_share(state, pool, kind), slots.demand):
                slots.at_min_share_ms = now_ms
            if not below_half_share(running, slots.fair_share, slots.demand):
                slots.at_half_share_ms = now_ms


def impatient(state: PoolsCluster, pool: "Pool", kind: int, now_ms: int) -> tuple[bool, bool]:
    """Whether a pool has waited too long for its minimum, and for half of its share."""
    slots = pool.slots[kind]
    return (
        now_ms - slots.at_min_share_ms > state.settings.min_share_timeout_ms(pool.pool),
        now_ms - slots.at_half_share_ms > state.settings.allocations.fair_share_timeout_ms,
    )


def need(state: PoolsCluster, pool: "Pool", kind: int, now_ms: int) -> int:
    """The number of tasks to be killed for a pool now, if a check were due."""
    if state.settings.deficits:
        return 0
    by_minimum, by_share = impatient(state, pool, kind, now_ms)
    running = pool.used[state.places[kind]]
    least = min_share(state, pool, kind)
    own = lacking(running, least, pool.slots[kind], by_minimum=by_minimum, by_share=by_share)
    # Tasks killed for child pools also count for their parent.
    return max(own, sum(need(state, part, kind, now_ms) for part in pool.parts))


def clocks_matter(state: PoolsCluster) -> bool:
    """Whether some pool has a finite timeout."""
    settings = state.settings
    allocations = settings.allocations
    if settings.deficits:
        return False
    own = (pool.min_share_timeout_ms for pool in allocations.pools.values())
    shared = (allocations.default_min_share_timeout_ms, allocations.fair_share_timeout_ms)
    return any(time is not None and time < NEVER_MS for time in (*own, *shared))


def patience_over_ms(state: PoolsCluster) -> int | None:
    """When the first starved pool will have waited too long; None: never."""
    settings = state.settings
    found: list[int] = []
    if not clocks_matter(state):
        return None
    for pool in pools_of(state):
        timeout_ms = settings.min_share_timeout_ms(pool.pool)
        for kind in (MAP, REDUCE):
            slots = pool.slots[kind]
            running = pool.used[state.places[kind]]
            least = min_share(state, pool, kind)
            if timeout_ms < NEVER_MS and below_min_share(running, least, slots.demand):
                found.append(slots.at_min_share_ms + timeout_ms + 1)
            share_timeout_ms = settings.allocations.fair_share_timeout_ms
            if share_timeout_ms < NEVER_MS and below_half_share(
                running, slots.fair_share, slots.demand
            ):
                found.append(slots.at_half_share_ms + share_timeout_ms + 1)
    return min(found, default=None)
