"""Owns which part of their entitlements the queues received in one simulation.

A queue is entitled to the smaller of its demand and its fair share, as in the reports of
simulations. What it uses beyond that at a time does not make up for what it lacks at another.
Follows the records of one run, and reads the scheduler between two instants. Decides nothing.
"""

import msgspec

from fairshare.journal.record import Record
from fairshare.model.events import (
    ApplicationEnded,
    ApplicationMoved,
    ApplicationSubmitted,
    AsksChanged,
    AttemptEnded,
    AttemptStarted,
    ContainerAllocated,
    ContainerCompleted,
)
from fairshare.model.identifiers import ApplicationId, ContainerId, application_of
from fairshare.model.resources import Resource, add, smallest, subtract, total
from fairshare.schedulers.protocol import Scheduler
from fairshare.simulate.levels import KINDS, Levels, divided
from fairshare.simulate.usage import Usage

_ENTITLED = KINDS.index("entitled")
_DEMAND = AsksChanged | AttemptEnded | AttemptStarted | ApplicationEnded


class Received(msgspec.Struct, frozen=True):
    """The parts of entitlements that were received, from 0 to 1, by queue and of all together.
    Queues that were entitled to nothing have none."""

    queues: dict[str, float] = {}
    whole: float | None = None


class Entitlements:
    """The entitlements of one run; `scheduler` is its own, as it is at `begin_ms`.

    `advance` must be called before the first decision of a later instant, and `observe` with every
    record.
    """

    def __init__(self, scheduler: Scheduler, begin_ms: int) -> None:
        self._state = scheduler.state
        self._begin_ms = begin_ms
        self._usage = Usage(self._state.none)
        self._levels = Levels(scheduler)
        self._stale = self._levels.demands.stale
        self._queues: dict[ApplicationId, str] = {}
        self._live: dict[ApplicationId, dict[ContainerId, Resource]] = {}
        self._total = self._state.total
        self._usage.offer(0, self._total)
        for number, application in self._state.applications.items():
            if application.over:
                continue
            self._stale[number] = None
            self._queues[number] = application.queue
            live = {one: granted.resource for one, granted in application.containers.items()}
            self._live[number] = live
            for resource in live.values():
                self._usage.change(0, application.queue, resource)

    def advance(self, now_ms: int) -> None:
        """Account for the time up to an instant, before its first decision."""
        passed_ms = now_ms - self._begin_ms
        if passed_ms >= self._usage.look_ms:
            self._usage.advance(passed_ms, self._levels.read())

    def observe(self, record: Record) -> None:
        """Take notice of a record."""
        passed_ms = record.now_ms - self._begin_ms
        if self._state.total is not self._total:
            self._total = self._state.total
            self._usage.offer(passed_ms, self._total)
        for event in record.events:
            if isinstance(event, ContainerAllocated):
                number = event.application
                self._live.setdefault(number, {})[event.container] = event.resource
                self._usage.change(passed_ms, self._queues[number], event.resource)
                self._stale[number] = None
            elif isinstance(event, ContainerCompleted):
                number = application_of(event.container)
                resource = self._live.get(number, {}).pop(event.container, None)
                if resource is not None:
                    less = subtract(self._state.none, resource)
                    self._usage.change(passed_ms, self._queues[number], less)
                self._stale[number] = None
            elif isinstance(event, ApplicationSubmitted):
                self._queues[event.application] = event.queue
            elif isinstance(event, ApplicationMoved):
                self._moved(passed_ms, event)
            elif isinstance(event, _DEMAND):
                self._stale[event.application] = None

    def _moved(self, passed_ms: int, event: ApplicationMoved) -> None:
        number = event.application
        none = self._state.none
        used = total(self._live.get(number, {}).values(), len(none))
        self._usage.change(passed_ms, self._queues[number], subtract(none, used))
        self._usage.change(passed_ms, event.queue, used)
        self._queues[number] = event.queue
        self._stale[number] = None

    def received(self, now_ms: int) -> Received:
        """What was received up to the end of the run."""
        self._usage.finish(now_ms - self._begin_ms, self._levels.read())
        none = self._state.none
        intervals = self._usage.intervals
        due: dict[str, Resource] = {}
        had: dict[str, Resource] = {}
        for interval in intervals:
            for queue, levels in interval.shares.items():
                entitled = list(divided(levels))[_ENTITLED]
                used = smallest(entitled, interval.used.get(queue, none))
                due[queue] = add(due.get(queue, none), entitled)
                had[queue] = add(had.get(queue, none), used)
        offered = total((one.total for one in intervals), len(none))
        parts = {queue: part_of(had[queue], due[queue], offered) for queue in due}
        whole = part_of(total(had.values(), len(none)), total(due.values(), len(none)), offered)
        return Received({name: part for name, part in parts.items() if part is not None}, whole)


def part_of(had: Resource, due: Resource, offered: Resource) -> float | None:
    """The part of what was due that was had, of the resource of which the largest part of the
    cluster was due; None if nothing was.

    Half the cluster's memory and a tenth of its vcores are due, so memory counts:

    >>> part_of((25, 10), (50, 10), (100, 100))
    0.5
    """
    parts = [
        (amount / whole, received / amount)
        for received, amount, whole in zip(had, due, offered, strict=True)
        if amount and whole
    ]
    return max(parts, key=lambda one: one[0])[1] if parts else None
