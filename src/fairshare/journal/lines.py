"""Owns the journal as a text file, one record a line in JSON: for people, for diff and for jq.

A line is the record as an array: sequence, now_ms, input, events. The same history gives the same
bytes. It is no journal for a server: a line is not synchronised to the disk.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from fairshare.errors import JournalError
from fairshare.journal.record import Record

_FLUSH_BYTES = 1 << 20


class LinesJournal:
    """Writes a new file; an existing one is replaced. Raises JournalError."""

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
        """Hand the lines to the file, now and then: a simulation has millions of commits."""
        if len(self._buffer) > _FLUSH_BYTES:
            self._flush()

    def records(self, after: int = 0) -> Iterator[Record]:
        """The records that were appended, behind number `after`."""
        self._flush()
        return (record for record in read_lines(self.path) if record.sequence > after)

    def close(self) -> None:
        """Write what is left; raises JournalError if the file could not be written."""
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
    """The records of such a file. Raises JournalError with file and line."""
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
