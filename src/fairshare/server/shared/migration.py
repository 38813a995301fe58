"""The way of a whole state into the database, in one transaction, and out of it. What arrived is
compared record by record and file by file before anything counts.
"""

import contextlib
import sqlite3
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from fairshare.errors import JournalError
from fairshare.runtime.journal.sqlite import JOURNAL_FILE, SqliteJournal, checksum
from fairshare.server.shared import tables
from fairshare.server.shared.copy import ROWS_AT_ONCE, SIDE_FILE, Copy, Marker, write_marker
from fairshare.server.shared.database import Connection, DatabaseError, Link, shown
from fairshare.server.side_file import copy_side_file, set_applied_change
from fairshare.server.state_directory import SHARED_FILE, pieces_of

_SMALL_FILES: Final = (
    *("cluster.json", "secret", "tokens.json", "scheduler-conf.json", "hadoop-keys"),
    *("hadoop-jobs/application_*", "configuration-texts/*.json", "payloads/[0-9a-f]*"),
    *("packages/content/*", "packages/names/*/*"),
)
FIRST_CHANGE: Final = 1
WHOLE_S: Final = 24 * 3_600.0


class Moved(NamedTuple):
    """How much was compared."""

    records: int
    snapshots: int
    files: int


def names_of(directory: Path) -> list[str]:
    """The files of a state directory that its servers share, without the journal."""
    found = (path for pattern in _SMALL_FILES for path in directory.glob(pattern))
    small = [path for path in found if path.is_file() and "." not in path.stem[:1]]
    side = [path for path in directory.glob(f"*{SIDE_FILE}") if path.name != JOURNAL_FILE]
    return sorted(path.relative_to(directory).as_posix() for path in (*small, *side))


def move_in(link: Link, directory: Path, journal: SqliteJournal) -> Moved:
    """Move the state of a directory, whose journal is open for writing, to a database that has
    none. The directory is a copy then.

    If it was moved before, and the program ended before it said so, it is only compared. Raises
    FairshareError; then nothing has changed.
    """
    cluster = link.run(tables.cluster, tables.ANSWER_S)
    with _contents(directory) as contents:
        if cluster is None:
            cluster, moved = link.run(
                lambda transaction: _fill(transaction, journal, contents), WHOLE_S
            )
        else:
            same = None
            if cluster.form == tables.FORM and not cluster.moved:
                same = link.run(
                    lambda transaction: _compare(transaction, journal, contents), WHOLE_S
                )
            if same is None:
                raise DatabaseError(
                    f"the database {shown(link.url)} has a state already, of cluster"
                    f" {cluster.id}: make another database (createdb)"
                )
            moved = same
    for name in names_of(directory):
        if name.endswith(SIDE_FILE):
            with contextlib.closing(sqlite3.connect(directory / name)) as opened:
                set_applied_change(opened, FIRST_CHANGE)
                opened.commit()
    files = {row.name: (row.number, row.checksum) for row in link.run(tables.files, WHOLE_S)}
    small = {name: what for name, what in files.items() if not name.endswith(SIDE_FILE)}
    write_marker(directory, Marker(cluster.id, link.url, small))
    return moved


def move_back(link: Link, directory: Path, takeover: Copy) -> Moved:
    """Make an up-to-date copy a state of its own; no server can use the database after that.

    Raises JournalError if they differ; then nothing has changed.
    """
    names = [name for name in names_of(directory) if not name.endswith(SIDE_FILE)]
    contents = {name: directory / name for name in names}
    moved = link.run(
        lambda one: _compare(one, takeover.journal, contents, side_files=False), WHOLE_S
    )
    if not moved:
        raise JournalError(
            f"{directory} is not what the database {shown(link.url)} has: name another, empty state"
            " directory with --state, into which it is copied"
        )
    link.run(lambda one: tables.set_moved(one, str(directory)), tables.ANSWER_S)
    (directory / SHARED_FILE).unlink()
    return moved


@contextlib.contextmanager
def _contents(directory: Path) -> Iterator[dict[str, Path]]:
    """The files with the content of each; side files are copied, as some of it may be in another
    file (write-ahead log)."""
    with tempfile.TemporaryDirectory(prefix=".image.", dir=directory) as folder:
        contents: dict[str, Path] = {}
        for name in names_of(directory):
            contents[name] = directory / name
            if name.endswith(SIDE_FILE):
                contents[name] = Path(folder, name)
                copy_side_file(directory / name, contents[name])
                with contextlib.closing(sqlite3.connect(contents[name])) as opened:
                    set_applied_change(opened, FIRST_CHANGE)
                    opened.commit()
        yield contents


def _fill(
    connection: Connection, journal: SqliteJournal, contents: dict[str, Path]
) -> tuple[tables.Cluster, Moved]:
    with connection.transaction():
        cluster = tables.create(connection)
        rows = journal.rows(0)
        while batch := list(islice(rows, ROWS_AT_ONCE)):
            tables.record(connection, 0, batch)
        for sequence in journal.snapshots():
            snapshot = journal.snapshot(sequence)
            row = (snapshot.sequence, snapshot.now_ms, snapshot.form, snapshot.body)
            tables.put_snapshot(connection, (*row, checksum(*row)))
        for name, path in contents.items():
            tables.put_file(connection, name, FIRST_CHANGE, pieces_of(path))
        moved = _compare(connection, journal, contents)
        if not moved:
            raise JournalError("what arrived in the database is not what was sent")
    return cluster, moved


def _compare(
    connection: Connection,
    journal: SqliteJournal,
    contents: dict[str, Path],
    *,
    side_files: bool = True,
) -> Moved | None:
    """How much is the same; None if anything differs. Raises JournalError for a damaged record."""
    records = 0
    there = _all_rows(connection)
    for row in journal.checked_rows():
        if next(there, None) != row:
            return None
        records += 1
    if next(there, None) is not None or journal.snapshots() != tables.snapshots(connection):
        return None
    for sequence in journal.snapshots():
        found, snapshot = tables.snapshot(connection, sequence), journal.snapshot(sequence)
        if found is None or found[3] != snapshot.body or found[-1] != checksum(*found[:-1]):
            return None
    files = {row.name: row for row in tables.files(connection)}
    if not side_files:
        files = {name: row for name, row in files.items() if not name.endswith(SIDE_FILE)}
    if files.keys() != contents.keys():
        return None
    for name, path in contents.items():
        same = _is_same_side_file if name.endswith(SIDE_FILE) else _is_same
        if not same(tables.content(connection, name), path):
            return None
    return Moved(records, len(journal.snapshots()), len(files))


def _is_same(pieces: Iterator[bytes], path: Path) -> bool:
    return all(piece == next(pieces, None) for piece in pieces_of(path)) and not any(pieces)


def _is_same_side_file(pieces: Iterator[bytes], path: Path) -> bool:
    """Whether two files have the same rows: their pages may differ."""
    with tempfile.NamedTemporaryFile(dir=path.parent) as file:
        for piece in pieces:
            file.write(piece)
        file.flush()
        with (
            contextlib.closing(sqlite3.connect(file.name)) as there,
            contextlib.closing(sqlite3.connect(path)) as here,
        ):
            lines = there.iterdump()
            return all(line == next(lines, None) for line in here.iterdump()) and not any(lines)


def _all_rows(connection: Connection) -> Iterator[tuple[object, ...]]:
    after = 0
    while rows := tables.rows_after(connection, after, ROWS_AT_ONCE):
        yield from rows
        after = rows[-1][0]
