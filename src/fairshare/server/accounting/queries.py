"""What is read from the accounts: lists of ended applications and containers, and reports.

Each question opens the file for itself, and is asked in a thread. Months and days are those of the
server's time zone.
"""

import contextlib
import sqlite3
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import msgspec

from fairshare.api.accounting import PastApplication, PastContainer, ReportRow, Use
from fairshare.core.model.identifiers import application_name, container_name
from fairshare.errors import InputError
from fairshare.runtime.projections.container_history import outcome
from fairshare.server.accounting.ledger import FILE, failed, measured, open_for_reading

Record = TypeVar("Record", bound=msgspec.Struct)

MAX_DAYS: Final = 100
MAX_MONTHS: Final = 1_200
"""The maximum number of days or months of a report."""


class Period(msgspec.Struct, frozen=True):
    """A month, a day, or any other period; `end_ms` is not within."""

    label: str
    start_ms: int
    end_ms: int


def divided(since_ms: int, until_ms: int, unit: Literal["month", "day"]) -> list[Period]:
    """The months or days of a period; the first and the last may be cut. Raises ValueError if
    there are too many.

    >>> [one.label for one in divided(1_790_000_000_000, 1_796_000_000_000, "month")]
    ['2026-09', '2026-10', '2026-11']
    """
    most = MAX_MONTHS if unit == "month" else MAX_DAYS
    periods: list[Period] = []
    start_ms = since_ms
    while start_ms < until_ms:
        if len(periods) == most:
            raise ValueError(f"the period has more than {most} {unit}s: ask for a shorter one")
        # As clocks on the wall show it.
        moment = datetime.fromtimestamp(start_ms / 1_000, UTC).astimezone().replace(tzinfo=None)
        day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
        if unit == "month":
            label = f"{moment:%Y-%m}"
            following = (day.replace(day=1) + timedelta(days=32)).replace(day=1)
        else:
            label = f"{moment:%Y-%m-%d}"
            following = day + timedelta(days=1)
        end_ms = min(until_ms, round(following.timestamp() * 1_000))
        periods.append(Period(label, start_ms, end_ms))
        start_ms = end_ms
    return periods


MAX_ROWS: Final = 100_000
"""The most rows of one answer."""
MAX_GROUPS: Final = 10_000
MAX_NODES: Final = 16
TIME_LIMIT_S: Final = 20.0
_STEPS: Final = 100_000
"""The number of SQLite's steps between two readings of the clock."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """The ends that are asked for: those that fit all fields. `since_ms` is included, `until_ms`
    is not. A queue includes all below it."""

    user: str | None = None
    queue: str | None = None
    tag: str | None = None
    name: str | None = None
    states: tuple[str, ...] = ()
    application: tuple[int, int] | None = None  # epoch_ms and number
    since_ms: int = 0
    until_ms: int = 2**62


def past_applications(
    directory: Path, wanted: Wanted, limit: int
) -> list[tuple[PastApplication, str | None]]:
    """The applications, the last to end first, each with its list of users that may view it."""
    where, values = _applications_where(wanted)
    statement = (
        "SELECT a.*, (SELECT json_group_array(tag) FROM tags AS t"  # noqa: S608 - our own text
        " WHERE t.epoch_ms = a.epoch_ms AND t.application = a.application) AS tags"
        f" FROM applications AS a WHERE a.ended_ms IS NOT NULL AND {where}"
        " AND a.ended_ms >= ? AND a.ended_ms < ?"
        " ORDER BY a.ended_ms DESC, a.epoch_ms DESC, a.application DESC LIMIT ?"
    )
    bounds = (wanted.since_ms, wanted.until_ms, limit)
    with _rows(directory, statement, (*values, *bounds)) as rows:
        return [(_application(row), row["view_acl"]) for row in rows]


def past_containers(directory: Path, wanted: Wanted, limit: int) -> list[PastContainer]:
    """The containers of the applications that fit, the last to end first."""
    where, values = _applications_where(wanted, queue_of="c")
    statement = (
        "SELECT c.*, a.user FROM containers AS c"  # noqa: S608 - our own text
        " JOIN applications AS a USING (epoch_ms, application)"
        f" WHERE {where} AND c.ended_ms >= ? AND c.ended_ms < ?"
        " ORDER BY c.ended_ms DESC, c.epoch_ms DESC, c.container DESC LIMIT ?"
    )
    bounds = (wanted.since_ms, wanted.until_ms, limit)
    with _rows(directory, statement, (*values, *bounds)) as rows:
        return [_container(row) for row in rows]


_COLUMNS: Final = {
    "user": "a.user",
    "queue": "c.queue",
    "tag": "coalesce(t.tag, '')",
    "name": "a.name",
    "state": "CASE a.cause WHEN '' THEN a.state ELSE a.cause END",
    "node": "c.node",
    "month": "p.label",
    "day": "p.label",
}


def report_rows(
    directory: Path, wanted: Wanted, by: Sequence[str], periods: Sequence[Period]
) -> list[ReportRow]:
    """The sums of each group, the most memory first; months and days in the order of time.

    A container that lies partly in a period counts there with that part of its time, and with the
    same part of its CPU time. An application with several tags counts for each of them.
    """
    where, values = _applications_where(wanted, queue_of="c")
    columns = ", ".join(_COLUMNS[name] for name in by)
    tags = "LEFT JOIN tags AS t USING (epoch_ms, application)" if "tag" in by else ""
    marks = ", ".join(["(?, ?, ?)"] * len(periods))
    timed = [f"{n}" for n, name in enumerate(by, 1) if name in ("month", "day")]
    order = ", ".join([*timed, f"{len(by) + 6} DESC", *map(str, range(1, len(by) + 1))])
    part = "max(0, min(c.ended_ms, p.end_ms) - max(c.allocated_ms, p.start_ms))"
    # A container that ended in the millisecond in which it was allocated lies in one period, whole.
    share = (
        f"(CASE WHEN c.ended_ms > c.allocated_ms"
        f" THEN {part} * 1.0 / (c.ended_ms - c.allocated_ms) ELSE 1.0 END)"
    )
    weight = f"({measured('c')} * {share} * (c.ended_ms - c.started_ms))"
    statement = f"""
        WITH p (label, start_ms, end_ms) AS (VALUES {marks})
        SELECT {columns}, count(DISTINCT c.epoch_ms || '.' || c.application),
            count(*), sum({failed("c")}), sum(c.exit_code = -102), sum({weight} * c.vcores),
            sum({part} * c.memory_mb), sum({part} * c.vcores), sum({part} * c.gpus),
            sum({share} * c.cpu_ms), sum({weight} * c.memory_mb),
            sum({weight} * c.peak_memory_mb), sum({measured("c")} * {share} * c.cpu_ms)
        FROM p CROSS JOIN containers AS c
        JOIN applications AS a USING (epoch_ms, application) {tags}
        WHERE {where} AND c.ended_ms >= p.start_ms AND c.allocated_ms < p.end_ms
            AND (c.ended_ms > p.start_ms OR c.allocated_ms >= p.start_ms)
        GROUP BY {columns} ORDER BY {order} LIMIT {MAX_GROUPS + 1}
    """  # noqa: S608 - our own text
    flat = [value for one in periods for value in (one.label, one.start_ms, one.end_ms)]
    with _rows(directory, statement, (*flat, *values)) as rows:
        report = [_report_row(tuple(row), len(by)) for row in rows]
    if len(report) > MAX_GROUPS:
        raise InputError(
            "bad-request", f"the report has more than {MAX_GROUPS} rows: ask for a shorter period"
        )
    return report


def _report_row(row: tuple[Any, ...], names: int) -> ReportRow:
    (
        applications,
        containers,
        failed,
        preempted,
        measured_vcore_ms,
        memory_mb_ms,
        vcore_ms,
        gpu_ms,
        cpu_ms,
        measured_memory_mb_ms,
        used_memory_mb_ms,
        measured_cpu_ms,
    ) = row[names:]
    return ReportRow(
        group=tuple(str(value) for value in row[:names]),
        applications=applications,
        containers=containers,
        failed=failed,
        preempted=preempted,
        memory_mb_seconds=round(memory_mb_ms / 1_000),
        vcore_seconds=round(vcore_ms / 1_000),
        gpu_seconds=round(gpu_ms / 1_000),
        cpu_seconds=round(cpu_ms / 1_000, 3),
        cpu_efficiency=_cpu_efficiency(measured_cpu_ms, measured_vcore_ms),
        memory_efficiency=_ratio(used_memory_mb_ms, measured_memory_mb_ms),
    )


def _applications_where(wanted: Wanted, queue_of: str = "a") -> tuple[str, list[object]]:
    """The condition on applications, and its values. `queue_of` is the table whose queue counts:
    a container counts for the queue in which it ended."""
    parts = ["1"]
    values: list[object] = []
    for column, value in (("a.user", wanted.user), ("a.name", wanted.name)):
        if value is not None:
            parts.append(f"{column} = ?")
            values.append(value)
    if wanted.queue is not None:
        queue = wanted.queue
        whole = queue if queue == "root" or queue.startswith("root.") else f"root.{queue}"
        parts.append(f"({queue_of}.queue = ? OR substr({queue_of}.queue, 1, ?) = ?)")
        values += [whole, len(whole) + 1, f"{whole}."]
    if wanted.tag is not None:
        parts.append(
            "EXISTS (SELECT 1 FROM tags AS w WHERE w.epoch_ms = a.epoch_ms"
            " AND w.application = a.application AND w.tag = ?)"
        )
        values.append(wanted.tag)
    if wanted.states:
        marks = ", ".join("?" * len(wanted.states))
        parts.append(f"(a.state IN ({marks}) OR a.cause IN ({marks}))")
        values += (*wanted.states, *wanted.states)
    if wanted.application is not None:
        parts.append("a.epoch_ms = ? AND a.application = ?")
        values += wanted.application
    return " AND ".join(parts), values


@contextlib.contextmanager
def _rows(
    directory: Path, statement: str, values: Sequence[object]
) -> Iterator[Iterator[sqlite3.Row]]:
    """The rows of a question; none where there are no accounts yet.

    Raises InputError: `too-long` where it takes more than TIME_LIMIT_S, `no-accounts` where the
    file cannot be read.
    """
    if not (directory / FILE).exists():
        yield iter(())
        return
    until_s = time.monotonic() + TIME_LIMIT_S
    try:
        with contextlib.closing(open_for_reading(directory)) as connection:
            connection.row_factory = sqlite3.Row
            connection.set_progress_handler(lambda: time.monotonic() > until_s, _STEPS)
            yield connection.execute(statement, tuple(values))
    except sqlite3.Error as error:
        if time.monotonic() > until_s:
            raise InputError(
                "too-long", "the accounts are too many for one question: ask for a shorter period"
            ) from error
        raise InputError(
            "no-accounts", f"the accounts cannot be read: {error}; the server's log says more"
        ) from error


def _made_of(row: sqlite3.Row, record: type[Record], **others: object) -> Record:
    """A record with the columns of a row that have the names of its fields, and other fields."""
    columns = {name: one for name, one in dict(row).items() if name in record.__struct_fields__}
    return record(**(columns | others))


def _application(row: sqlite3.Row) -> PastApplication:
    use = Use(
        containers=row["containers"],
        failed=row["failed"],
        preempted=row["preempted"],
        memory_mb_seconds=round(row["memory_mb_ms"] / 1_000),
        vcore_seconds=round(row["vcore_ms"] / 1_000),
        gpu_seconds=round(row["gpu_ms"] / 1_000),
        cpu_seconds=row["cpu_ms"] / 1_000,
        cpu_efficiency=_cpu_efficiency(row["cpu_ms"], row["measured_vcore_ms"]),
        memory_efficiency=_ratio(row["used_memory_mb_ms"], row["measured_memory_mb_ms"]),
    )
    nodes = tuple((row["nodes"] or "").split(",")[:MAX_NODES]) if row["nodes"] else ()
    return _made_of(
        row,
        PastApplication,
        **msgspec.structs.asdict(use),
        id=application_name(row["epoch_ms"], row["application"]),
        tags=msgspec.json.decode(row["tags"], type=tuple[str, ...]),
        nodes=nodes,
    )


def _container(row: sqlite3.Row) -> PastContainer:
    return _made_of(
        row,
        PastContainer,
        id=container_name(row["epoch_ms"], row["container"]),
        application=application_name(row["epoch_ms"], row["application"]),
        group=row["task_group"],
        task=row["task_index"] if row["task_index"] >= 0 else None,
        master=bool(row["master"]),
        started_ms=row["started_ms"] or None,
        outcome=outcome(row["exit_code"], bool(row["timed_out"])),
        cpu_seconds=row["cpu_ms"] / 1_000,
    )


def _cpu_efficiency(cpu_ms: float, vcore_ms: float) -> float | None:
    """None for less than a second of a vcore: processor time is measured in hundredths of a second,
    and a task that fails at once would have used 600 % of what it had."""
    return _ratio(cpu_ms, vcore_ms) if vcore_ms >= 1_000 else None


def _ratio(used: float, granted: float) -> float | None:
    return round(used / granted, 4) if granted else None
