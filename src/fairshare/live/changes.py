"""Owns when the records last spoke of each application: whoever keeps what he has written of one
sees from it whether to write anew. Kept from records alone; a start begins with an empty book.

What may change of an application though no record speaks of it (its fair share, what it could still
get) is not covered: `schedulers.views.Standing` has it.
"""

from itertools import takewhile
from typing import Final

from fairshare.model.events import (
    ApplicationsForgotten,
    ApplicationsOrdered,
    ContainerReserved,
    Event,
    LimitsComputed,
    QueueCreated,
    QueueExpiring,
    QueueLimited,
    Record,
    RequestRefused,
    ReservationDropped,
    ReservationMoved,
    RoomFreed,
    SharesUpdated,
    UserLimitsComputed,
    UserNoted,
)
from fairshare.model.identifiers import ApplicationId, application_of

_OF_NOBODY: Final = frozenset(
    {
        ApplicationsOrdered,
        LimitsComputed,
        QueueCreated,
        QueueExpiring,
        QueueLimited,
        SharesUpdated,
        UserLimitsComputed,
        UserNoted,
    }
)
"""What comes often, names no application, and leaves all of them as they were."""

_OF_NO_APPLICATION: Final = frozenset({RequestRefused, RoomFreed})
"""What leaves all as they were though it may name one, perhaps one that is forgotten by now."""


class Changes:
    """By application the number of the last record that may have changed it.

    An event that names neither an application nor a container, and is not known to be harmless,
    counts for all: a new kind of event can make this slow, and never wrong.
    """

    def __init__(self) -> None:
        self._last: dict[ApplicationId, int] = {}  # who changed last stands last
        self._of_all = 0
        self._reserved: dict[str, ApplicationId] = {}  # by node, as far as the records have told

    def since(self, sequence: int) -> list[ApplicationId] | None:
        """Whom records behind this one may have changed, whoever changed last first; None: all."""
        if self._of_all > sequence:
            return None
        behind = takewhile(lambda number: self._last[number] > sequence, reversed(self._last))
        return list(behind)

    def _note(self, application: ApplicationId, sequence: int) -> None:
        self._last.pop(application, None)
        self._last[application] = sequence

    def observe(self, record: Record) -> None:
        """Take notice of one record, in the order of the journal, when it has been applied."""
        sequence = record.sequence
        asked = getattr(record.input, "application", None)
        # A refused request changes nothing, and may name an application that never was.
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
                if type(event) not in _OF_NOBODY:
                    self._of_all = sequence

    def _named(self, application: ApplicationId | None, sequence: int) -> None:
        if application is None:
            self._of_all = sequence
        else:
            self._note(application, sequence)
