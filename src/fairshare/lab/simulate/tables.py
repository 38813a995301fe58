"""The report of a simulation as tables, and how they are written: to an SQLite file, or to Parquet
files.

run one row: what holds for the whole run applications one row for each application groups sums by
queue, user and size timeline for each interval, leaf queue and resource: what it used, was due,
wanted

Parquet needs pyarrow, which is an extra: it is imported when it is needed.
"""

import contextlib
import importlib
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from fairshare.errors import FairshareError
from fairshare.lab.simulate.comparison import Group, Run, slowdown, summary
from fairshare.lab.simulate.levels import KINDS
from fairshare.lab.simulate.report import ApplicationReport, Report
from fairshare.wording import cause

Kind = type[int] | type[float] | type[str]


class Table(msgspec.Struct, frozen=True):
    """A table: its columns with their types, and its rows; a value may be None."""

    name: str
    columns: tuple[tuple[str, Kind], ...]
    rows: Sequence[tuple[Any, ...]]


_TIMES: Final = ("p50", "p95", "p99")


def tables(report: Report) -> tuple[Table, ...]:
    """All tables of a report."""
    run = summary("", report)
    return (
        _run(report, run),
        Table("applications", _APPLICATION_COLUMNS, [_application(a) for a in report.applications]),
        Table("groups", _GROUP_COLUMNS, list(_groups(run))),
        Table("timeline", _TIMELINE_COLUMNS, list(_timeline(report))),
    )


def _run(report: Report, run: Run) -> Table:
    containers = msgspec.structs.asdict(report.containers)
    values: dict[str, tuple[Kind, Any]] = {
        "scheduler": (str, report.scheduler),
        "end_ms": (int, report.end_ms),
        "makespan_ms": (int, report.makespan_ms),
        **{f"containers_{kind}": (int, count) for kind, count in containers.items()},
        **{f"utilization_{name}": (float, part) for name, part in report.utilization.items()},
        "jain": (float, run.jain),
        "share_error": (float, run.share_error),
        "longest_wait_ms": (int, run.longest_wait_ms),
        "starved_ms": (int, run.starved_ms),
        "starved_queue": (str, run.starved_queue),
        "lost_gb_hours": (float, run.whole.lost_gb_hours),
        "preempted_gb_hours": (float, run.whole.preempted_gb_hours),
        "on_node": (float, run.whole.on_node),
        "on_rack": (float, run.whole.on_rack),
        "notes": (str, "\n".join(report.notes)),
    }
    columns = tuple((name, kind) for name, (kind, _) in values.items())
    return Table("run", columns, [tuple(value for _, value in values.values())])


_APPLICATION_COLUMNS: Final[tuple[tuple[str, Kind], ...]] = (
    ("id", str),
    ("name", str),
    ("user", str),
    ("queue", str),
    ("state", str),
    ("submitted_ms", int),
    ("waiting_ms", int),
    ("turnaround_ms", int),
    ("slowdown", float),
    ("containers", int),
    ("failed_containers", int),
    ("preempted_containers", int),
    ("lost_mb_ms", int),
    ("preempted_mb_ms", int),
    ("on_node", int),
    ("on_rack", int),
    ("elsewhere", int),
    ("session", int),
    ("diagnostics", str),
)


def _application(application: ApplicationReport) -> tuple[Any, ...]:
    return (
        application.id,
        application.name,
        application.user,
        application.queue,
        application.state,
        application.submitted_ms,
        application.waiting_ms,
        application.turnaround_ms,
        slowdown(application),
        application.containers,
        application.failed_containers,
        application.preempted_containers,
        application.lost_mb_ms,
        application.preempted_mb_ms,
        *(application.near or (None, None, None)),
        application.session,
        application.diagnostics,
    )


_GROUP_COLUMNS: Final[tuple[tuple[str, Kind], ...]] = (
    ("kind", str),
    ("name", str),
    ("applications", int),
    ("rejected", int),
    ("unfinished", int),
    ("preempted", int),
    *((f"wait_{rank}_ms", int) for rank in _TIMES),
    *((f"slowdown_{rank}", float) for rank in _TIMES),
    ("lost_gb_hours", float),
    ("preempted_gb_hours", float),
    ("on_node", float),
    ("on_rack", float),
)


def _groups(run: Run) -> Iterator[tuple[Any, ...]]:
    kinds: tuple[tuple[str, Iterable[Group]], ...] = (
        ("all", (run.whole,)),
        ("queue", run.queues),
        ("user", run.users),
        ("size", run.sizes),
    )
    for kind, groups in kinds:
        for group in groups:
            times = (
                getattr(found, rank, None)
                for found in (group.wait, group.slowdown)
                for rank in _TIMES
            )
            counts = (group.applications, group.rejected, group.unfinished, group.preempted)
            work = (group.lost_gb_hours, group.preempted_gb_hours, group.on_node, group.on_rack)
            yield (kind, group.name, *counts, *times, *work)


_TIMELINE_COLUMNS: Final[tuple[tuple[str, Kind], ...]] = (
    ("at_ms", int),
    ("length_ms", int),
    ("queue", str),
    ("resource", str),
    ("total", float),
    ("used", float),
    *((kind, float) for kind in KINDS),
)


def _timeline(report: Report) -> Iterator[tuple[Any, ...]]:
    for sample in report.timeline:
        for queue, found in sample.queues.items():
            for resource, total in sample.total.items():
                amounts = (getattr(found, kind).get(resource, 0.0) for kind in ("used", *KINDS))
                yield (sample.at_ms, sample.length_ms, queue, resource, float(total), *amounts)


_SQL: Final = {int: "INTEGER", float: "REAL", str: "TEXT"}
NO_PYARROW: Final = "Parquet files need pyarrow: pip install 'fairshare[parquet]'"


class ExportError(FairshareError):
    """A file cannot be written."""


def write_sqlite(path: Path, tables: Sequence[Table]) -> None:
    """Write a new file with these tables, in place of an earlier one. Raises ExportError."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with contextlib.closing(sqlite3.connect(draft)) as connection, connection:
            for table in tables:
                columns = ", ".join(f'"{name}" {_SQL[kind]}' for name, kind in table.columns)
                connection.execute(f"CREATE TABLE {table.name} ({columns})")
                marks = ", ".join("?" * len(table.columns))
                statement = f"INSERT INTO {table.name} VALUES ({marks})"  # noqa: S608 - our names
                connection.executemany(statement, table.rows)
        draft.replace(path)
    except (sqlite3.Error, OSError) as error:
        draft.unlink(missing_ok=True)
        raise ExportError(f"cannot write {path}: {cause(error)}") from error


def check_parquet() -> None:
    """Raise ExportError, with what to install, if Parquet files cannot be written here."""
    _pyarrow()


def write_parquet(directory: Path, tables: Sequence[Table]) -> list[Path]:
    """Write a file for each table to a directory, which is made. Raises ExportError."""
    arrow, parquet = _pyarrow()
    kinds = {int: arrow.int64(), float: arrow.float64(), str: arrow.string()}
    written = []
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for table in tables:
            names = [name for name, _ in table.columns]
            columns = list(zip(*table.rows, strict=True)) or [()] * len(names)
            arrays = [
                arrow.array(column, kinds[kind])
                for column, (_, kind) in zip(columns, table.columns, strict=True)
            ]
            path = directory / f"{table.name}.parquet"
            parquet.write_table(arrow.Table.from_arrays(arrays, names=names), path)
            written.append(path)
    except OSError as error:
        raise ExportError(f"cannot write {directory}: {cause(error)}") from error
    return written


def _pyarrow() -> tuple[Any, Any]:
    try:
        return importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise ExportError(NO_PYARROW) from error
