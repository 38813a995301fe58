"""Owns `ObservedJournal`: a journal that passes its records to an observer as they are read."""

from collections.abc import Callable, Iterator

from fairshare.core.record import Record
from fairshare.runtime.journal.protocol import Journal


class ObservedJournal:
    """A journal whose readers share their records with an observer."""

    def __init__(self, journal: Journal, observer: Callable[[Record], None]) -> None:
        self._journal = journal
        self._observer = observer

    def append(self, record: Record) -> None:
        """As the journal does."""
        self._journal.append(record)

    def commit(self) -> None:
        """As the journal does."""
        self._journal.commit()

    def records(self, after: int = 0) -> Iterator[Record]:
        """As the journal does; each record has been observed when the next one is requested."""
        for record in self._journal.records(after):
            yield record
            self._observer(record)

    def close(self) -> None:
        """As the journal does."""
        self._journal.close()
