"""Owns the preemption of 1.2: which tasks are killed when pools have waited too long.

The first in the order gets the freed slots; they are not reserved for the starved
(Hadoop: FairScheduler.preemptTasksIfNecessary).
"""

from fairshare.core.model.events import (
    ContainerAllocated,
    ContainerCompleted,
    ExitCode,
    StarvationServed,
)
from fairshare.core.schedulers.pools import starvation
from fairshare.core.schedulers.pools.settings import MAP, REDUCE
from fairshare.core.schedulers.pools.state import PoolsState
from fairshare.core.schedulers.pools.tree import Pool
from fairshare.core.schedulers.protocol import Step

ALL_APPLICATIONS = 0
"""A check does not concern a single application."""

DIAGNOSTICS = "Task killed: its pool has more than its fair share, and another one has too little"


def check(state: PoolsState, step: Step) -> None:
    """Run one check, unless the last one is too recent
    (Hadoop: FairScheduler.preemptTasksIfNecessary)."""
    settings = state.settings
    if settings.deficits or not settings.preemption:
        return
    if step.now_ms - state.checked_ms < settings.preemption_interval_ms:
        return
    step.emit(StarvationServed(ALL_APPLICATIONS, step.now_ms + settings.preemption_interval_ms))
    for kind in (MAP, REDUCE):
        need = sum(starvation.need(state, pool, kind, step.now_ms) for pool in state.root.parts)
        if need > 0 and not settings.preemption_only_log:
            _kill(state, step, kind, need)


def _kill(state: PoolsState, step: Step, kind: int, need: int) -> None:
    """Kill the newest tasks of pools above their share, none below the integer part of it
    (Hadoop: FairScheduler.preemptTasks)."""
    place = state.places[kind]
    above = [p for p in starvation.pools_of(state) if p.used[place] > p.slots[kind].fair_share]
    found: list[tuple[Pool, ContainerAllocated]] = [
        (pool, record)
        for pool in above
        for job in pool.attempts.values()
        for record in job.containers.values()
        if record.resource[place] and record.container != job.master
    ]
    found.sort(key=lambda one: (one[1].allocated_ms, one[1].container), reverse=True)
    for pool, record in found:
        if need <= 0:
            return
        if pool.used[place] > pool.slots[kind].fair_share:
            step.emit(ContainerCompleted(record.container, ExitCode.PREEMPTED, DIAGNOSTICS))
            need -= 1


def next_check_ms(state: PoolsState) -> int | None:
    """When a check could find a pool to preempt for; None: not before the next update."""
    settings = state.settings
    if settings.deficits or not settings.preemption or not state.jobs:
        return None
    over_ms = starvation.patience_over_ms(state)
    if over_ms is None:
        return None
    return max(over_ms, state.checked_ms + settings.preemption_interval_ms)
