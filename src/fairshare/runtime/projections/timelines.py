"""The history of applications as spans: held back by a limit, queued, running; reservations; and
marks of changes to them. Derived from records alone, as all projections.

An application is queued while it has no container, and runs while it has one. The history of one
that has ended is packed, and opened for each reader.
"""

from typing import Final, Self, TypeVar, cast

import msgspec

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
    NodeRemoved,
    PriorityChanged,
    ReservationDropped,
    ReservationMoved,
)
from fairshare.core.model.identifiers import ApplicationId, ContainerId, application_of
from fairshare.core.model.packing import Pattern
from fairshare.core.record import Record
from fairshare.core.schedulers.protocol import Scheduler
from fairshare.runtime.observers import Observers
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


def _with(kept: Entries[Kept], latest: Kept) -> Entries[Kept]:
    if isinstance(kept, tuple) or not kept:
        return [latest]
    kept.append(latest)
    if len(kept) > KEPT:
        del kept[0]
    return kept


def _drop_last(known: Entries[Kept]) -> None:
    assert not isinstance(known, tuple)
    known.pop()


_Rows = list[tuple[str, int, int | None]]
_Content = tuple[_Rows, _Rows, list[tuple[str, int, str]], bool]
_decode = msgspec.msgpack.Decoder(_Content).decode
_TYPICAL: _Content = ([(QUEUED, 1 << 40, 1 << 40), (RUNNING, 1 << 40, 1 << 40)], [], [], False)
_PATTERN = Pattern(msgspec.msgpack.encode(_TYPICAL))


class PackedTimeline(bytes):
    """The `Timeline` of an application that has ended."""

    __slots__ = ()

    @classmethod
    def of(cls, life: Timeline) -> Self:
        spans = [
            [(span.what, span.since_ms, span.until_ms) for span in kept]
            for kept in (life.phases, life.reservations)
        ]
        marks = [(mark.kind, mark.at_ms, mark.what) for mark in life.marks]
        return cls(_PATTERN.pack(msgspec.msgpack.encode((*spans, marks, life.held))))

    def open(self) -> Timeline:
        """What is packed; a new one."""
        phases, reservations, marks, held = _decode(_PATTERN.unpack(self))
        life = Timeline()
        life.phases, life.reservations = _spans(phases), _spans(reservations)
        life.marks = [Mark(*row) for row in marks] or ()
        life.held = held
        return life


def _spans(rows: _Rows) -> Entries[Span]:
    spans = []
    for what, since_ms, until_ms in rows:
        span = Span(what, since_ms)
        span.until_ms = until_ms
        spans.append(span)
    return spans or ()


class Timelines(Projection):
    """All applications of the records."""

    def __init__(self) -> None:
        self._lives: dict[ApplicationId, Timeline | PackedTimeline] = {}
        self._reserved: dict[str, tuple[ApplicationId, Span]] = {}  # by node
        self._live: set[ContainerId] = set()

    def of(self, application: ApplicationId) -> Timeline:
        """One application; an empty history if no record names it."""
        life = self._lives.get(application)
        if type(life) is PackedTimeline:
            return life.open()
        return cast("Timeline | None", life) or Timeline()

    def pack(self, application: ApplicationId) -> None:
        """Keep the history of an application that has ended in few bytes."""
        life = self._lives.get(application)
        if type(life) is Timeline and not life.live:
            self._lives[application] = PackedTimeline.of(life)

    def subscribe(self, observers: Observers, scheduler: Scheduler) -> None:
        observers.events(self._allocated, ContainerAllocated)
        observers.events(self._completed, ContainerCompleted)
        observers.events(self._submitted, ApplicationSubmitted)
        observers.events(self._attempt_started, AttemptStarted)
        observers.events(self._admitted, ApplicationAdmitted)
        observers.events(self._moved, ApplicationMoved)
        observers.events(self._priority_changed, PriorityChanged)
        observers.events(self._ended, ApplicationEnded, ApplicationRejected)
        observers.events(self._container_reserved, ContainerReserved)
        observers.events(self._node_released, ReservationDropped, NodeRemoved)
        observers.events(self._reservation_moved, ReservationMoved)
        observers.events(self._attempt_ended, AttemptEnded)
        observers.events(self._forgotten, ApplicationsForgotten)

    def _allocated(self, record: Record, event: ContainerAllocated) -> None:
        self._live.add(event.container)
        if event.reserved:
            self._released(record.now_ms, event.node)
        life = self._known(event.application)
        life.live += 1
        if life.live == 1:  # else it runs already
            life.phase(record.now_ms)

    def _completed(self, record: Record, event: ContainerCompleted) -> None:
        if event.container in self._live:
            self._live.discard(event.container)
            life = self._known(application_of(event.container))
            life.live -= 1
            life.phase(record.now_ms)

    def _submitted(self, record: Record, event: ApplicationSubmitted) -> None:
        self._lives[event.application] = life = Timeline()
        life.phase(record.now_ms)

    def _attempt_started(self, record: Record, event: AttemptStarted) -> None:
        life = self._known(event.application)
        life.held = not event.runnable
        if event.attempt > 1:
            life.marks = _with(life.marks, Mark("attempt", record.now_ms, str(event.attempt)))
        life.phase(record.now_ms)

    def _admitted(self, record: Record, event: ApplicationAdmitted) -> None:
        self._held(record.now_ms, event.application, held=False)

    def _moved(self, record: Record, event: ApplicationMoved) -> None:
        life = self._known(event.application)
        life.marks = _with(life.marks, Mark("moved", record.now_ms, event.queue))
        self._held(record.now_ms, event.application, held=not event.runnable)

    def _priority_changed(self, record: Record, event: PriorityChanged) -> None:
        life = self._known(event.application)
        life.marks = _with(life.marks, Mark("priority", record.now_ms, str(event.priority)))

    def _ended(self, record: Record, event: ApplicationEnded | ApplicationRejected) -> None:
        self._known(event.application).end(record.now_ms)

    def _container_reserved(self, record: Record, event: ContainerReserved) -> None:
        self._reserve(record.now_ms, event.application, event.node)

    def _node_released(self, record: Record, event: ReservationDropped | NodeRemoved) -> None:
        self._released(record.now_ms, event.node)

    def _reservation_moved(self, record: Record, event: ReservationMoved) -> None:
        reserved = self._reserved.get(event.node)
        self._released(record.now_ms, event.node)
        if reserved is not None:
            self._reserve(record.now_ms, reserved[0], event.target)

    def _attempt_ended(self, record: Record, event: AttemptEnded) -> None:
        for node, (owner, _) in list(self._reserved.items()):
            if owner == event.application:
                self._released(record.now_ms, node)

    def _forgotten(self, record: Record, event: ApplicationsForgotten) -> None:
        for number in event.applications:
            self._lives.pop(number, None)

    def _known(self, number: ApplicationId) -> Timeline:
        life = self._lives.get(number)
        if type(life) is not Timeline:
            life = self._lives[number] = self.of(number)
        return life

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
