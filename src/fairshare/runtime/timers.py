"""Owns all that becomes due for applications, containers and nodes without a further event:
lifetimes, begins, pauses, containers that stay unused, drains, overcommits, gangs.

Nearly always nothing of it exists, and `any` says so at once. Decides nothing: it makes the inputs
that are due.
"""

from collections.abc import Iterator, Sequence

from fairshare.model.events import ApplicationDeferred, Event, LifetimeSet, TaskPaused
from fairshare.model.inputs import BeginDue, Input, LifetimeOver
from fairshare.runtime.begins import Begins
from fairshare.runtime.drains import Drains
from fairshare.runtime.gangs import Gangs
from fairshare.runtime.lifetimes import Lifetimes
from fairshare.runtime.overcommits import Overcommits
from fairshare.runtime.pauses import Pauses
from fairshare.runtime.unused import UnusedContainers
from fairshare.schedulers.protocol import State

_FIRST = frozenset((ApplicationDeferred, LifetimeSet, TaskPaused))
"""The events that make lifetimes, begins and pauses; all others only end them."""


class Timers:
    """The timers of a state as it is, kept in step with it by `note`, which must see all events.

    `unused_expiry_ms` is how long a driver may keep a container without launching anything in it;
    None: for ever.
    """

    def __init__(self, state: State, unused_expiry_ms: int | None) -> None:
        self._state = state
        self._lifetimes = Lifetimes(state)
        self._begins = Begins(state)
        self._pauses = Pauses(state)
        self._unused = UnusedContainers(state, unused_expiry_ms)
        self._expires = unused_expiry_ms is not None
        self._drains = Drains(state)
        self._overcommits = Overcommits(state)
        self.gangs = Gangs(state)

    def note(self, events: Sequence[Event]) -> None:
        """Take note of events."""
        dated = self._lifetimes.at_ms or self._begins.at_ms or self._pauses.at_ms
        if dated or not _FIRST.isdisjoint(map(type, events)):
            self._lifetimes.note(events)
            self._begins.note(events)
            self._pauses.note(events)
        if self._expires:
            self._unused.note(events)
        if not self.gangs.freed:
            self.gangs.note(events)

    def note_beat(self, events: Sequence[Event]) -> None:
        """Take note of the events of a node's beat, which only grants or reserves."""
        if self._expires:
            self._unused.note(events)

    @property
    def any(self) -> bool:
        """Whether there is a timer at all."""
        state = self._state
        return bool(
            state.gangs
            or state.drains
            or state.overcommits
            or self._lifetimes.at_ms
            or self._begins.at_ms
            or self._pauses.at_ms
            or state.failing
            or self._unused.granted
        )

    def due(self, now_ms: int) -> Iterator[Input]:
        """What is due now, one after the other: what is decided of one may change what follows."""
        for application in self._lifetimes.take(now_ms):
            yield LifetimeOver(application)
        for application in self._begins.take(now_ms):
            yield BeginDue(application)
        yield from self._pauses.take(now_ms)
        yield from self._unused.take(now_ms)
        yield from self._drains.take(now_ms)
        yield from self._drains.beats()
        yield from self._overcommits.take(now_ms)
        yield from self.gangs.take(now_ms)

    def next_ms(self) -> int | None:
        """When the first timer is due; None if there is none."""
        times = (
            self._lifetimes.next_ms(),
            self._unused.next_ms(),
            self._drains.next_ms(),
            self._overcommits.next_ms(),
            self.gangs.next_ms(),
            self._begins.next_ms(),
            self._pauses.next_ms(),
        )
        return min((time for time in times if time is not None), default=None)
