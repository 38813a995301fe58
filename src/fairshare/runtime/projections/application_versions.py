"""The number of the last record about each application, by which caches of documents see what is
outdated. Derived from records alone; empty at a start.

Fields of an application that change without a record about it (fair share, headroom) are not
covered: `schedulers.views.VolatileFields` has them.
"""

from array import array
from collections.abc import Callable, Mapping, Sequence
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
from fairshare.core.model.identifiers import APPLICATION_SHIFT, ApplicationId
from fairshare.core.record import Record
from fairshare.core.schedulers.protocol import Scheduler
from fairshare.runtime.observers import Observers
from fairshare.runtime.projections.projection import Projection

_OF_NO_NAME: Final = (BookkeepingEvent, QueueCreated, SharesUpdated)
"""Frequent events that name no application and change none."""

_OF_NO_APPLICATION: Final = frozenset({RequestRefused, RoomFreed})
"""Events that change no application though they may name one, possibly a forgotten one."""

SPARE: Final = 1_000
"""So many changes more than twice the applications are kept."""

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
        whose = (lambda event: event.container >> APPLICATION_SHIFT), False
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
        self._of_all = 0
        self._reserved: dict[str, ApplicationId] = {}  # by node, as far as the records say
        self._begin({})

    def _begin(self, last: Mapping[ApplicationId, int]) -> None:
        # Each change, the oldest first: of which application, by which record. A table, from which
        # an application is taken at each change and added again, takes five times as much.
        self._numbers = array("q", last)
        self._sequences = array("q", last.values())
        self._gone: set[ApplicationId] = set()
        self._most = 2 * len(last) + SPARE  # then earlier changes of the same are left out

    @property
    def _last(self) -> dict[ApplicationId, int]:
        """The last record of each, in the order of the last changes: so snapshots have it."""
        last: dict[ApplicationId, int] = {}  # the latest first; a third of what sorting takes
        for number, sequence in zip(
            reversed(self._numbers), reversed(self._sequences), strict=True
        ):
            last.setdefault(number, sequence)
        for number in self._gone:
            last.pop(number, None)
        return dict(reversed(last.items()))

    @_last.setter
    def _last(self, last: dict[ApplicationId, int]) -> None:
        self._read = last  # of a snapshot, which fills it before it calls `derive`

    def derive(self) -> None:
        """Follow what a snapshot had."""
        self._begin(self._read)
        del self._read

    def since(self, sequence: int) -> list[ApplicationId] | None:
        """The applications that records after this one may have changed, latest first; None:
        all."""
        if self._of_all > sequence:
            return None
        changes = zip(reversed(self._numbers), reversed(self._sequences), strict=True)
        later = dict(takewhile(lambda change: change[1] > sequence, changes))
        return [number for number in later if number not in self._gone]

    def _note(self, application: ApplicationId, sequence: int) -> None:
        self._numbers.append(application)
        self._sequences.append(sequence)

    def subscribe(self, observers: Observers, scheduler: Scheduler) -> None:
        observers.commits(self._committed)

    def _committed(self, records: Sequence[Record]) -> None:
        sequences = self._sequences
        add_number, add_sequence = self._numbers.append, sequences.append
        latest: ApplicationId | None = None  # of the last change, as far as this is known
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
                    if number == latest:
                        sequences[-1] = sequence
                    else:
                        latest = number
                        add_number(number)
                        add_sequence(sequence)
                if concerns_others:
                    latest = None
                    self._concern_others(event, sequence)
        if len(sequences) + len(self._gone) > self._most:
            self._begin(self._last)

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
                self._gone.update(event.applications)
            case _:
                self._of_all = sequence

    def _named(self, application: ApplicationId | None, sequence: int) -> None:
        if application is None:
            self._of_all = sequence
        else:
            self._note(application, sequence)
