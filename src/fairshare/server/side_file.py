"""How a server opens SQLite files beside its journal, on which nothing else depends.

They are in WAL mode with synchronous=NORMAL: a power cut may take the last rows. A damaged file is
moved aside, and a new one made.
"""

import asyncio
import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, ParamSpec, TypeVar

from fairshare.errors import FairshareError
from fairshare.wording import cause

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


async def to_the_end(
    function: Callable[Arguments, Result], *arguments: Arguments.args, **options: Arguments.kwargs
) -> Result:
    """Run a function in a thread. A cancellation waits until the function has ended: the server
    closes the file next, and its directory may be deleted after that."""
    work = asyncio.ensure_future(asyncio.to_thread(function, *arguments, **options))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait([work])
        if not work.cancelled():
            work.exception()  # retrieved, or asyncio would log it
        raise


BUSY_S: Final = 10.0
NO_CHANGES: Final[Mapping[int, str]] = {}


class SideFileError(FairshareError):
    """The file cannot be opened."""


def open_side_file(
    path: Path, form: int, tables: str, changes: Mapping[int, str] = NO_CHANGES
) -> tuple[sqlite3.Connection, Path | None]:
    """A connection to a file of format `form`, made with `tables` if it is new; and the name of a
    damaged one that was moved aside. `changes` makes a file of each later format of one of the
    format before. Raises SideFileError."""
    try:
        try:
            return _opened(path, form, tables, changes), None
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode not in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
                raise
            aside = _move_aside(path)
            return _opened(path, form, tables, changes), aside
    except (sqlite3.Error, OSError) as error:
        raise SideFileError(f"cannot open {path}: {cause(error)}") from error


def _opened(path: Path, form: int, tables: str, changes: Mapping[int, str]) -> sqlite3.Connection:
    path.touch(mode=0o600)
    connection = sqlite3.connect(
        path, isolation_level=None, check_same_thread=False, timeout=BUSY_S
    )
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version > form:
            raise SideFileError(
                f"{path} has format {version}, and this release writes {form}: use the release that"
                " wrote it, or move the file away"
            )
        if version < form:
            steps = [changes[one] for one in range(version + 1, form + 1)] if version else [tables]
            script = "\n".join(steps)
            connection.executescript(f"BEGIN;\n{script}\nPRAGMA user_version = {form};\nCOMMIT;")
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _move_aside(path: Path) -> Path:
    aside = path.with_name(f"{path.name}.damaged-{time.time_ns() // 1_000_000}")
    path.replace(aside)
    for suffix in ("-wal", "-shm"):
        path.with_name(f"{path.name}{suffix}").unlink(missing_ok=True)
    return aside


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """A transaction; whatever is raised in it, then nothing has changed."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
        raise


class SideFile:
    """A file that is open for writing. Several threads may use it, one after the other: a
    connection that one thread closes while another one uses it ends the process."""

    def __init__(
        self, path: Path, form: int, tables: str, changes: Mapping[int, str] = NO_CHANGES
    ) -> None:
        self.path = path
        self._using = threading.RLock()
        self._connection, self.moved_aside = open_side_file(path, form, tables, changes)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._using, transaction(self._connection) as connection:
            yield connection

    def close(self) -> None:
        """Close the file."""
        with self._using:
            self._connection.close()


def open_side_file_for_reading(path: Path) -> sqlite3.Connection:
    """A connection that only reads. Raises sqlite3.Error."""
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=ro",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        timeout=BUSY_S,
    )


def copy_side_file(path: Path, target: Path) -> None:
    """Copy a file that may be in use; nothing if there is none. Raises SideFileError."""
    if not path.exists():
        return
    try:
        with (
            contextlib.closing(open_side_file_for_reading(path)) as source,
            contextlib.closing(sqlite3.connect(target)) as copy,
        ):
            source.backup(copy)
        target.chmod(0o600)
    except (sqlite3.Error, OSError) as error:
        raise SideFileError(f"cannot copy {path}: {cause(error)}") from error
