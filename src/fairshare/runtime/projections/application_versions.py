"""The number of the last record about each application, by which caches of documents see what is
outdated. Derived from records alone; empty at a start.

Fields of an application that change without a record about it (fair share, headroom) are not
covered: `schedulers.views.VolatileFields` has them.
"""

from collections.abc import Callable, Sequence
from itertools import takewhile
from operator import attrgetter
from typing import Any, Final

from fairshare.core.model.events import (
    ApplicationsForgotten,
    BookkeepingEvent,
    ContainerReserved,
    Event,
    QueueCreated,
    RequestRefused,
    ReservationDropped,
    ReservationMoved,
    RoomFreed,
    SharesUpdated,
)
from fairshare.core.model.identifiers import ApplicationId, application_of
from fairshare.core.record import Record
from fairshare.core.schedulers.protocol import Scheduler
from fairshare.runtime.observers import Observers
from fairshare.runtime.projections.projection import Projection

_OF_NO_NAME: Final = (BookkeepingEvent, QueueCreated, SharesUpdated)
"""Frequent events that name no application and change none."""

_OF_NO_APPLICATION: Final = frozenset({RequestRefused, RoomFreed})
"""Events that change no application though they may name one, possibly a forgotten one."""

Whose = tuple[Callable[[Any], ApplicationId] | None, bool]
"""How an event of some kind names its application, if it does; whether it may concern others."""

_WHOSE: Final[dict[type[Event], Whose]] = {}


def _whose(kind: type[Event]) -> Whose:
    """That of a kind that comes for the first time."""
    fields = kind.__struct_fields__
    whose: Whose
    if kind in _OF_NO_APPLICATION:
        whose = None, False
    elif "application" in fields:
        whose = attrgetter("application"), kind is ContainerReserved
    elif "container" in fields:
        whose = (lambda event: application_of(event.container)), False
    else:
        whose = None, not issubclass(kind, _OF_NO_NAME)
    _WHOSE[kind] = whose
    return whose


class UnrecordedChanges:
    """The applications that changed without a record: by reports that are not in the journal.
    `version` counts the changes."""

    def __init__(self) -> None:
        self.version = 0
        self._last: dict[ApplicationId, int] = {}  # in the order of the last changes

    def note(self, application: ApplicationId) -> None:
        """An application has changed."""
        self.version += 1
        self._last.pop(application, None)
        self._last[application] = self.version

    def since(self, version: int) -> list[ApplicationId]:
        """Those that have changed since `version` was that, the latest first."""
        return list(takewhile(lambda number: self._last[number] > version, reversed(self._last)))

    def subscribe(self, observers: Observers) -> None:
        """Follow the records: applications are forgotten."""
        observers.events(self._forgotten, ApplicationsForgotten)

    def _forgotten(self, record: Record, event: ApplicationsForgotten) -> None:
        for application in event.applications:
            self._last.pop(application, None)


class ApplicationVersions(Projection):
    """The number of the last record that may have changed each application.

    An event that names neither an application nor a container, and is not known to be harmless,
    counts for all: a new kind of event can make this slow, but never wrong.
    """

    def __init__(self) -> None:
        self._last: dict[ApplicationId, int] = {}  # in the order of the last changes
        self._of_all = 0
        self._reserved: dict[str, ApplicationId] = {}  # by node, as far as the records say

    def since(self, sequence: int) -> list[ApplicationId] | None:
        """The applications that records after this one may have changed, latest first; None:
        all."""
        if self._of_all > sequence:
            return None
        behind = takewhile(lambda number: self._last[number] > sequence, reversed(self._last))
        return list(behind)

    def _note(self, application: ApplicationId, sequence: int) -> None:
        self._last.pop(application, None)
        self._last[application] = sequence

    def subscribe(self, observers: Observers, scheduler: Scheduler) -> None:
        observers.commits(self._committed)

    def _committed(self, records: Sequence[Record]) -> None:
        last = self._last
        latest: ApplicationId | None = None  # of the table, as far as this is known
        for record in records:
            sequence = record.sequence
            asked = getattr(record.input, "application", None)
            # A refused request changes nothing, and may name an application that never existed.
            if asked is not None and RequestRefused not in map(type, record.events):
                latest = asked
                self._note(asked, sequence)
            for event in record.events:
                kind = type(event)
                number_of, concerns_others = _WHOSE.get(kind) or _whose(kind)
                number = None if number_of is None else number_of(event)
                if number is not None:
                    if number != latest:
                        latest = number
                        last.pop(number, None)
                    last[number] = sequence
                if concerns_others:
                    latest = None
                    self._concern_others(event, sequence)

    def _concern_others(self, event: Event, sequence: int) -> None:
        match event:
            case ContainerReserved():
                self._reserved[event.node] = event.application
            case ReservationDropped():
                self._named(self._reserved.pop(event.node, None), sequence)
            case ReservationMoved():
                number = self._reserved.pop(event.node, None)
                self._named(number, sequence)
                if number is not None:
                    self._reserved[event.target] = number
            case ApplicationsForgotten():
                for number in event.applications:
                    self._last.pop(number, None)
            case _:
                self._of_all = sequence

    def _named(self, application: ApplicationId | None, sequence: int) -> None:
        if application is None:
            self._of_all = sequence
        else:
            self._note(application, sequence)
