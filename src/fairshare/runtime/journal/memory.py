"""Journals that no server uses: one keeps its records in memory, one discards them, one is a text
file with one JSON record per line, for people, diff and jq.

A line is an array: sequence, now_ms, input, events, pace. The same history yields the same bytes.
Lines are not synchronised to disk.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from fairshare.core.record import Record
from fairshare.documents.ready import ready
from fairshare.errors import JournalError


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


_FLUSH_BYTES = 1 << 20


class LinesJournal:
    """Writes a new file, or replaces an existing one. Raises JournalError."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._encoder = msgspec.json.Encoder()
        self._buffer = bytearray()
        try:
            self._file = path.open("wb")
        except OSError as error:
            raise JournalError(f"cannot write {path}: {error.strerror}") from error

    def append(self, record: Record) -> None:
        self._buffer += self._encoder.encode(record)
        self._buffer += b"\n"

    def commit(self) -> None:
        """Write the lines to the file if many have accumulated: a simulation has millions of
        commits."""
        if len(self._buffer) > _FLUSH_BYTES:
            self._flush()

    def records(self, after: int = 0) -> Iterator[Record]:
        """The appended records after number `after`."""
        self._flush()
        return (record for record in read_lines(self.path) if record.sequence > after)

    def close(self) -> None:
        """Write the remaining lines; raises JournalError if the file cannot be written."""
        if not self._file.closed:
            try:
                self._flush()
            finally:
                self._file.close()

    def _flush(self) -> None:
        try:
            self._file.write(self._buffer)
            self._file.flush()
        except OSError as error:
            raise JournalError(f"cannot write {self.path}: {error.strerror}") from error
        self._buffer.clear()


def read_lines(path: Path) -> Iterator[Record]:
    """The records of a file. Raises JournalError with file and line."""
    decoder = msgspec.json.Decoder(ready(Record))
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    yield decoder.decode(line)
                except msgspec.DecodeError as error:
                    raise JournalError(f"{path}:{number}: not a record: {error}") from error
    except OSError as error:
        raise JournalError(f"cannot read {path}: {error.strerror}") from error
