"""Owns the journals that survive nothing: one that keeps its records, one that forgets them."""

from collections.abc import Iterator, Sequence

from fairshare.journal.record import Record


class MemoryJournal:
    """Keeps records in memory, for tests and short simulations.

    `committed` holds how many records there were after each commit: the points at which a server
    could have crashed.
    """

    def __init__(self, records: Sequence[Record] = ()) -> None:
        self._records = list(records)
        self._buffer: list[Record] = []
        self.committed: list[int] = []

    def append(self, record: Record) -> None:
        """Remember a record until the commit."""
        self._buffer.append(record)

    def commit(self) -> None:
        """Take over what was appended."""
        if self._buffer:
            self._records += self._buffer
            self._buffer.clear()
            self.committed.append(len(self._records))

    def records(self, after: int = 0) -> Iterator[Record]:
        """The committed records behind number `after`."""
        return iter([record for record in self._records if record.sequence > after])

    def close(self) -> None:
        """Nothing is held."""
        self._buffer.clear()


class ForgetfulJournal:
    """Keeps nothing: for a simulation of which only the report is wanted."""

    def append(self, record: Record) -> None:
        """Forget a record."""

    def commit(self) -> None:
        """Nothing is there to be made safe."""

    def records(self, after: int = 0) -> Iterator[Record]:
        """None."""
        return iter(())

    def close(self) -> None:
        """Nothing is held."""
