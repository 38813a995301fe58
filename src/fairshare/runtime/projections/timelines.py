"""The history of applications as spans: held back by a limit, queued, running; reservations; and
marks of changes to them. Derived from records alone, as all projections.

An application is queued while it has no container, and runs while it has one.
"""

from typing import Final, TypeVar

from fairshare.core.model.events import (
    ApplicationAdmitted,
    ApplicationEnded,
    ApplicationMoved,
    ApplicationRejected,
    ApplicationsForgotten,
    ApplicationSubmitted,
    AttemptEnded,
    AttemptStarted,
    ContainerAllocated,
    ContainerCompleted,
    ContainerReserved,
    Event,
    NodeRemoved,
    PriorityChanged,
    ReservationDropped,
    ReservationMoved,
)
from fairshare.core.model.identifiers import ApplicationId, ContainerId, application_of
from fairshare.core.record import Record
from fairshare.core.schedulers.protocol import Scheduler
from fairshare.runtime.projections.projection import Projection

KEPT: Final = 200
"""Spans of each kind, and marks, that are remembered of one application; the oldest go first."""

Kept = TypeVar("Kept")
Entries = list[Kept] | tuple[()]

HELD, QUEUED, RUNNING = "held", "queued", "running"


class Span:
    """Something that lasted; `until_ms` is None while it goes on. `what` is a phase, or a node."""

    __slots__ = ("since_ms", "until_ms", "what")

    def __init__(self, what: str, since_ms: int) -> None:
        self.what = what
        self.since_ms = since_ms
        self.until_ms: int | None = None


class Mark:
    """An event at one instant: `moved`, `priority`, `attempt`, with its object."""

    __slots__ = ("at_ms", "kind", "what")

    def __init__(self, kind: str, at_ms: int, what: str) -> None:
        self.kind = kind
        self.at_ms = at_ms
        self.what = what


class Timeline:
    """One application's spans and marks, the oldest first.

    Plain lists, and a shared empty tuple before the first entry, since most applications have one
    or two spans and nothing else: an empty deque takes 760 bytes, a list 56.
    """

    __slots__ = ("held", "live", "marks", "phases", "reservations")

    def __init__(self) -> None:
        self.phases: Entries[Span] = ()
        self.reservations: Entries[Span] = ()
        self.marks: Entries[Mark] = ()
        self.held = False
        self.live = 0

    def phase(self, now_ms: int) -> None:
        """Begin the phase that follows from what is known, unless it goes on already."""
        what = RUNNING if self.live else HELD if self.held else QUEUED
        last = self.phases[-1] if self.phases else None
        if last is not None and last.until_ms is None:
            if last.what == what:
                return
            last.until_ms = now_ms
            if last.since_ms == now_ms:
                _drop_last(self.phases)
        self.phases = _with(self.phases, Span(what, now_ms))

    def end(self, now_ms: int) -> None:
        for span in (*self.phases, *self.reservations):
            if span.until_ms is None:
                span.until_ms = now_ms
        if len(self.phases) > 1 and self.phases[-1].since_ms == now_ms:
            _drop_last(self.phases)  # its containers ended in the same moment


def _with(known: Entries[Kept], latest: Kept) -> Entries[Kept]:
    if isinstance(known, tuple) or not known:
        return [latest]
    known.append(latest)
    if len(known) > KEPT:
        del known[0]
    return known


def _drop_last(known: Entries[Kept]) -> None:
    assert not isinstance(known, tuple)
    known.pop()


class Timelines(Projection):
    """All applications of the records."""

    def __init__(self) -> None:
        self._lives: dict[ApplicationId, Timeline] = {}
        self._reserved: dict[str, tuple[ApplicationId, Span]] = {}  # by node
        self._live: set[ContainerId] = set()

    def of(self, application: ApplicationId) -> Timeline:
        """One application; an empty history if no record names it."""
        return self._lives.get(application) or Timeline()

    def observe(self, record: Record, scheduler: Scheduler) -> None:
        """Apply one record; records come in the order of the journal."""
        for event in record.events:
            self._event(record.now_ms, event)

    def _event(self, now_ms: int, event: Event) -> None:
        match event:
            case ContainerAllocated(application=number, container=container):
                self._live.add(container)
                if event.reserved:
                    self._released(now_ms, event.node)
                self._counted(now_ms, number, 1)
            case ContainerCompleted(container=container):
                if container in self._live:
                    self._live.discard(container)
                    self._counted(now_ms, application_of(container), -1)
            case ApplicationSubmitted(application=number):
                self._lives[number] = life = Timeline()
                life.phase(now_ms)
            case AttemptStarted(application=number, attempt=attempt, runnable=runnable):
                life = self._known(number)
                life.held = not runnable
                if attempt > 1:
                    life.marks = _with(life.marks, Mark("attempt", now_ms, str(attempt)))
                life.phase(now_ms)
            case ApplicationAdmitted(application=number):
                self._held(now_ms, number, held=False)
            case ApplicationMoved(application=number, queue=queue, runnable=runnable):
                life = self._known(number)
                life.marks = _with(life.marks, Mark("moved", now_ms, queue))
                self._held(now_ms, number, held=not runnable)
            case PriorityChanged(application=number, priority=priority):
                life = self._known(number)
                life.marks = _with(life.marks, Mark("priority", now_ms, str(priority)))
            case ApplicationEnded(application=number) | ApplicationRejected(application=number):
                self._known(number).end(now_ms)
            case _:
                self._other(now_ms, event)

    def _other(self, now_ms: int, event: Event) -> None:
        match event:
            case ContainerReserved(application=number, node=node):
                self._reserve(now_ms, number, node)
            case ReservationDropped(node=node) | NodeRemoved(node=node):
                self._released(now_ms, node)
            case ReservationMoved(node=node, target=target):
                reserved = self._reserved.get(node)
                self._released(now_ms, node)
                if reserved is not None:
                    self._reserve(now_ms, reserved[0], target)
            case AttemptEnded(application=number):
                for node, (owner, _) in list(self._reserved.items()):
                    if owner == number:
                        self._released(now_ms, node)
            case ApplicationsForgotten(applications=numbers):
                for number in numbers:
                    self._lives.pop(number, None)
            case _:
                pass

    def _known(self, number: ApplicationId) -> Timeline:
        life = self._lives.get(number)
        if life is None:
            life = self._lives[number] = Timeline()
        return life

    def _counted(self, now_ms: int, number: ApplicationId, change: int) -> None:
        life = self._known(number)
        life.live += change
        life.phase(now_ms)

    def _held(self, now_ms: int, number: ApplicationId, *, held: bool) -> None:
        life = self._known(number)
        life.held = held
        life.phase(now_ms)

    def _reserve(self, now_ms: int, number: ApplicationId, node: str) -> None:
        found = self._reserved.get(node)
        if found is not None and found[0] == number:
            return
        self._released(now_ms, node)
        span = Span(node, now_ms)
        life = self._known(number)
        life.reservations = _with(life.reservations, span)
        self._reserved[node] = (number, span)

    def _released(self, now_ms: int, node: str) -> None:
        found = self._reserved.pop(node, None)
        if found is not None:
            found[1].until_ms = now_ms
