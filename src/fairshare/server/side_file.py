"""How a server opens SQLite files beside its journal, on which nothing else depends.

They are in WAL mode with synchronous=NORMAL: a power cut may take the last rows. A damaged file is
moved aside, and a new one made.

In a directory whose state is shared (`runtime/shared.py`), each transaction is a change that goes
into the database before it is committed here. The file has the number of the last one; its changes
in the order of their numbers make the same file elsewhere.
"""

import asyncio
import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar

from fairshare.errors import FairshareError, JournalError
from fairshare.runtime.shared import Shared, Statement, shared_of
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
        await asyncio.wait([work])  # unlike `shield` it logs no error of work that was cancelled
    except asyncio.CancelledError:
        await asyncio.wait([work])
        if not work.cancelled():
            work.exception()  # retrieved, or asyncio would log it
        raise
    return work.result()


BUSY_S: Final = 10.0
_NUMBER_TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS shared_change (one INTEGER PRIMARY KEY, number INTEGER)"
)
_SET_NUMBER: Final = "INSERT OR REPLACE INTO shared_change VALUES (1, ?)"
_CHANGING: Final = ("INSERT", "UPDATE", "DELETE")
NO_CHANGES: Final[Mapping[int, str]] = {}


class SideFileError(FairshareError):
    """The file cannot be opened."""


class SharedConnection(sqlite3.Connection):
    """A connection to a shared file: it keeps the statements of a transaction that change
    something. One outside of a transaction is a transaction of its own."""

    shared: Shared | None = None

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.statements: list[Statement] = []
        self._number = 0

    def execute(self, statement: str, parameters: Any = (), /) -> sqlite3.Cursor:
        """Execute a statement."""
        if self.shared is None or not statement.lstrip().startswith(_CHANGING):
            return super().execute(statement, parameters)
        if not self.in_transaction:
            with transaction(self) as connection:
                return connection.execute(statement, parameters)
        self.statements.append((statement, [parameters]))
        return super().execute(statement, parameters)

    def executemany(self, statement: str, rows: Iterable[Any], /) -> sqlite3.Cursor:
        """Execute a statement for each row, in a transaction."""
        if self.shared is not None:
            rows = list(rows)
            if rows:
                self.statements.append((statement, rows))
        return super().executemany(statement, rows)

    def share(self) -> None:
        """Have the database record the transaction; raises sqlite3.OperationalError."""
        self._number = 0
        statements, self.statements = self.statements, []
        if self.shared is None or not statements:
            return
        try:
            number = self.shared.state.change(self.shared.name, statements)
        except JournalError as error:
            raise sqlite3.OperationalError(str(error)) from error
        self._number = number
        super().execute(_SET_NUMBER, (number,))

    def roll_back(self) -> None:
        """Forget the transaction, which the database may have."""
        self.statements = []
        if self.shared is not None and self._number:
            self.shared.state.doubt(self.shared.name)


def apply_change(connection: sqlite3.Connection, number: int, statements: list[Statement]) -> None:
    """Make a change of another server in this copy of its file. Raises sqlite3.Error."""
    with transaction(connection):
        for statement, rows in statements:
            connection.executemany(statement, rows)
        set_applied_change(connection, number)


def set_applied_change(connection: sqlite3.Connection, number: int) -> None:
    """This file has what changed up to this number."""
    connection.execute(_NUMBER_TABLE)
    connection.execute(_SET_NUMBER, (number,))


def applied_change(connection: sqlite3.Connection) -> int:
    """The number of the last change that a file has; 0: it does not say. Raises sqlite3.Error."""
    found = connection.execute(
        "SELECT count(*) FROM sqlite_schema WHERE name = 'shared_change'"
    ).fetchone()
    row = connection.execute("SELECT number FROM shared_change").fetchone() if found[0] else None
    return 0 if row is None else int(row[0])


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
            if not is_damage(error):
                raise
            aside = move_aside(path)
            return _opened(path, form, tables, changes), aside
    except (sqlite3.Error, OSError) as error:
        raise SideFileError(f"cannot open {path}: {cause(error)}") from error


def _opened(path: Path, form: int, tables: str, changes: Mapping[int, str]) -> SharedConnection:
    path.touch(mode=0o600)
    shared = shared_of(path)
    connection = sqlite3.connect(
        path,
        isolation_level=None,
        check_same_thread=False,
        timeout=BUSY_S,
        factory=SharedConnection,
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
            if shared is not None:
                shared.state.doubt(shared.name)
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if shared is not None:
            connection.execute(_NUMBER_TABLE)
            connection.shared = shared
    except BaseException:
        connection.close()
        raise
    return connection


def is_damage(error: sqlite3.Error) -> bool:
    """Whether a file is damaged, or is not a database."""
    code = getattr(error, "sqlite_errorcode", None)
    return code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)


def move_aside(path: Path) -> Path:
    """Give a damaged file another name, so that the next one who opens it makes a new one."""
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
        if isinstance(connection, SharedConnection):
            connection.share()
        connection.execute("COMMIT")
    except BaseException:
        if isinstance(connection, SharedConnection):
            connection.roll_back()
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
