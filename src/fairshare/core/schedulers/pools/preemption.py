"""The preemption of 1.2: which pools are below their minimum or below half of their fair share, for
how long, how many tasks are to be killed for them, and which tasks these are.

The first in the order gets the freed slots; they are not reserved for the starved (Hadoop:
FairScheduler.tasksToPreempt, FairScheduler.preemptTasksIfNecessary).
"""

from typing import TYPE_CHECKING

from fairshare.core.model.events import (
    ContainerAllocated,
    ContainerCompleted,
    ExitCode,
    StarvationServed,
)
from fairshare.core.schedulers.bookings import protects
from fairshare.core.schedulers.pools.jobs import Slots
from fairshare.core.schedulers.pools.settings import MAP, NEVER_MS, REDUCE
from fairshare.core.schedulers.pools.sharing import min_share
from fairshare.core.schedulers.pools.tree import Pool
from fairshare.core.schedulers.protocol import Step

if TYPE_CHECKING:
    from fairshare.core.schedulers.pools.state import PoolsState


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


def pools_of(state: "PoolsState") -> list["Pool"]:
    """All pools but the root."""
    return [pool for pool in state.queues.values() if pool.parent is not None]


def note(state: "PoolsState", now_ms: int) -> None:
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


def timed_out(state: "PoolsState", pool: "Pool", kind: int, now_ms: int) -> tuple[bool, bool]:
    """Whether a pool has waited too long for its minimum, and for half of its share."""
    slots = pool.slots[kind]
    return (
        now_ms - slots.at_min_share_ms > state.settings.min_share_timeout_ms(pool.pool),
        now_ms - slots.at_half_share_ms > state.settings.allocations.fair_share_timeout_ms,
    )


def need(state: "PoolsState", pool: "Pool", kind: int, now_ms: int) -> int:
    """The number of tasks to be killed for a pool now, if a check were due."""
    if state.settings.deficits:
        return 0
    by_minimum, by_share = timed_out(state, pool, kind, now_ms)
    running = pool.used[state.places[kind]]
    least = min_share(state, pool, kind)
    own = lacking(running, least, pool.slots[kind], by_minimum=by_minimum, by_share=by_share)
    # Tasks killed for child pools also count for their parent.
    return max(own, sum(need(state, part, kind, now_ms) for part in pool.parts))


def clocks_matter(state: "PoolsState") -> bool:
    """Whether some pool has a finite timeout."""
    settings = state.settings
    allocations = settings.allocations
    if settings.deficits:
        return False
    own = (pool.min_share_timeout_ms for pool in allocations.pools.values())
    shared = (allocations.default_min_share_timeout_ms, allocations.fair_share_timeout_ms)
    return any(time is not None and time < NEVER_MS for time in (*own, *shared))


def next_timeout_ms(state: "PoolsState") -> int | None:
    """When the first starved pool will have waited too long; None: never."""
    settings = state.settings
    instants: list[int] = []
    if not clocks_matter(state):
        return None
    for pool in pools_of(state):
        timeout_ms = settings.min_share_timeout_ms(pool.pool)
        for kind in (MAP, REDUCE):
            slots = pool.slots[kind]
            running = pool.used[state.places[kind]]
            least = min_share(state, pool, kind)
            if timeout_ms < NEVER_MS and below_min_share(running, least, slots.demand):
                instants.append(slots.at_min_share_ms + timeout_ms + 1)
            share_timeout_ms = settings.allocations.fair_share_timeout_ms
            if share_timeout_ms < NEVER_MS and below_half_share(
                running, slots.fair_share, slots.demand
            ):
                instants.append(slots.at_half_share_ms + share_timeout_ms + 1)
    return min(instants, default=None)


ALL_APPLICATIONS = 0
"""A check does not concern a single application."""

DIAGNOSTICS = "Task killed: its pool has more than its fair share, and another one has too little"


def check(state: "PoolsState", step: Step) -> None:
    """Run one check, unless the last one is too recent
    (Hadoop: FairScheduler.preemptTasksIfNecessary)."""
    settings = state.settings
    if settings.deficits or not settings.preemption:
        return
    if step.now_ms - state.checked_ms < settings.preemption_interval_ms:
        return
    step.emit(StarvationServed(ALL_APPLICATIONS, step.now_ms + settings.preemption_interval_ms))
    for kind in (MAP, REDUCE):
        missing = sum(need(state, pool, kind, step.now_ms) for pool in state.root.parts)
        if missing > 0 and not settings.preemption_only_log:
            _kill(state, step, kind, missing)


def _kill(state: "PoolsState", step: Step, kind: int, missing: int) -> None:
    """Kill the newest tasks of pools above their share, none below the integer part of it
    (Hadoop: FairScheduler.preemptTasks)."""
    place = state.places[kind]
    above = [p for p in pools_of(state) if p.used[place] > p.slots[kind].fair_share]
    victims: list[tuple[Pool, ContainerAllocated]] = [
        (pool, record)
        for pool in above
        for job in pool.attempts.values()
        for record in job.containers.values()
        if record.resource[place]
        and record.container != job.master
        and not (state.kept and protects(state, job, record.resource))
    ]
    victims.sort(key=lambda one: (one[1].allocated_ms, one[1].container), reverse=True)
    for pool, record in victims:
        if missing <= 0:
            return
        if pool.used[place] > pool.slots[kind].fair_share:
            step.emit(ContainerCompleted(record.container, ExitCode.PREEMPTED, DIAGNOSTICS))
            missing -= 1


def next_check_ms(state: "PoolsState") -> int | None:
    """When a check could find a pool to preempt for; None: not before the next update."""
    settings = state.settings
    if settings.deficits or not settings.preemption or not state.jobs:
        return None
    over_ms = next_timeout_ms(state)
    if over_ms is None:
        return None
    return max(over_ms, state.checked_ms + settings.preemption_interval_ms)
