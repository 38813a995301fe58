"""Owns journals without durability: one keeps its records in memory, one discards them."""

from collections.abc import Iterator, Sequence

from fairshare.core.record import Record


class MemoryJournal:
    """Keeps records in memory, for tests and short simulations.

    `committed` has the number of records after each commit: the points at which a server could have
    crashed.
    """

    def __init__(self, records: Sequence[Record] = ()) -> None:
        self._records = list(records)
        self._buffer: list[Record] = []
        self.committed: list[int] = []

    def append(self, record: Record) -> None:
        """Buffer a record until the commit."""
        self._buffer.append(record)

    def commit(self) -> None:
        """Keep the appended records."""
        if self._buffer:
            self._records += self._buffer
            self._buffer.clear()
            self.committed.append(len(self._records))

    def records(self, after: int = 0) -> Iterator[Record]:
        """The committed records after number `after`."""
        return iter([record for record in self._records if record.sequence > after])

    def close(self) -> None:
        """Discard records that were not committed."""
        self._buffer.clear()


class ForgetfulJournal:
    """Discards all records: for simulations that only need a report."""

    def append(self, record: Record) -> None:
        """Discard a record."""

    def commit(self) -> None:
        """Does nothing."""

    def records(self, after: int = 0) -> Iterator[Record]:
        """Always empty."""
        return iter(())

    def close(self) -> None:
        """Does nothing."""
