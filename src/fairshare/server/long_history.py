"""What outlives the journal for `fairshare plan`, STATE/history.sqlite3: compact records, and some
of the states between them.

    blocks    a stretch of records that the journal has trimmed, packed; the next one follows
    states    snapshots from the journal: a history can begin with one of them

The file goes as far back as the retention says, in days and in bytes. The journal does not depend
on it: a file that does not lead up to the journal's first record begins again.
"""

import contextlib
import logging
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Self

import msgspec

from fairshare.core.record import Record
from fairshare.errors import JournalError
from fairshare.runtime.journal.protocol import Snapshot
from fairshare.runtime.journal.sqlite import SqliteJournal, bytes_in_use, checksum
from fairshare.runtime.projections.compact_records import pack, thin, unpack
from fairshare.server.side_file import (
    SideFileError,
    open_side_file,
    open_side_file_for_reading,
    transaction,
)
from fairshare.server.state_directory import remove_file

FILE: Final = "history.sqlite3"
FORMAT: Final = 1
STATES: Final = 14
"""About how many states are kept, evenly over the days: what is too old goes from one to the
next."""

_DAY_MS: Final = 86_400_000
_TABLES: Final = """
CREATE TABLE blocks (
    first INTEGER PRIMARY KEY, last INTEGER NOT NULL,
    first_ms INTEGER NOT NULL, last_ms INTEGER NOT NULL,
    tail INTEGER NOT NULL, body BLOB NOT NULL, checksum INTEGER NOT NULL
);
CREATE TABLE states (
    sequence INTEGER PRIMARY KEY, now_ms INTEGER NOT NULL,
    form INTEGER NOT NULL, body BLOB NOT NULL, checksum INTEGER NOT NULL
);
"""
_log = logging.getLogger("fairshare.retention")


class Bounds(msgspec.Struct, frozen=True):
    """How far back the file goes at most."""

    days: int
    size: int


class LongHistory:
    """The file of one state directory, which a server writes and `fairshare plan` reads.

    Raises JournalError where the file cannot be read or written.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    @classmethod
    def open_for_writing(cls, directory: Path) -> Self:
        """Open the file, or make it; one that is damaged is moved aside."""
        path = directory / FILE
        try:
            connection, aside = open_side_file(path, FORMAT, _TABLES)
        except SideFileError as error:
            raise JournalError(str(error)) from error
        # The journal deletes what is written here: it must survive a power cut.
        connection.execute("PRAGMA synchronous = FULL")
        if aside is not None:
            _log.error("%s was damaged: it is now %s, and begins again", path, aside.name)
        return cls(path, connection)

    @classmethod
    def open_for_reading(cls, directory: Path) -> Self | None:
        """Open the file; None if there is none."""
        path = directory / FILE
        if not path.exists():
            return None
        try:
            connection = open_side_file_for_reading(path)
            (version,) = connection.execute("PRAGMA user_version").fetchone()
        except sqlite3.Error as error:
            raise JournalError(f"cannot open {path}: {error}") from error
        if version != FORMAT:
            connection.close()
            raise JournalError(f"{path} has format {version}, and this release reads {FORMAT}")
        return cls(path, connection)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    # Writing.

    def take(self, journal: SqliteJournal, end: int, bounds: Bounds) -> None:
        """Add the journal's records up to number `end`, which it is about to delete."""
        with self._errors("write"):
            first = journal.first_record()
            begin = self._next(journal, first)
            if begin is None:
                self._clear()
                begin = first
            if begin <= end:
                self._add(journal, begin, end, bounds)
            self._shorten(bounds)

    def _next(self, journal: SqliteJournal, first: int) -> int | None:
        """The first record that the file lacks; None if it does not lead up to the journal."""
        last = self.last
        if last is None or last + 1 < first:
            return None
        if last >= first and journal.row_checksum(last) != self._value(
            "SELECT tail FROM blocks WHERE last = ?", last
        ):
            return None  # another journal is in its place
        return last + 1

    def _add(self, journal: SqliteJournal, begin: int, end: int, bounds: Bounds) -> None:
        states = [one for one in journal.snapshots() if begin - 1 <= one <= end]
        needed = None
        if self.last is None and begin > 1:
            # Records without a state before them are of no use.
            if not states or states[0] == end:
                return
            needed = states[0]
            begin = needed + 1
        block: list[Record] = []
        for record in journal.records(begin - 1):
            if record.sequence > end:
                break
            block.append(record)
        # The next state counts from the last one, or from the first record.
        since_ms = self._value("SELECT max(now_ms) FROM states")
        if since_ms is None:
            since_ms = self._value("SELECT min(first_ms) FROM blocks")
        due_ms = (since_ms or 0) + bounds.days * _DAY_MS // STATES
        with transaction(self._connection):
            for sequence in states:
                snapshot = journal.snapshot(sequence)
                if snapshot.now_ms >= due_ms or sequence == needed:
                    state = (snapshot.sequence, snapshot.now_ms, snapshot.form, snapshot.body)
                    self._connection.execute(
                        "INSERT OR REPLACE INTO states VALUES (?, ?, ?, ?, ?)",
                        (*state, checksum(*state)),
                    )
                    due_ms = snapshot.now_ms + bounds.days * _DAY_MS // STATES
            if block:
                tail = journal.row_checksum(end)
                body = pack(one for one in map(thin, block) if one is not None)
                row = (begin, end, block[0].now_ms, block[-1].now_ms, tail, body)
                self._connection.execute(
                    "INSERT INTO blocks VALUES (?, ?, ?, ?, ?, ?, ?)", (*row, checksum(*row))
                )

    def _shorten(self, bounds: Bounds) -> None:
        """Delete what is older than the days, and, while the file is too large, the oldest part:
        always up to a state, with which the rest begins."""
        newest_ms = self._value("SELECT max(last_ms) FROM blocks") or 0
        oldest_ms = newest_ms - bounds.days * _DAY_MS
        cut = self._value("SELECT max(sequence) FROM states WHERE now_ms <= ?", oldest_ms)
        if cut is not None:
            self._delete_before(cut)
        while bytes_in_use(self._connection) > bounds.size and self.last is not None:
            oldest = self._value("SELECT min(last) FROM blocks")
            cut = self._value("SELECT min(sequence) FROM states WHERE sequence >= ?", oldest)
            if cut is None:
                self._clear()
            else:
                self._delete_before(cut)

    def _delete_before(self, state: int) -> None:
        """Delete the states before one, and the blocks that end before it."""
        with transaction(self._connection):
            self._connection.execute("DELETE FROM states WHERE sequence < ?", (state,))
            self._connection.execute("DELETE FROM blocks WHERE last <= ?", (state,))

    def _clear(self) -> None:
        with transaction(self._connection):
            self._connection.execute("DELETE FROM states")
            self._connection.execute("DELETE FROM blocks")

    # Reading.

    @property
    def first(self) -> int | None:
        """The number of the first record that the file covers; None: it is empty."""
        return self._value("SELECT min(first) FROM blocks")

    @property
    def last(self) -> int | None:
        """The number of the last one."""
        return self._value("SELECT max(last) FROM blocks")

    def leads_up_to(self, journal: SqliteJournal) -> bool:
        """Whether the journal goes on where the file ends."""
        with self._errors("read"):
            first = journal.first_record()
            return first > 1 and self._next(journal, first) is not None

    def states(self) -> list[int]:
        """The numbers of the records after which there is a state, ascending."""
        with self._errors("read"):
            rows = self._connection.execute("SELECT sequence FROM states ORDER BY 1")
            return [number for (number,) in rows]

    def state(self, sequence: int) -> Snapshot:
        """The state after a record."""
        with self._errors("read"):
            row = self._connection.execute(
                "SELECT * FROM states WHERE sequence = ?", (sequence,)
            ).fetchone()
        if row is None or row[-1] != checksum(*row[:-1]):
            raise JournalError(f"{self.path}: the state behind record {sequence} is damaged")
        return Snapshot(*row[:4])

    def records(self, after: int) -> Iterator[Record]:
        """The compact records after a number, as far as the file goes."""
        with self._errors("read"):
            rows = self._connection.execute(
                "SELECT * FROM blocks WHERE last > ? ORDER BY 1", (after,)
            )
            for row in rows:
                if row[-1] != checksum(*row[:-1]):
                    raise JournalError(f"{self.path}: the block of record {row[0]} is damaged")
                yield from (one for one in unpack(row[5]) if one.sequence > after)

    def _value(self, statement: str, *arguments: int | None) -> int | None:
        row = self._connection.execute(statement, arguments).fetchone()
        return None if row is None or row[0] is None else int(row[0])

    @contextlib.contextmanager
    def _errors(self, doing: str) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, ValueError) as error:
            raise JournalError(f"cannot {doing} {self.path}: {error}") from error


def remove_long_history(directory: Path) -> None:
    """Remove the file of a server that shall not have one."""
    for suffix in ("", "-wal", "-shm"):
        remove_file(directory / f"{FILE}{suffix}")
