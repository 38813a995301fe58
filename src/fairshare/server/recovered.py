"""The way from a journal to what a server begins with: state and what is derived from records."""

import logging
from collections.abc import Iterator
from itertools import takewhile
from typing import Any

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.record import Record
from fairshare.errors import JournalError
from fairshare.runtime.journal.protocol import ObservedJournal
from fairshare.runtime.journal.sqlite import SqliteJournal
from fairshare.runtime.observers import Observers
from fairshare.runtime.projections.projections import MANAGER, Projections, checked_parts
from fairshare.runtime.recovery import Position, recover
from fairshare.runtime.snapshot import add_family, thaw
from fairshare.settings.registry import family_of

_log = logging.getLogger("fairshare.retention")


def restore(journal: SqliteJournal) -> tuple[Position, dict[str, Any]]:
    """The newest readable snapshot, and the position after it; None if there is none.

    An unreadable one is skipped for an older one with more records after it. The records are
    checked when they are read: JournalError, if they begin after that position.
    """
    for sequence in reversed(journal.snapshots()):
        try:
            snapshot = journal.snapshot(sequence)
            parts = checked_parts(thaw(snapshot))
            return Position(snapshot.sequence, snapshot.now_ms), parts
        except JournalError as error:
            _log.warning("%s; going back to an older one", error)
    return Position(), {}


class Recovered:
    """State and projections behind a record (`position`), which begin with the parts of a snapshot.
    A standby lets them follow a journal; a server goes on from there. Raises JournalError."""

    def __init__(
        self, scheduler: str, types: ResourceTypes, position: Position, parts: dict[str, Any]
    ) -> None:
        self.position = position
        family = family_of(scheduler)
        add_family(family)  # its imports would stop everything at the first snapshot
        self.manager: ResourceManager = parts.get(MANAGER) or ResourceManager(family.create(types))
        self.projections = Projections(self.manager.state.types, parts)
        self._observers = Observers()
        self.projections.subscribe(self._observers, self.manager.scheduler)

    def observed(self, journal: SqliteJournal) -> ObservedJournal:
        """The journal, whose records the projections follow when they are read."""
        return ObservedJournal(journal, lambda record: self._observers.observe((record,)))

    def follow(self, journal: SqliteJournal, last: int | None = None) -> None:
        """Apply what the journal has behind the position, up to a record or all."""
        records: Iterator[Record] = self.observed(journal).records(self.position.sequence)
        if last is not None:
            records = takewhile(lambda record: record.sequence <= last, records)
        self.position = recover(records, self.manager.state, self.position)
