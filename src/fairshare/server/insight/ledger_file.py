"""The file of the ledger, STATE/ledger.sqlite3: its tables, how rows get there, and questions.

    amounts     sums by hour, leaf queue, user, partition, resource type and kind (`LedgerRow`)
    totals      sums of all rows since the file began, without hours and users, for metrics; of
                queues that have rows
    progress    the last record that is in it, up to which instant it is complete, and since when
    gaps        spans within it of which nothing is known: the journal no longer had their records

Rows and progress change together: what is written is there once, whenever the writer ends. The
journal is the source; nothing else depends on the file.
"""

import sqlite3
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

import msgspec

from fairshare.api.ledger import LEDGER_GROUPS, Ledger, LedgerGap, LedgerLine
from fairshare.documents.ready import ready
from fairshare.errors import InputError
from fairshare.runtime.journal.sqlite import bytes_in_use
from fairshare.server.insight.ledger import HOUR_MS, OWED, LedgerRow
from fairshare.server.insight.owed import OwedCause
from fairshare.server.side_file import SideFile, open_side_file_for_reading

FILE: Final = "ledger.sqlite3"
FORMAT: Final = 2
KEPT_DAYS: Final = 400
MOST_BYTES: Final = 1024**3
MOST_LINES: Final = 100_000
TIME_LIMIT_S: Final = 10.0
NOT_YET: Final = "there is no ledger yet: a server begins it about a minute after its start"
_STEPS: Final = 100_000
_DAY_MS: Final = 86_400_000

GAPS: Final = "CREATE TABLE gaps (since_ms INTEGER PRIMARY KEY, until_ms INTEGER);"
CHANGES: Final = {2: GAPS}
TABLES: Final = f"""
CREATE TABLE amounts (
    hour_ms INTEGER, queue TEXT, user TEXT, label TEXT, resource TEXT, kind TEXT, amount INTEGER,
    PRIMARY KEY (hour_ms, queue, user, label, resource, kind)
) WITHOUT ROWID;
CREATE TABLE totals (
    queue TEXT, resource TEXT, kind TEXT, amount INTEGER, PRIMARY KEY (queue, resource, kind)
) WITHOUT ROWID;
CREATE TABLE progress (
    one INTEGER PRIMARY KEY, epoch_ms INTEGER, sequence INTEGER, now_ms INTEGER, begin_ms INTEGER
);
{GAPS}
"""
_ADD: Final = """
INSERT INTO amounts VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET amount = amount + excluded.amount
"""
_ADD_TOTAL: Final = """
INSERT INTO totals VALUES (?, ?, ?, ?)
ON CONFLICT DO UPDATE SET amount = amount + excluded.amount
"""


class Progress(msgspec.Struct, frozen=True):
    """How far a ledger has come: up to which record of which journal, and which instant; and when
    it begins."""

    epoch_ms: int
    sequence: int
    now_ms: int
    begin_ms: int


def add_rows(connection: sqlite3.Connection, rows: Sequence[LedgerRow], progress: Progress) -> None:
    """Add what is new, up to a record."""
    connection.executemany(_ADD, rows)
    totals = Counter[tuple[str, str, str]]()
    for row in rows:
        totals[row.queue, row.resource, row.kind] += row.amount
    connection.executemany(_ADD_TOTAL, ((*key, amount) for key, amount in totals.items()))
    connection.execute(
        "INSERT OR REPLACE INTO progress VALUES (1, ?, ?, ?, ?)",
        msgspec.structs.astuple(progress),
    )


def add_gap(connection: sqlite3.Connection, since_ms: int, until_ms: int) -> None:
    """Note that nothing is known of a span."""
    connection.execute("INSERT OR REPLACE INTO gaps VALUES (?, ?)", (since_ms, until_ms))


def progress_of(connection: sqlite3.Connection) -> Progress | None:
    """How far a ledger has come; None: it is empty."""
    row = connection.execute("SELECT epoch_ms, sequence, now_ms, begin_ms FROM progress").fetchone()
    return None if row is None else Progress(*row)


class LedgerFile(SideFile):
    """The file, open for writing. Raises SideFileError, sqlite3.Error."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory / FILE, FORMAT, TABLES, CHANGES)

    def progress(self) -> Progress | None:
        """How far it has come."""
        with self._transaction() as connection:
            return progress_of(connection)

    def add_gap(self, since_ms: int, until_ms: int) -> None:
        """Note that nothing is known of a span."""
        with self._transaction() as connection:
            add_gap(connection, since_ms, until_ms)

    def add(self, rows: Sequence[LedgerRow], progress: Progress) -> None:
        """Add what is new, and let go what is too old."""
        oldest_ms = progress.now_ms - KEPT_DAYS * _DAY_MS
        with self._transaction() as connection:
            add_rows(connection, rows, progress)
            old = connection.execute("DELETE FROM amounts WHERE hour_ms < ?", (oldest_ms,))
            gone = old.rowcount
            if bytes_in_use(connection) > MOST_BYTES:
                (first,) = connection.execute("SELECT min(hour_ms) FROM amounts").fetchone()
                if first is not None:
                    cut_ms = first + max(HOUR_MS, (progress.now_ms - first) // 10)
                    connection.execute("DELETE FROM amounts WHERE hour_ms < ?", (cut_ms,))
                gone += 1
            if gone:  # users who make queues make no more totals than there is room for amounts
                connection.execute(
                    "DELETE FROM totals WHERE queue NOT IN (SELECT DISTINCT queue FROM amounts)"
                )


def copied_ledger(directory: Path) -> sqlite3.Connection:
    """A copy in memory of the ledger of a state directory; an empty one if there is none. Raises
    sqlite3.Error."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    if (directory / FILE).exists():
        with closing(open_side_file_for_reading(directory / FILE)) as source:
            source.backup(connection)
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    steps = [CHANGES[one] for one in range(version + 1, FORMAT + 1)] if version else [TABLES]
    connection.executescript("\n".join(steps))
    return connection


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A question: whole hours of which a part is after `since_ms` and before `until_ms`, of a queue
    and those below it, of a user; divided by some of LEDGER_GROUPS."""

    since_ms: int
    until_ms: int
    queue: str | None = None
    user: str | None = None
    by: tuple[str, ...] = ("queue",)


def answer_from(connection: sqlite3.Connection, asked: Asked, queues: Sequence[str]) -> Ledger:
    """The answer to a question; `queues` are those that exist now.

    Raises InputError: `no-ledger`, `before-the-ledger`, `after-the-ledger`, `no-such-queue`,
    `no-such-user`, `too-long`.
    """
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_schema")}
    progress = progress_of(connection) if "progress" in tables else None
    if progress is None:
        raise InputError("no-ledger", NOT_YET)
    first = connection.execute("SELECT min(hour_ms) FROM amounts").fetchone()[0]
    begin_ms = progress.begin_ms if first is None else max(progress.begin_ms, first)
    if asked.until_ms <= begin_ms - begin_ms % HOUR_MS:
        raise InputError(
            "before-the-ledger",
            f"the ledger begins at {_instant(begin_ms)}: nothing is known of a time before",
        )
    if asked.since_ms - asked.since_ms % HOUR_MS > progress.now_ms:
        raise InputError(
            "after-the-ledger",
            f"the ledger goes up to {_instant(progress.now_ms)}: nothing is known of a later time",
        )
    until_s = time.monotonic() + TIME_LIMIT_S
    connection.set_progress_handler(lambda: time.monotonic() > until_s, _STEPS)
    try:
        lines, more = _lines(connection, asked)
        gaps = _gaps(connection, asked) if "gaps" in tables else ()
        if not lines:
            _check_names(connection, asked, queues)
    except sqlite3.OperationalError as error:
        if time.monotonic() <= until_s:
            raise
        raise InputError(
            "too-long", "the ledger is too large for this question: ask for a shorter period"
        ) from error
    finally:
        connection.set_progress_handler(None, 0)
    return Ledger(
        by=asked.by,
        since_ms=asked.since_ms,
        until_ms=asked.until_ms,
        begin_ms=begin_ms,
        complete_ms=progress.now_ms,
        causes={one.value: one.words for one in OwedCause},
        lines=lines,
        more=more,
        gaps=gaps,
    )


def _gaps(connection: sqlite3.Connection, asked: Asked) -> tuple[LedgerGap, ...]:
    rows = connection.execute(
        "SELECT since_ms, until_ms FROM gaps WHERE since_ms < ? AND until_ms > ? ORDER BY 1",
        (asked.until_ms, asked.since_ms),
    )
    return tuple(LedgerGap(*row) for row in rows)


def _instant(at_ms: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(at_ms / 1_000))


_COLUMNS: Final = dict(zip(LEDGER_GROUPS, ("hour_ms", "queue", "user", "label"), strict=True))


def _whole(queue: str) -> str:
    return queue if queue == "root" or queue.startswith("root.") else f"root.{queue}"


def _lines(connection: sqlite3.Connection, asked: Asked) -> tuple[tuple[LedgerLine, ...], bool]:
    where, values = "hour_ms > ? AND hour_ms < ?", [asked.since_ms - HOUR_MS, asked.until_ms]
    names: list[str | int] = []
    if asked.queue is not None:
        queue = _whole(asked.queue)
        where += " AND (queue = ? OR substr(queue, 1, ?) = ?)"
        names += [queue, len(queue) + 1, f"{queue}."]
    if asked.user is not None:
        where += " AND user = ?"
        names.append(asked.user)
    columns = [_COLUMNS[name] for name in LEDGER_GROUPS if name in asked.by]
    group = ", ".join([*columns, "resource"])
    rows = connection.execute(
        f"SELECT {group}, kind, sum(amount) FROM amounts WHERE {where}"  # noqa: S608 - of constants
        f" GROUP BY {group}, kind ORDER BY {group}",
        (*values, *names),
    )
    kinds: dict[tuple[object, ...], dict[str, int]] = {}
    for *key, kind, amount in rows:
        if tuple(key) not in kinds and len(kinds) == MOST_LINES:
            return tuple(_line(columns, *one) for one in kinds.items()), True
        kinds.setdefault(tuple(key), {})[kind] = amount
    return tuple(_line(columns, *one) for one in kinds.items()), False


def _line(columns: Sequence[str], key: tuple[object, ...], kinds: dict[str, int]) -> LedgerLine:
    owed = {
        kind.removeprefix(OWED): amount for kind, amount in kinds.items() if kind.startswith(OWED)
    }
    parts = {kind: kinds.get(kind, 0) for kind in ("delivered", "borrowed", "lent", "idle")}
    within = parts["delivered"] - parts["borrowed"]
    found = {
        **dict(zip((*columns, "resource"), key, strict=True)),
        **parts,
        "entitled": within + parts["lent"] + parts["idle"] + sum(owed.values()),
        "owed": dict(sorted(owed.items(), key=lambda one: (-one[1], one[0]))),
    }
    return msgspec.convert(found, ready(LedgerLine))


def _check_names(connection: sqlite3.Connection, asked: Asked, queues: Sequence[str]) -> None:
    """Raise InputError for a queue or a user of which the whole ledger knows nothing."""
    if asked.queue is not None:
        name = _whole(asked.queue)
        row = connection.execute(
            "SELECT 1 FROM amounts WHERE queue = ? OR substr(queue, 1, ?) = ? LIMIT 1",
            (name, len(name) + 1, f"{name}."),
        ).fetchone()
        if row is None and name not in queues:
            raise InputError(
                "no-such-queue",
                f"the ledger knows no queue '{name}': `fairshare ledger` lists all of them",
            )
    if asked.user is not None:
        row = connection.execute(
            "SELECT 1 FROM amounts WHERE user = ? LIMIT 1", (asked.user,)
        ).fetchone()
        if row is None:
            raise InputError(
                "no-such-user",
                f"the ledger knows no user '{asked.user}' that had or was owed anything",
            )


def ask_file(directory: Path, asked: Asked, queues: Sequence[str]) -> Ledger:
    """The answer from the file of a state directory. Raises InputError: those of `answer_from`, and
    `ledger-unreadable`."""
    if not (directory / FILE).exists():
        raise InputError("no-ledger", NOT_YET)
    try:
        with closing(open_side_file_for_reading(directory / FILE)) as connection:
            return answer_from(connection, asked, queues)
    except sqlite3.Error as error:
        raise InputError(
            "ledger-unreadable", f"the ledger cannot be read: {error}; the server's log says more"
        ) from error


def totals_of(directory: Path, most_queues: int) -> list[tuple[str, str, str, int]]:
    """What leaf queues were owed since the file began: queue, resource type, cause, units x ms; of
    the queues that were owed most. Nothing where the file cannot be read."""
    if not (directory / FILE).exists():
        return []
    try:
        with closing(open_side_file_for_reading(directory / FILE)) as connection:
            rows = connection.execute(
                "SELECT queue, resource, substr(kind, 6), amount FROM totals"
                " WHERE substr(kind, 1, 5) = 'owed:' AND queue IN (SELECT queue FROM totals"
                " WHERE substr(kind, 1, 5) = 'owed:' GROUP BY queue ORDER BY sum(amount) DESC"
                " LIMIT ?) ORDER BY 1, 2, 3",
                (most_queues,),
            )
            return list(rows)
    except sqlite3.Error:
        return []
