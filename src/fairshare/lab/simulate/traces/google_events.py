"""Owns the tables of Google's cluster data: events of tasks, machines and users, as records.

Of 2011 (`task_events`, `machine_events`) they are CSV without a header, of 2019 (`instance_events`,
`collection_events`, `machine_events`) JSON lines, whose whole numbers are texts
(https://github.com/google/cluster-data). Each table has many files, in the order of their names.
Knows no jobs.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from fairshare.lab.simulate.traces.rows import DamagedLine, TraceUnreadable, files_in, lines_of

BEGAN_US: Final = 600_000_000
"""When the traces begin; what happened before has the time 0."""
NEVER_US: Final = 2**63 - 1
"""The time of what happens after the end."""

Kind = Literal["submit", "start", "end", "other"]

_KINDS: Final[dict[str, Kind]] = {
    "SUBMIT": "submit",
    "SCHEDULE": "start",
    **dict.fromkeys(("EVICT", "FAIL", "FINISH", "KILL", "LOST"), "end"),
}
_EVENTS_2011: Final = (
    *("SUBMIT", "SCHEDULE", "EVICT", "FAIL", "FINISH", "KILL", "LOST"),
    *("UPDATE_PENDING", "UPDATE_RUNNING"),
)
_EVENTS_2019: Final = (
    *("SUBMIT", "QUEUE", "ENABLE", "SCHEDULE", "EVICT", "FAIL", "FINISH", "KILL", "LOST"),
    *("UPDATE_PENDING", "UPDATE_RUNNING"),
)
_MACHINES: Final = ("EVENT_TYPE_UNKNOWN", "ADD", "REMOVE", "UPDATE")
_NEEDED_2019: Final = frozenset({"time", "type", "collection_id", "instance_index"})
_TASK_COLUMNS: Final = 13
_MACHINE_COLUMNS: Final = 6


class TaskEvent(msgspec.Struct, frozen=True, gc=False):
    """What happened to a task; `cpu` and `memory` are parts of the largest machine."""

    time_us: int
    kind: Kind
    job: str
    task: int
    user: str
    tier: str
    cpu: float
    memory: float


class Machine(msgspec.Struct, frozen=True, gc=False):
    """A machine that joined the cluster; its size is a part of the largest one."""

    time_us: int
    name: str
    cpu: float
    memory: float


class Tables(msgspec.Struct, frozen=True):
    """The files of a trace, those of 2011 or of 2019."""

    year: int
    tasks: list[Path]
    machines: list[Path]
    collections: list[Path]


def tables_in(path: Path) -> Tables | None:
    """The tables in a directory, or the table of tasks that a file is."""
    for year, name, is_one in (
        (2011, "task_events", _is_task_2011),
        (2019, "instance_events", _is_task_2019),
    ):
        tasks = _files(path, name)
        if tasks and is_one(tasks[0]):
            above = path if path.is_dir() else path.parent
            if above.name == name:
                above = above.parent
            machines = _files(above, "machine_events")
            return Tables(year, tasks, machines, _files(above, "collection_events"))
    return None


def _files(path: Path, table: str) -> list[Path]:
    """The files of a table: in a directory of its name, or beside others by their names."""
    if not path.is_dir():
        return [path]
    if (path / table).is_dir():
        return list(files_in(path / table))
    everything = path.name == table
    return [one for one in files_in(path) if everything or one.name.startswith(table)]


def _first(path: Path) -> str:
    try:
        _, first = next(lines_of(path), (1, ""))
    except TraceUnreadable:
        return ""
    return first


def _is_task_2011(path: Path) -> bool:
    columns = _first(path).split(",")
    numbers = (columns[at] for at in (0, 2, 3, 5)) if len(columns) == _TASK_COLUMNS else ("",)
    return all(one.isdigit() for one in numbers)


def _is_task_2019(path: Path) -> bool:
    first = _first(path)
    if not first.startswith("{"):
        return False
    try:
        found = msgspec.json.decode(first)
    except msgspec.DecodeError:
        return False
    return isinstance(found, dict) and found.keys() >= _NEEDED_2019


def task_events(tables: Tables) -> Iterator[tuple[int, TaskEvent]]:
    """The events of tasks, with their lines; those of alloc sets are left out."""
    for path in tables.tasks:
        if tables.year == 2011:
            yield from _parsed(path, _task_2011)
        else:
            yield from _parsed(path, _task_2019)


def machines(tables: Tables) -> Iterator[Machine]:
    """The machines that joined; those whose size is not known are left out."""
    parse = _machine_2011 if tables.year == 2011 else _machine_2019
    return (one for path in tables.machines for _, one in _parsed(path, parse))


def users(tables: Tables) -> Iterator[tuple[str, str]]:
    """Of 2019, jobs and their users."""
    if tables.year == 2019:
        for path in tables.collections:
            for _, found in _parsed(path, _user_2019):
                yield found


def _parsed(path: Path, parse: Callable[[str], Any]) -> Iterator[tuple[int, Any]]:
    for number, line in lines_of(path):
        if not line.strip():
            continue
        try:
            found = parse(line)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            reason = f"has no {error}" if isinstance(error, KeyError) else str(error)
            raise DamagedLine(path, number, reason) from error
        if found is not None:
            yield number, found


def _columns(line: str, count: int) -> list[str]:
    columns = line.split(",")
    if len(columns) != count:
        raise ValueError(f"has {len(columns)} columns, and the format has {count}")
    return columns


def _whole(value: Any, name: str) -> int:
    text = str(value).strip()
    if not (text.isascii() and text.isdigit()) or len(text) > 19:
        raise ValueError(f"{name} is {text[:40]!r}, not a whole number")
    return int(text)


def _part(value: Any, name: str) -> float:
    """A part of the largest machine; 0 if it is not known."""
    if value in ("", None):
        return 0.0
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = math.nan
    if not 0 <= found <= 100:
        raise ValueError(f"{name} is {str(value)[:40]!r}, not a part of a machine")
    return found


def _one_of(value: Any, names: tuple[str, ...], name: str) -> str:
    """A name, or that of its number."""
    if isinstance(value, str) and value in names:
        return value
    found = _whole(value, name)
    if found >= len(names):
        raise ValueError(f"{name} is {found}, and there are {len(names)} of them")
    return names[found]


def _task_2011(line: str) -> TaskEvent:
    columns = _columns(line, _TASK_COLUMNS)
    time, _, job, task, _, kind, user, _, priority, cpu, memory, _, _ = columns
    return TaskEvent(
        _whole(time, "time"),
        _KINDS.get(_one_of(kind, _EVENTS_2011, "event type"), "other"),
        str(_whole(job, "job ID")),
        _whole(task, "task index"),
        user or "unknown",
        _tier_2011(_whole(priority, "priority")),
        _part(cpu, "CPU request"),
        _part(memory, "memory request"),
    )


def _tier_2011(priority: int) -> str:
    return "free" if priority < 2 else "other" if priority < 9 else "production"


def _tier_2019(priority: int) -> str:
    if priority < 100:
        return "free"
    return "batch" if priority < 116 else "mid" if priority < 120 else "production"


def _document(line: str) -> Mapping[str, Any]:
    try:
        found = msgspec.json.decode(line)
    except msgspec.DecodeError as error:
        raise ValueError(f"is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise ValueError("is not a JSON object")
    return found


def _task_2019(line: str) -> TaskEvent | None:
    row = _document(line)
    if str(row.get("collection_type", "0")) not in ("0", "JOB"):
        return None
    asked = row.get("resource_request") or {}
    return TaskEvent(
        _whole(row["time"], "time"),
        _KINDS.get(_one_of(row["type"], _EVENTS_2019, "type"), "other"),
        str(_whole(row["collection_id"], "collection_id")),
        _whole(row["instance_index"], "instance_index"),
        "unknown",
        _tier_2019(_whole(row.get("priority") or 0, "priority")),
        _part(asked.get("cpus"), "cpus"),
        _part(asked.get("memory"), "memory"),
    )


def _user_2019(line: str) -> tuple[str, str] | None:
    row = _document(line)
    user = row.get("user")
    return (str(_whole(row["collection_id"], "collection_id")), str(user)) if user else None


def _machine_2011(line: str) -> Machine | None:
    time, name, kind, _, cpu, memory = _columns(line, _MACHINE_COLUMNS)
    return _joined(time, name, kind == "0", _part(cpu, "CPUs"), _part(memory, "memory"))


def _machine_2019(line: str) -> Machine | None:
    row = _document(line)
    size = row.get("capacity") or {}
    added = _one_of(row["type"], _MACHINES, "type") == "ADD"
    cpu, memory = _part(size.get("cpus"), "cpus"), _part(size.get("memory"), "memory")
    return _joined(row["time"], row["machine_id"], added, cpu, memory)


def _joined(time: Any, name: Any, added: bool, cpu: float, memory: float) -> Machine | None:
    if not (added and cpu and memory):
        return None
    return Machine(_whole(time, "time"), str(_whole(name, "machine ID")), cpu, memory)
