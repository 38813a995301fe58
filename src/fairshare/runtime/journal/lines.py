"""Owns the journal as a text file with one JSON record per line: for people, diff and jq.

A line is an array: sequence, now_ms, input, events, pace. The same history yields the same bytes.
Not suitable for a server: lines are not synchronised to disk.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from fairshare.core.record import Record
from fairshare.errors import JournalError

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
        """Add a line."""
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
    decoder = msgspec.json.Decoder(Record)
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    yield decoder.decode(line)
                except msgspec.DecodeError as error:
                    raise JournalError(f"{path}:{number}: not a record: {error}") from error
    except OSError as error:
        raise JournalError(f"cannot read {path}: {error.strerror}") from error
