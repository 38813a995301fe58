"""The interface of a journal: appending, reading, and when records are durable."""

from collections.abc import Callable, Iterator
from typing import Protocol

import msgspec

from fairshare.core.record import Record


class Snapshot(msgspec.Struct, frozen=True):
    """The whole state after record `sequence`, at `now_ms`, as bytes that are opaque to a journal.

    `form` is the version of the form of these bytes.
    """

    sequence: int
    now_ms: int
    form: int
    body: bytes


class Journal(Protocol):
    """Stores records in order.

    `append` may buffer; after `commit` has returned, all records appended before are as durable as
    the journal guarantees. The caller numbers records 1, 2, 3, ...
    """

    def append(self, record: Record) -> None:
        """Append a record."""

    def commit(self) -> None:
        """Make all appended records durable, atomically. Raises JournalError; then the records
        appended since the last commit are lost, and the caller must stop."""

    def records(self, after: int = 0) -> Iterator[Record]:
        """The committed records after number `after`, the oldest first.

        Raises JournalError for a damaged record, or if the next one is no longer stored.
        """

    def close(self) -> None:
        """Release files and locks; records that were not committed are lost. Idempotent."""


class ObservedJournal:
    """A journal whose readers share their records with an observer."""

    def __init__(self, journal: Journal, observer: Callable[[Record], None]) -> None:
        self._journal = journal
        self._observer = observer

    def append(self, record: Record) -> None:
        self._journal.append(record)

    def commit(self) -> None:
        self._journal.commit()

    def records(self, after: int = 0) -> Iterator[Record]:
        """As the journal does; each record has been observed when the next one is requested."""
        for record in self._journal.records(after):
            yield record
            self._observer(record)

    def close(self) -> None:
        self._journal.close()
