"""Owns the journal in an SQLite file: what a server has decided, and what survives its end.

One table has a row for each record (sequence, now_ms, and the record as MessagePack), another one
the snapshots; each row has a checksum, looked at when it is read. The file is in WAL mode with
synchronous=FULL: after `commit` a record survives a crash of the process and of the machine.
`user_version` is the format: 1 had no snapshots, 2 no checksums; rows that were written then have
none, and are believed. Knows nothing of what records and snapshots mean.
"""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from fairshare.errors import JournalError
from fairshare.journal.checksums import checksum
from fairshare.journal.lock import StateLock
from fairshare.journal.place import Place
from fairshare.journal.protocol import Snapshot
from fairshare.journal.record import Record
from fairshare.journal.reserve import Reserve
from fairshare.journal.trimming import bytes_in_use, spare_records

JOURNAL_FILE = "journal.sqlite3"
FORMAT = 3
_APPLICATION = 0x46414952  # "FAIR": says in the file's header whose it is

_TABLE = """
CREATE TABLE records (
    sequence INTEGER PRIMARY KEY,
    now_ms INTEGER NOT NULL,
    body BLOB NOT NULL,
    checksum INTEGER
)
"""

_SNAPSHOTS = """
CREATE TABLE snapshots (
    sequence INTEGER PRIMARY KEY,
    now_ms INTEGER NOT NULL,
    layout TEXT NOT NULL,
    body BLOB NOT NULL,
    checksum INTEGER
)
"""

_ADVICE = {
    sqlite3.SQLITE_FULL: "the disk is full: make room, then start again; nothing recorded is lost",
    sqlite3.SQLITE_NOTADB: "this is no journal: move the file away, or name another directory",
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


class DiskFullError(JournalError):
    """There is no room for what was to be written; nothing of it was."""


CHECKED_WHOLE_BYTES = 256 * 1024**2
"""Journals up to this size are checked when they are opened to be written: about a second for each
hundred megabytes on a slow disk. A larger one only after a server that did not end in order, which
has left its write-ahead log behind."""


class SqliteJournal:
    """The journal of one state directory.

    A writer holds the directory's lock until `close`; a second one is refused. With `read_only`
    nothing is locked or written, and the journal of a running server can be read.
    Raises JournalError with the path and what to do.
    """

    def __init__(self, directory: Path, *, address: str = "", read_only: bool = False) -> None:
        self.path = directory / JOURNAL_FILE
        self._encoder = msgspec.msgpack.Encoder()
        self._buffer: list[tuple[object, ...]] = []
        self.appended = 0  # bytes
        self._lock = None if read_only else StateLock(directory, address)
        self._connection: sqlite3.Connection | None = None
        self._place: Place | None = None
        self._reserve = Reserve(directory)
        try:
            if read_only and not self.path.exists():
                raise JournalError(f"{self.path} does not exist: name a server's state directory")
            suspicious = not read_only and self._to_be_checked()
            self._connection = self._open(read_only)
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
        """Note in the lock where the server listens."""
        if self._lock is not None:
            self._lock.announce(address)

    def append(self, record: Record) -> None:
        """Encode a record and hold it until the commit."""
        row = (record.sequence, record.now_ms, self._encoder.encode(record))
        self.appended += len(row[2])
        self._buffer.append((*row, checksum(*row)))

    def commit(self) -> None:
        """Write all that was appended in one transaction, and wait for the disk.

        What was written to a file that is no longer there is not safe: JournalError.
        """
        if not self._buffer:
            return
        rows, self._buffer = self._buffer, []
        while True:
            try:
                self._write("INSERT INTO records VALUES (?, ?, ?, ?)", rows)
                break
            except DiskFullError:
                if not self._reserve.give():
                    raise
        self.check_place()

    def check_place(self) -> None:
        """Raises JournalError if the file was removed, moved away or replaced since it was opened:
        a writer must stop then. To be asked now and then, though nothing is recorded."""
        if self._place is not None:
            self._place.check()

    def records(self, after: int = 0) -> Iterator[Record]:
        """The committed records behind number `after`, checked to be without a gap and unharmed."""
        decoder = msgspec.msgpack.Decoder(Record)
        expected = after + 1
        try:
            for sequence, now_ms, body, *told in self._rows(after):
                if sequence != expected:
                    raise JournalError(
                        f"{self.path}: record {expected} is missing, {sequence} follows; "
                        "restore the file from a copy"
                    )
                expected += 1
                self._check_row("record", sequence, now_ms, body, *told)
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
        """The number of the oldest record that is kept; 1 if there is none yet."""
        try:
            (first,) = self._connected().execute("SELECT min(sequence) FROM records").fetchone()
        except sqlite3.Error as error:
            raise self._trouble("read", error) from error
        return 1 if first is None else int(first)

    # Snapshots: each stands for all records up to its number.

    def snapshots(self) -> list[int]:
        """The numbers of the records behind which there is a snapshot, ascending."""
        if self._format() < 2:
            return []
        try:
            rows = self._connected().execute("SELECT sequence FROM snapshots ORDER BY 1")
            return [sequence for (sequence,) in rows]
        except sqlite3.Error as error:
            raise self._trouble("read", error) from error

    def snapshot(self, sequence: int) -> Snapshot:
        """One snapshot. Raises JournalError if there is none behind this record."""
        try:
            row = (
                self._connected()
                .execute("SELECT * FROM snapshots WHERE sequence = ?", (sequence,))
                .fetchone()
            )
        except sqlite3.Error as error:
            raise self._trouble("read", error) from error
        if row is None:
            raise JournalError(f"{self.path} has no snapshot behind record {sequence}")
        self._check_row("the snapshot behind record", *row)
        return Snapshot(*row[:4])

    def save(self, snapshot: Snapshot) -> None:
        """Keep a snapshot, in one transaction. Raises JournalError; then there is none."""
        row = (snapshot.sequence, snapshot.now_ms, snapshot.layout, snapshot.body)
        statement = "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?, ?)"
        self._write(statement, [(*row, checksum(*row))])

    def size(self) -> int:
        """The bytes that the file has in use."""
        try:
            return bytes_in_use(self._connected())
        except sqlite3.Error as error:
            raise self._trouble("read", error) from error

    def trim(self, records: int, size: int) -> int:
        """Forget some of the oldest records, if there are more than `records`, or if the file has
        more than `size` bytes in use, and the snapshots before them; returns how many went."""
        try:
            spare = spare_records(self._connected(), self.snapshots(), records, size)
        except sqlite3.Error as error:
            raise self._trouble("read", error) from error
        if spare is None:
            return 0
        first, end = spare
        self._write("DELETE FROM records WHERE sequence <= ?", [(end,)])
        self._write("DELETE FROM snapshots WHERE sequence < ?", [(end,)])
        return end - first + 1

    def back_up(self, target: Path) -> None:
        """Write a copy of one instant to a new file, while the journal is in use.

        Raises JournalError if the file exists or cannot be written, or names the record or the
        snapshot that is damaged.
        """
        if target.exists():
            raise JournalError(f"{target} exists already: name a new file")
        connection = self._connected()
        copy = None
        try:
            # One transaction, so that what is checked is what is copied. In one step, since SQLite
            # begins anew where somebody writes between two steps: under load it would never end.
            connection.execute("BEGIN")
            try:
                self._check_rows()
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

    def _write(self, statement: str, rows: list[tuple[object, ...]]) -> None:
        connection = self._connected()
        try:
            connection.execute("BEGIN IMMEDIATE")
            try:
                connection.executemany(statement, rows)
                connection.execute("COMMIT")
            except sqlite3.Error:
                # Some errors have rolled back by themselves already.
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise self._trouble("write", error) from error

    def _rows(self, after: int) -> Iterator[tuple[Any, ...]]:
        statement = "SELECT * FROM records WHERE sequence > ? ORDER BY 1"
        return self._connected().execute(statement, (after,))

    def _check_row(self, what: str, *row: Any) -> None:
        """Raises JournalError if a row is another one than was written. The last column is the
        checksum; in files without checksums it is the body."""
        told = row[-1]
        if isinstance(told, int) and told != checksum(*row[:-1]):
            raise JournalError(
                f"{self.path}: {what} {row[0]} is damaged: it is not what was written; restore the"
                " file from a copy (`fairshare backup` makes them)"
            )

    def _check_rows(self) -> None:
        """Raises JournalError for the first row that is damaged, of records and snapshots."""
        try:
            for row in self._rows(0):
                self._check_row("record", *row)
        except sqlite3.Error as error:
            raise self._trouble("read", error) from error
        for sequence in self.snapshots():
            self.snapshot(sequence)

    def _format(self) -> int:
        (version,) = self._connected().execute("PRAGMA user_version").fetchone()
        return int(version)

    def close(self) -> None:
        """Close the file and let go of the lock."""
        self._buffer.clear()
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

    def _open(self, read_only: bool) -> sqlite3.Connection:
        mode = "ro" if read_only else "rwc"
        # One thread at a time uses it, but not always the one that opened it.
        return sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode={mode}",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
        )

    def _to_be_checked(self) -> bool:
        """Whether it is to be read whole before anything is built on it. To be asked before it is
        opened: that takes in what an earlier server has left."""
        try:
            size = self.path.stat().st_size
        except OSError:
            return False  # opening it says why
        left = self.path.with_name(self.path.name + "-wal")
        return 0 < size <= CHECKED_WHOLE_BYTES or (size > 0 and left.exists())

    def _check_pages(self, connection: sqlite3.Connection) -> None:
        """Raises JournalError if the pages of the file do not fit together."""
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
        if version > FORMAT and owner == _APPLICATION:
            raise JournalError(
                f"{self.path} has format {version}, and this version of fairshare reads up to "
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
        connection.execute("PRAGMA synchronous = FULL")
        if not tables:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(_TABLE)
            connection.execute(_SNAPSHOTS)
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
            connection.execute("COMMIT")
        elif version < FORMAT:
            connection.execute("BEGIN IMMEDIATE")
            if version < 2:
                connection.execute(_SNAPSHOTS)
            else:
                connection.execute("ALTER TABLE snapshots ADD COLUMN checksum INTEGER")
            connection.execute("ALTER TABLE records ADD COLUMN checksum INTEGER")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
            connection.execute("COMMIT")

    def _trouble(self, doing: str, error: sqlite3.Error) -> JournalError:
        # The low byte is the kind; the rest says more than a user wants to know.
        kind = getattr(error, "sqlite_errorcode", 0) & 0xFF
        advice = _ADVICE.get(kind)
        raised = DiskFullError if kind == sqlite3.SQLITE_FULL else JournalError
        return raised(f"cannot {doing} {self.path}: {error}" + (f"; {advice}" if advice else ""))
