"""The number of the last record about each application, by which caches of documents see what is
outdated. Derived from records alone; empty at a start.

Fields of an application that change without a record about it (fair share, headroom) are not
covered: `schedulers.views.VolatileFields` has them.
"""

from itertools import takewhile
from typing import Final

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
from fairshare.runtime.projections.projection import Projection

_OF_NO_NAME: Final = (BookkeepingEvent, QueueCreated, SharesUpdated)
"""Frequent events that name no application and change none."""

_OF_NO_APPLICATION: Final = frozenset({RequestRefused, RoomFreed})
"""Events that change no application though they may name one, possibly a forgotten one."""


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

    def observe(self, record: Record, scheduler: Scheduler) -> None:
        """Process one record after the core applied it; records come in the order of the
        journal."""
        sequence = record.sequence
        asked = getattr(record.input, "application", None)
        # A refused request changes nothing, and may name an application that never existed.
        if asked is not None and RequestRefused not in map(type, record.events):
            self._note(asked, sequence)
        for event in record.events:
            if type(event) in _OF_NO_APPLICATION:
                continue
            number = getattr(event, "application", None)
            if number is None:
                container = getattr(event, "container", None)
                number = None if container is None else application_of(container)
            if number is not None:
                self._note(number, sequence)
            if number is None or type(event) is ContainerReserved:
                self._without_name(event, sequence)

    def _without_name(self, event: Event, sequence: int) -> None:
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
                if not isinstance(event, _OF_NO_NAME):
                    self._of_all = sequence

    def _named(self, application: ApplicationId | None, sequence: int) -> None:
        if application is None:
            self._of_all = sequence
        else:
            self._note(application, sequence)
