"""The copy of a shared state in the state directory of one host.

It has the same files as a directory that is not shared, so that all that reads these works: a
server that waits keeps it up to date, and one that takes over starts from it as from its own. The
file `shared.json` says what of the database is there:

    cluster    whose state it is
    url        the database
    files      the number and the checksum of each file
"""

import contextlib
import sqlite3
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from fairshare.errors import FairshareError, JournalError
from fairshare.runtime.journal.files import Reserve
from fairshare.runtime.journal.protocol import Snapshot
from fairshare.runtime.journal.sqlite import JOURNAL_FILE, SqliteJournal, checksum
from fairshare.runtime.shared import Statement
from fairshare.server.shared import tables
from fairshare.server.shared.database import Connection, DatabaseError, shown
from fairshare.server.side_file import applied_change, apply_change, set_applied_change
from fairshare.server.state_directory import SHARED_FILE, read_json_file, sync_directory, write_file
from fairshare.this_machine import full_disk

ROWS_AT_ONCE: Final = 2_000
CHANGES_AT_ONCE: Final = 50
SIDE_FILE: Final = ".sqlite3"
"""Ends the names of side files."""
_OWN: Final = (JOURNAL_FILE, "cluster.json", "secret", "tokens.json")
_READ_ONLY: Final = ("payloads/", "packages/content/")


class Marker(msgspec.Struct):
    """The content of `shared.json`."""

    cluster: str
    url: str
    files: dict[str, tuple[int, int]] = {}


def read_marker(directory: Path) -> Marker | None:
    """What a directory shares; None: nothing. Raises FairshareError."""
    remedy = "Start with another, empty state directory: it is filled from the database"
    return read_json_file(directory / SHARED_FILE, Marker, remedy, private=True)


def write_marker(directory: Path, marker: Marker) -> None:
    """Say what a directory shares."""
    write_file(directory / SHARED_FILE, msgspec.json.encode(marker) + b"\n")


class Copy:
    """The copy in a directory, whose lock it holds until `close`. Raises FairshareError if the
    directory has something else than the database, or more. `back`: the state may have been moved
    to this directory."""

    def __init__(
        self, directory: Path, url: str, cluster: tables.Cluster | None, *, back: bool = False
    ) -> None:
        self.directory = directory
        self._url = url
        self._marker = self._checked(cluster, str(directory) if back else "")
        self.last = 0
        self._side: dict[str, sqlite3.Connection] = {}
        self._compared = False
        if full_disk(directory):
            Reserve(directory).give()  # for the small files that follow
        self.journal = SqliteJournal(directory)

    def _checked(self, cluster: tables.Cluster | None, moved_to: str) -> Marker | None:
        directory, place = self.directory, f"the database {shown(self._url)}"
        marker = read_marker(directory)
        if cluster is not None and cluster.form != tables.FORM:
            raise DatabaseError(
                f"{place} has the state in form {cluster.form}, and this release of fairshare"
                f" reads form {tables.FORM}: use the release that wrote it"
            )
        if cluster is not None and cluster.moved and cluster.moved != moved_to:
            raise DatabaseError(
                f"the state in {place} was moved to {cluster.moved}: start a server there,"
                " or move that to another database with `fairshare migrate-state`"
            )
        if marker is None:
            own = _OWN if cluster is not None else (JOURNAL_FILE,)
            if any((directory / name).exists() for name in own):
                raise DatabaseError(
                    f"{directory} has a state of its own: `fairshare migrate-state --to URL` moves"
                    " it to the database; or name another directory with --state"
                )
            return None
        if cluster is None:
            raise DatabaseError(
                f"{place} has no state, and {directory} is a copy of that of cluster"
                f" {marker.cluster}: mend the URL, or restore the database. If it is lost,"
                " `fairshare migrate-state --to URL` fills it from this copy"
            )
        if marker.cluster != cluster.id:
            raise DatabaseError(
                f"{place} has the state of cluster {cluster.id}, and {directory} is a copy of that"
                f" of cluster {marker.cluster}: mend the URL, or name another directory with"
                " --state"
            )
        return marker

    def reload(self) -> None:
        """Read again what the directory shares."""
        self._marker = read_marker(self.directory)

    def follow(self, connection: Connection, *, whole: bool = True) -> None:
        """Bring the copy up to date; `whole`: not the journal alone. The marker comes first, so
        that a copy that was interrupted is known as one."""
        if self._marker is None:
            cluster = tables.cluster(connection)
            assert cluster is not None
            self._marker = Marker(cluster.id, self._url)
            write_marker(self.directory, self._marker)
        if self._marker.url != self._url:
            self._marker.url = self._url
            write_marker(self.directory, self._marker)
        with tables.at_one_moment(connection):
            if not self._compared:
                self._compare(connection)
                self._compared = True
            self._follow_journal(connection)
            if whole:
                self._follow_files(connection)

    # The journal.

    def _compare(self, connection: Connection) -> None:
        """See that the copy is one of what is there."""
        journal, place = self.journal, shown(self._url)
        self.last = journal.last_record()
        first, last = tables.bounds(connection)
        accept = (
            "Bring the former database back; to accept that what followed is lost, name another,"
            " empty state directory"
        )
        if self.last > last:
            raise DatabaseError(
                f"{self.directory} has records up to {self.last}, and the database {place} only up"
                f" to {last}: it was replaced by an older copy. {accept}"
            )
        if first <= self.last and journal.row_checksum(self.last) != tables.row_checksum(
            connection, self.last
        ):
            raise DatabaseError(
                f"record {self.last} in {self.directory} is another one than in the database"
                f" {place}, which was replaced by an older copy and has gone on since. {accept}"
            )

    def _follow_journal(self, connection: Connection) -> None:
        journal = self.journal
        first, _ = tables.bounds(connection)
        if self.last + 1 < first:  # it was away for longer than the database keeps records
            journal.delete_up_to(self.last + 1)
            self.last = first - 1
        kept = set(journal.snapshots())
        for sequence in tables.snapshots(connection):
            if sequence not in kept and (row := tables.snapshot(connection, sequence)):
                self._check(f"the snapshot behind record {sequence}", row)
                journal.save(Snapshot(*row[:4]))
        while rows := tables.rows_after(connection, self.last, ROWS_AT_ONCE):
            for number, row in enumerate(rows, self.last + 1):
                if row[0] != number:
                    raise JournalError(
                        f"the database {shown(self._url)} lacks record {number}: restore it"
                    )
                self._check(f"record {number}", row)
            journal.copy(rows)
            self.last = rows[-1][0]
        if journal.first_record() < first:
            journal.delete_up_to(first - 1)

    def _check(self, what: str, row: Sequence[object]) -> None:
        if row[-1] != checksum(*row[:-1]):  # type: ignore[arg-type]
            raise JournalError(
                f"{what} in the database {shown(self._url)} is damaged: it is not what was"
                " written; restore it from a copy"
            )

    # Files.

    def _follow_files(self, connection: Connection) -> None:
        marker = self._marker
        assert marker is not None
        listed = {row.name: row for row in tables.files(connection)}
        before = dict(marker.files)
        for name in {*before} - {*listed}:
            del marker.files[name]
            if not name.endswith(SIDE_FILE):
                (self.directory / name).unlink(missing_ok=True)
        for name, row in listed.items():
            if name.endswith(SIDE_FILE):
                if self._applied(name) < row.number:
                    self._close(name)
                    self._fetch(connection, row)
                    with contextlib.closing(sqlite3.connect(self.directory / name)) as opened:
                        set_applied_change(opened, row.number)
                        opened.commit()
            elif marker.files.get(name) != (row.number, row.checksum):
                self._fetch(connection, row)
                marker.files[name] = (row.number, row.checksum)
        for name in tables.parts(connection):
            self._follow_side_file(connection, name)
        if marker.files != before:
            write_marker(self.directory, marker)

    def _fetch(self, connection: Connection, row: tables.FileRow) -> None:
        path = self.directory / row.name
        if not path.resolve().is_relative_to(self.directory.resolve()):
            raise DatabaseError(f"the database has a file {row.name!r}, outside of the directory")
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.draft")
        size = total = 0
        try:
            draft.unlink(missing_ok=True)
            draft.touch(mode=0o600)
            with draft.open("wb") as file:
                for piece in tables.content(connection, row.name):
                    file.write(piece)
                    size += len(piece)
                    total = checksum(total, piece)
                file.flush()
            if (size, total) != (row.size, row.checksum):
                raise JournalError(f"the file {row.name} in the database is damaged: restore it")
            if row.name.startswith(_READ_ONLY):
                draft.chmod(0o400)
            for suffix in ("-wal", "-shm") if row.name.endswith(SIDE_FILE) else ():
                path.with_name(f"{path.name}{suffix}").unlink(missing_ok=True)
            draft.replace(path)
            sync_directory(path.parent)
        except OSError as error:
            raise FairshareError(f"cannot write {path}: {error.strerror or error}") from error
        finally:
            draft.unlink(missing_ok=True)

    def _follow_side_file(self, connection: Connection, name: str) -> None:
        after = self._applied(name)
        while rows := tables.changes_after(connection, name, after, CHANGES_AT_ONCE):
            for number, body, stored in rows:
                if stored != checksum(number, name, body):
                    raise JournalError(f"change {number} in the database is damaged: restore it")
                statements = msgspec.msgpack.decode(zlib.decompress(body), type=list[Statement])
                try:
                    apply_change(self._opened(name), number, statements)
                except sqlite3.Error as error:
                    raise JournalError(
                        f"cannot make change {number} in {self.directory / name}: {error}. Start"
                        " again with another, empty state directory"
                    ) from error
                after = number

    def _applied(self, name: str) -> int:
        if not (self.directory / name).exists():
            return 0
        try:
            return applied_change(self._opened(name))
        except sqlite3.DatabaseError:  # damaged: it is fetched again
            return 0

    def _opened(self, name: str) -> sqlite3.Connection:
        if name not in self._side:
            self._side[name] = sqlite3.connect(
                self.directory / name, isolation_level=None, check_same_thread=False
            )
        return self._side[name]

    def _close(self, name: str) -> None:
        if (connection := self._side.pop(name, None)) is not None:
            connection.close()

    def close(self) -> None:
        """Release the directory: a server opens it next. Idempotent."""
        for name in list(self._side):
            self._close(name)
        self.journal.close()
