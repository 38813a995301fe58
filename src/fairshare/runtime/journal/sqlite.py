"""A server's durable journal in an SQLite file.

One table has a row for each record (sequence, now_ms, and the record as MessagePack), another one
the snapshots; each row has a checksum, which is verified when it is read, since SQLite detects
inconsistent pages, but not changed bytes within a value. The file is in WAL mode with
synchronous=FULL: after `commit` a record survives a crash of the process and of the machine.
`user_version` is the format (`docs/reliability.md`).

Records are deleted because of their number or total size: only whole ranges up to a snapshot, so
that the rest can be replayed from it. The last two snapshots stay, with the records after them, in
case the last one is unreadable.
"""

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import msgspec

from fairshare.core.record import Record
from fairshare.documents.ready import ready
from fairshare.errors import JournalError
from fairshare.runtime.journal.files import Place, Reserve, StateLock
from fairshare.runtime.journal.protocol import Snapshot
from fairshare.runtime.shared import Row, UnavailableError, shared_of
from fairshare.this_machine import full_disk


def checksum(*values: int | str | bytes) -> int:
    """The CRC-32 of a row's values, which depends on their order and their boundaries.

    >>> checksum(1, 0, b"ab") == checksum(1, 0, b"ac"), checksum(12, 3) == checksum(1, 23)
    (False, False)
    """
    result = 0
    for value in values:
        content = value if isinstance(value, bytes) else str(value).encode()
        result = crc32(content, crc32(b"%d:" % len(content), result))
    return result


def _checksum_of_record(sequence: int, now_ms: int, body: bytes) -> int:
    """`checksum` in fewer steps: there are thousands of records in a second."""
    number, now = str(sequence), str(now_ms)
    head = f"{len(number)}:{number}{len(now)}:{now}{len(body)}:"
    return crc32(body, crc32(head.encode()))


AT_ONCE = 20_000
BYTES_AT_ONCE = 64 * 1024**2
"""The maximum of bytes deleted in one step, since writers wait for it."""

_SIZE = (
    "SELECT (page_count - freelist_count) * page_size"
    " FROM pragma_page_count(), pragma_freelist_count(), pragma_page_size()"
)
_END = (
    "SELECT max(sequence) FROM (SELECT sequence, sum(length(body)) OVER (ORDER BY sequence) AS size"
    " FROM records WHERE sequence <= ?) WHERE size <= ?"
)


def bytes_in_use(connection: sqlite3.Connection) -> int:
    """The bytes in use in a file, without free pages, which are reused before the file grows."""
    return int(connection.execute(_SIZE).fetchone()[0])


def spare_records(
    connection: sqlite3.Connection, snapshots: list[int], records: int, size: int
) -> tuple[int, int] | None:
    """The first and the last record to delete in the next step.

    None if there are at most `records` records and `size` bytes, or if no snapshot except the last
    one covers the oldest records. Raises sqlite3.Error.
    """
    row = connection.execute("SELECT min(sequence), max(sequence) FROM records").fetchone()
    first, last = row
    reached = [one for one in snapshots[:-1] if first is not None and one >= first]
    spare = [one for one in reached if one <= last - records]
    if not spare and reached and bytes_in_use(connection) > size:
        spare = reached[:1]
    if not spare:
        return None
    most = min(spare[-1], first + AT_ONCE - 1)
    end = connection.execute(_END, (most, BYTES_AT_ONCE)).fetchone()[0]
    return first, first if end is None else end


JOURNAL_FILE = "journal.sqlite3"
FORMAT = 1
_APPLICATION = 0x46414952  # "FAIR": identifies the application in the file's header

_TABLE = """
CREATE TABLE records (
    sequence INTEGER PRIMARY KEY,
    now_ms INTEGER NOT NULL,
    body BLOB NOT NULL,
    checksum INTEGER NOT NULL
)
"""

_SNAPSHOTS = """
CREATE TABLE snapshots (
    sequence INTEGER PRIMARY KEY,
    now_ms INTEGER NOT NULL,
    form INTEGER NOT NULL,
    body BLOB NOT NULL,
    checksum INTEGER NOT NULL
)
"""

_ADVICE = {
    sqlite3.SQLITE_FULL: "the disk is full: make room, then start again; nothing recorded is lost",
    sqlite3.SQLITE_NOTADB: "this is not a journal: move the file away, or name another directory",
    sqlite3.SQLITE_CORRUPT: "the file is damaged: restore it from a copy (`fairshare backup`"
    " makes them), or move it away to begin without a record: what runs is then ended, and its"
    " files are put into the folder `abandoned`",
    sqlite3.SQLITE_READONLY: "the file or its directory is read-only: correct the permissions",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened: does its directory exist, and may you "
    "write there?",
    sqlite3.SQLITE_BUSY: "another program holds the file: close it, then start again",
    sqlite3.SQLITE_IOERR: "the disk does not answer as it should: see the system's log; the disk "
    "may be full or failing",
}


class DiskFullError(UnavailableError):
    """The disk is full; nothing was written."""


CHECKED_WHOLE_BYTES = 256 * 1024**2
"""Journals up to this size are checked when they are opened for writing, which takes about a second
per hundred megabytes on a slow disk. A larger one is checked only after an unclean shutdown, which
leaves the write-ahead log behind."""


class SqliteJournal:
    """The journal of one state directory.

    A writer holds the directory's lock until `close`; a second writer is refused. With `read_only`
    the journal neither locks nor writes, so that it can read the journal of a running server.
    Raises JournalError with the path and what to do.
    """

    def __init__(self, directory: Path, *, address: str = "", read_only: bool = False) -> None:
        self.path = directory / JOURNAL_FILE
        self._encoder = msgspec.msgpack.Encoder()
        self._records: list[Record] = []  # that are not committed yet
        self.appended = 0  # bytes of all committed records
        shared = None if read_only else shared_of(directory)
        self._shared = None if shared is None else shared.state
        self._sent = False  # whether the database has them
        self._lock = None if read_only else StateLock(directory, address)
        self._connection: sqlite3.Connection | None = None
        self._place: Place | None = None
        self._reserve = Reserve(directory)
        try:
            if read_only and not self.path.exists():
                raise JournalError(f"{self.path} does not exist: name a server's state directory")
            suspicious = not read_only and self._to_be_checked()
            mode = "ro" if read_only else "rwc"
            # Only one thread at a time uses it, but not always the thread that opened it.
            self._connection = sqlite3.connect(
                f"{self.path.absolute().as_uri()}?mode={mode}",
                uri=True,
                isolation_level=None,
                check_same_thread=False,
            )
            self._prepare(self._connection, read_only)
            if suspicious:
                self._check_pages(self._connection)
            self._place = None if read_only else Place(self.path)
        except sqlite3.Error as error:
            self.close()
            raise self._trouble("open", error) from error
        except JournalError:
            self.close()
            raise

    def announce(self, address: str) -> None:
        """Write the server's address into the lock file."""
        if self._lock is not None:
            self._lock.announce(address)

    def append(self, record: Record) -> None:
        """Buffer a record until the commit."""
        self._records.append(record)

    def commit(self) -> None:
        """Write all appended records in one transaction, and wait for the disk.

        A shared directory's database has them first. Raises UnavailableError while it does not
        answer, or there is no room; then the records are kept for the next call. Raises
        JournalError also if the file was removed or moved, since its data would be lost.
        """
        if not self._records:
            return
        rows, size = self._rows_to_write()
        if self._shared is not None and not self._sent:
            self._shared.record(rows)
            self._sent = True
        while True:
            try:
                self._write("INSERT INTO records VALUES (?, ?, ?, ?)", rows)
                break
            except DiskFullError:
                if not self._reserve.give():
                    raise
        self._records, self._sent = [], False
        self.appended += size
        self.check_place()

    def copy(self, rows: Sequence[Row]) -> None:
        """Write rows of another journal, which follow the last one here."""
        self._write("INSERT INTO records VALUES (?, ?, ?, ?)", rows)

    def _rows_to_write(self) -> tuple[list[Row], int]:
        """The rows of the appended records, and how many bytes these have."""
        encode, rows, size = self._encoder.encode, list[Row](), 0
        for record in self._records:  # without a call for each: there are two for each container
            body, sequence, now_ms = encode(record), record.sequence, record.now_ms
            size += len(body)
            rows.append((sequence, now_ms, body, _checksum_of_record(sequence, now_ms, body)))
        return rows, size

    def check_place(self) -> None:
        """Raise JournalError if the file was removed, moved or replaced since it was opened: a
        writer must stop then. To be called periodically, even without new records."""
        if self._place is not None:
            self._place.check()

    def records(self, after: int = 0) -> Iterator[Record]:
        """The committed records after number `after`; verifies checksums and that none is
        missing."""
        decoder = msgspec.msgpack.Decoder(ready(Record))
        expected = after + 1
        try:
            for sequence, now_ms, body, stored in self._rows(after):
                if sequence != expected:
                    raise JournalError(
                        f"{self.path}: record {expected} is missing, {sequence} follows; "
                        "restore the file from a copy"
                    )
                expected += 1
                if stored != _checksum_of_record(sequence, now_ms, body):
                    self._check_row("record", sequence, now_ms, body, stored)
                try:
                    yield decoder.decode(body)
                except msgspec.DecodeError as error:
                    raise JournalError(
                        f"{self.path}: record {sequence} cannot be read: {error}; "
                        "it is damaged, or was written by another version of fairshare"
                    ) from error
        except sqlite3.Error as error:
            raise self._trouble("read", error) from error

    def first_record(self) -> int:
        """The number of the oldest stored record; 1 if there is none yet."""
        return self._number("SELECT min(sequence) FROM records", 1)

    def last_record(self) -> int:
        """The number of the newest stored record; 0 if there is none."""
        return self._number("SELECT max(sequence) FROM records", 0)

    def row_checksum(self, sequence: int) -> int:
        """The stored checksum of a record; 0 if there is no such record."""
        return self._number("SELECT checksum FROM records WHERE sequence = ?", 0, sequence)

    def last_instant_ms(self) -> int:
        """The instant of the last stored record; 0 if there is none."""
        return self._number("SELECT now_ms FROM records ORDER BY sequence DESC LIMIT 1", 0)

    def _number(self, query: str, absent: int, *values: int) -> int:
        row = self._first_row(query, *values)
        return absent if row is None or row[0] is None else int(row[0])

    def _first_row(self, query: str, *values: int) -> tuple[Any, ...] | None:
        with self._reading():
            row: tuple[Any, ...] | None = self._connected().execute(query, values).fetchone()
        return row

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        """Errors of the file meanwhile are JournalErrors."""
        try:
            yield
        except sqlite3.Error as error:
            raise self._trouble("read", error) from error

    # Snapshots: each contains the effect of all records up to its number.

    def snapshots(self) -> list[int]:
        """The numbers of the records after which there is a snapshot, ascending."""
        with self._reading():
            rows = self._connected().execute("SELECT sequence FROM snapshots ORDER BY 1")
            return [sequence for (sequence,) in rows]

    def snapshot(self, sequence: int) -> Snapshot:
        """The snapshot after this record. Raises JournalError if there is none."""
        row = self._first_row("SELECT * FROM snapshots WHERE sequence = ?", sequence)
        if row is None:
            raise JournalError(f"{self.path} has no snapshot behind record {sequence}")
        self._check_row("the snapshot behind record", *row)
        return Snapshot(*row[:4])

    def save(self, snapshot: Snapshot) -> None:
        """Store a snapshot, in one transaction. Raises JournalError; then it is not stored."""
        values = (snapshot.sequence, snapshot.now_ms, snapshot.form, snapshot.body)
        row = (*values, checksum(*values))
        if self._shared is not None:
            self._shared.save(row)
        self._write("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?, ?)", [row])

    def size(self) -> int:
        """The number of bytes in use in the file."""
        with self._reading():
            return bytes_in_use(self._connected())

    def spare(self, records: int, size: int) -> tuple[int, int] | None:
        """The first and the last of the oldest records to delete next; None if there are at most
        `records` records and `size` bytes in use."""
        with self._reading():
            return spare_records(self._connected(), self.snapshots(), records, size)

    def trim(self, records: int, size: int) -> int:
        """Delete some of the oldest records, and the snapshots before them, if there are more than
        `records` records or more than `size` bytes in use; returns the number of deleted
        records."""
        spare = self.spare(records, size)
        if spare is None:
            return 0
        first, end = spare
        self.delete_up_to(end)
        return end - first + 1

    def delete_up_to(self, end: int) -> None:
        """Delete the records up to a number, and the snapshots before it."""
        if self._shared is not None:
            self._shared.delete_up_to(end)
        self._write("DELETE FROM records WHERE sequence <= ?", [(end,)])
        self._write("DELETE FROM snapshots WHERE sequence < ?", [(end,)])

    def back_up(self, target: Path) -> None:
        """Write a consistent copy to a new file, while the journal is in use.

        Raises JournalError if the file exists or cannot be written, or names the record or the
        snapshot that is damaged.
        """
        if target.exists():
            raise JournalError(f"{target} exists already: name a new file")
        connection = self._connected()
        copy = None
        try:
            # One transaction, so that the checked rows are the copied ones. In one step, since
            # SQLite restarts the copy after a write between two steps: under load it would never
            # finish.
            connection.execute("BEGIN")
            try:
                # Raise JournalError for the first damaged row of records and snapshots.
                for _ in self.checked_rows():
                    pass
                for sequence in self.snapshots():
                    self.snapshot(sequence)
                copy = sqlite3.connect(target)
                connection.backup(copy, pages=-1)
            finally:
                connection.execute("ROLLBACK")
            copy.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.Error as error:
            raise JournalError(f"cannot back {self.path} up to {target}: {error}") from error
        finally:
            if copy is not None:
                copy.close()

    def _write(self, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
        connection = self._connected()
        try:
            connection.execute("BEGIN IMMEDIATE")
            try:
                connection.executemany(statement, rows)
                connection.execute("COMMIT")
            except sqlite3.Error:
                # Some errors roll back automatically.
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise self._trouble("write", error) from error

    def rows(self, after: int = 0) -> Iterator[Row]:
        """The rows of the records after a number, as `copy` takes them."""
        with self._reading():
            yield from self._rows(after)

    def checked_rows(self) -> Iterator[Row]:
        """All rows of records; raises JournalError for one that is damaged."""
        for row in self.rows():
            self._check_row("record", *row)
            yield row

    def _rows(self, after: int) -> Iterator[tuple[Any, ...]]:
        statement = "SELECT * FROM records WHERE sequence > ? ORDER BY 1"
        return self._connected().execute(statement, (after,))

    def _check_row(self, what: str, *row: Any) -> None:
        """Raise JournalError if a row differs from what was written. The last column is the
        checksum."""
        if row[-1] != checksum(*row[:-1]):
            raise JournalError(
                f"{self.path}: {what} {row[0]} is damaged: it is not what was written; restore the"
                " file from a copy (`fairshare backup` makes them)"
            )

    def close(self) -> None:
        """Close the file and release the lock."""
        self._records.clear()
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _connected(self) -> sqlite3.Connection:
        if self._connection is None:
            raise JournalError(f"{self.path}: the journal is closed")
        return self._connection

    def _to_be_checked(self) -> bool:
        """Whether the whole file must be checked first. Must be called before opening it, which
        consumes the write-ahead log of an earlier server."""
        try:
            size = self.path.stat().st_size
        except OSError:
            return False  # opening the file reports the error
        left = self.path.with_name(self.path.name + "-wal")
        return 0 < size <= CHECKED_WHOLE_BYTES or (size > 0 and left.exists())

    def _check_pages(self, connection: sqlite3.Connection) -> None:
        """Raise JournalError if the pages of the file are inconsistent."""
        found = [str(row[0]) for row in connection.execute("PRAGMA quick_check(1)")]
        if found != ["ok"]:
            detail = " ".join(" ".join(found).removeprefix("*** in database main ***").split())
            raise JournalError(
                f"cannot open {self.path}: the file is damaged: restore it from a copy"
                f" (`fairshare backup` makes them), or move it away to begin without a"
                f" record: what runs is then ended ({detail})"
            )

    def _prepare(self, connection: sqlite3.Connection, read_only: bool) -> None:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (owner,) = connection.execute("PRAGMA application_id").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if version != FORMAT and owner == _APPLICATION:
            raise JournalError(
                f"{self.path} has format {version}, and this version of fairshare reads format "
                f"{FORMAT}: use the version that wrote it, or name another directory"
            )
        if tables and owner != _APPLICATION:
            raise JournalError(
                f"{self.path} is an SQLite file of another program: move it away, or name another "
                "directory"
            )
        if read_only:
            if not tables:
                raise JournalError(f"{self.path} is empty: no server has recorded anything there")
            return
        connection.execute("PRAGMA journal_mode = WAL")
        # Of what the database has, a power failure may take the last rows here.
        how = "FULL" if self._shared is None else "NORMAL"
        connection.execute(f"PRAGMA synchronous = {how}")
        if not tables:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(_TABLE)
            connection.execute(_SNAPSHOTS)
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
            connection.execute("COMMIT")

    def _trouble(self, doing: str, error: sqlite3.Error) -> JournalError:
        # The low byte is the kind of error; the rest is too detailed for users.
        kind = getattr(error, "sqlite_errorcode", 0) & 0xFF
        advice = _ADVICE.get(kind)
        full = kind == sqlite3.SQLITE_FULL
        if kind == sqlite3.SQLITE_IOERR:  # of the file of shared memory, which has no code for it
            full = bool(full_disk(self.path.parent))
        raised = DiskFullError if full else JournalError
        return raised(f"cannot {doing} {self.path}: {error}" + (f"; {advice}" if advice else ""))
