"""Owns the file of notices, STATE/notices.sqlite3: which are still to be sent, and what came of
the others. Knows nothing of how they are sent."""

import contextlib
import sqlite3
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from fairshare.errors import FairshareError
from fairshare.server.notices.records import Notice
from fairshare.server.side_file import SideFileError, copy_side_file, open_side_file
from fairshare.wording import cause

FILE: Final = "notices.sqlite3"
FORMAT: Final = 1
_TABLES: Final = """
CREATE TABLE notices (
    epoch_ms INTEGER, application INTEGER, event TEXT, target TEXT,
    state TEXT, changed_ms INTEGER, body BLOB,
    PRIMARY KEY (epoch_ms, application, event, target)
) WITHOUT ROWID;
CREATE INDEX notices_by_change ON notices (changed_ms);
"""


def copy_notices(state: Path, target: Path) -> None:
    """Copy the file of a state directory, which may be in use, to another one; nothing if there is
    none. Raises SideFileError."""
    copy_side_file(state / FILE, target / FILE)


class NoticesError(FairshareError):
    """The notices cannot be written or read."""


class NoticeStore:
    """The file, open for writing; threads use it one after the other."""

    def __init__(self, directory: Path) -> None:
        """Open or make the file. Raises NoticesError."""
        self.path = directory / FILE
        self._using = threading.Lock()
        try:
            self._connection, self.moved_aside = open_side_file(self.path, FORMAT, _TABLES)
        except SideFileError as error:
            raise NoticesError(str(error)) from error

    def load(self, oldest_ms: int) -> list[Notice]:
        """All that are pending, and what changed since an instant; others are deleted.

        Raises NoticesError.
        """
        try:
            self.forget(oldest_ms)
            with self._using:
                rows = self._connection.execute("SELECT body FROM notices").fetchall()
            return [msgspec.json.decode(body, type=Notice) for (body,) in rows]
        except (sqlite3.Error, msgspec.DecodeError) as error:
            raise NoticesError(f"cannot read {self.path}: {cause(error)}") from error

    def forget(self, oldest_ms: int) -> None:
        """Delete what changed before an instant and is not pending. Raises NoticesError."""
        statement = "DELETE FROM notices WHERE changed_ms < ? AND state <> 'pending'"
        try:
            with self._using:
                self._connection.execute(statement, (oldest_ms,))
        except sqlite3.Error as error:
            raise NoticesError(f"cannot write {self.path}: {cause(error)}") from error

    def write(self, notices: Iterable[Notice]) -> None:
        """Write notices as they are now, in one transaction. Raises NoticesError."""
        rows = [(*one.key, one.state, one.changed_ms, msgspec.json.encode(one)) for one in notices]
        statement = "INSERT OR REPLACE INTO notices VALUES (?, ?, ?, ?, ?, ?, ?)"
        try:
            with self._using:
                self._connection.execute("BEGIN IMMEDIATE")
                try:
                    self._connection.executemany(statement, rows)
                    self._connection.execute("COMMIT")
                except sqlite3.Error:
                    with contextlib.suppress(sqlite3.Error):
                        self._connection.execute("ROLLBACK")
                    raise
        except sqlite3.Error as error:
            raise NoticesError(f"cannot write {self.path}: {cause(error)}") from error

    def close(self) -> None:
        """Close the file."""
        with self._using:
            self._connection.close()
