"""A server with a failpoint: `fairshare serve` that kills itself at one of its commits.

    python -m soak.server PLACE COUNT serve --conf ...

PLACE is `before` (nothing of the commit is written), `within` (rows are written, the transaction is
open) or `after` (it is on disk, and nobody has been told); COUNT says at which commit. The product
itself has no failpoint in it.
"""

import os
import signal
import sqlite3
import sys

from fairshare.cli import main
from fairshare.runtime.journal.sqlite import SqliteJournal


def die() -> None:
    """As `kill -9`: no handler, no cleaning up, no flush."""
    os.kill(os.getpid(), signal.SIGKILL)


def install(place: str, count: int) -> None:
    """Let the count-th commit with something in it be the last."""
    commit = SqliteJournal.commit
    left = count

    def failing(self: SqliteJournal) -> None:
        nonlocal left
        if not self._records:
            return
        left -= 1
        if left or place not in ("before", "within", "after"):
            commit(self)
            return
        if place == "within":
            _write_half(self)
        elif place == "after":
            commit(self)
        die()

    SqliteJournal.commit = failing  # type: ignore[method-assign]


def _write_half(journal: SqliteJournal) -> None:
    connection = journal._connection
    assert isinstance(connection, sqlite3.Connection)
    connection.execute("PRAGMA cache_size = 1")  # pages go to the file before the commit
    connection.execute("BEGIN IMMEDIATE")
    rows, _ = journal._rows_to_write()
    connection.executemany("INSERT INTO records VALUES (?, ?, ?, ?)", rows)


if __name__ == "__main__":
    install(sys.argv[1], int(sys.argv[2]))
    sys.argv[1:] = sys.argv[3:]
    main()
