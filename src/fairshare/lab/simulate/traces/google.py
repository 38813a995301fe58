"""Google's cluster data of 2011 and 2019 as a trace: the tables of events, and jobs from the events
of their tasks.

Of 2011 (`task_events`, `machine_events`) the tables are CSV without a header, of 2019
(`instance_events`, `collection_events`, `machine_events`) JSON lines, whose whole numbers are texts
(https://github.com/google/cluster-data). Each table has many files, in the order of their names.

Sizes are parts of the largest machine, whose hundredth is a vcore and 1 GB here. A task runs as
long as its last run; what evictions destroyed before is left to the scheduler that is simulated.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from fairshare.core.model.resources import MEMORY, VCORES
from fairshare.lab.simulate.traces.records import Trace, TraceGroup, TraceJob, TraceNodes, in_order
from fairshare.lab.simulate.traces.rows import (
    TraceUnreadable,
    damaged,
    files_in,
    left_out,
    lines_of,
)
from fairshare.wording import counted

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
            row = parse(line)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            reason = f"has no {error}" if isinstance(error, KeyError) else str(error)
            damaged(path, number, reason, error)
            continue
        if row is not None:
            yield number, row


def _columns(line: str, count: int) -> list[str]:
    columns = line.split(",")
    if len(columns) != count:
        raise ValueError(f"has {len(columns)} columns, and the format has {count}")
    return columns


def _whole(value: object, name: str) -> int:
    text = str(value).strip()
    if not (text.isascii() and text.isdigit()) or len(text) > 19:
        raise ValueError(f"{name} is {text[:40]!r}, not a whole number")
    return int(text)


def _part(value: Any, name: str) -> float:
    """A part of the largest machine; 0 if it is not known."""
    if value in ("", None):
        return 0.0
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not 0 <= number <= 100:
        raise ValueError(f"{name} is {str(value)[:40]!r}, not a number from 0 to 100")
    return number


def _one_of(value: object, names: tuple[str, ...], name: str) -> str:
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
        document = msgspec.json.decode(line)
    except msgspec.DecodeError as error:
        raise ValueError(f"is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise ValueError("is not a JSON object")
    return document


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


def _joined(time: object, name: object, added: bool, cpu: float, memory: float) -> Machine | None:
    if not (added and cpu and memory):
        return None
    return Machine(_whole(time, "time"), str(_whole(name, "machine ID")), cpu, memory)


MOST_TASKS = 3_000_000
"""Their last runs are in memory until the trace ends: a month of a cell has many more."""
LARGEST = 100
"""The vcores of the largest machine, and its GB."""


def matches(path: Path) -> bool:
    """Whether there are events of tasks."""
    return tables_in(path) is not None


def read(path: Path) -> Trace:
    """Read the events of tasks, and the tables beside them."""
    tables = tables_in(path)
    assert tables is not None
    notes = [
        "Sizes are parts of the largest machine: a hundredth of it is a vcore, and 1 GB.",
        "All tasks of a job arrive with its first one, and each runs as long as its last run.",
    ]
    nodes = _nodes(tables, notes)
    jobs = in_order(_jobs(tables, notes))
    return Trace(f"Google's cluster data of {tables.year}: {path.name}", nodes, jobs, notes)


def size(cpu: float, memory: float) -> dict[str, int]:
    """An amount as a vector, rounded up to whole vcores and MB.

    >>> size(0.0125, 0.25)
    {'memory-mb': 25600, 'vcores': 2}
    """
    memory_mb = max(1, math.ceil(round(memory * LARGEST * 1024, 6)))
    return {MEMORY: memory_mb, VCORES: max(1, math.ceil(round(cpu * LARGEST, 6)))}


def _nodes(tables: Tables, notes: list[str]) -> tuple[TraceNodes, ...]:
    """The machines at the start of the trace, in classes of equal size."""
    names: set[str] = set()
    later: set[str] = set()
    classes: Counter[tuple[float, float]] = Counter()
    for machine in machines(tables):
        if machine.time_us > BEGAN_US:
            later.add(machine.name)
        elif machine.name not in names:
            names.add(machine.name)
            classes[machine.cpu, machine.memory] += 1
    if later - names:
        notes.append(f"Machines that joined later, left out: {len(later - names):,}.")
    return tuple(
        TraceNodes(count, size(cpu, memory), f"machines{number}")
        for number, ((cpu, memory), count) in enumerate(sorted(classes.items()), 1)
    )


class _Task(msgspec.Struct, gc=False):
    """`began_us` is -1 while it does not run, and `run_ms` before its first run has ended."""

    cpu: float
    memory: float
    began_us: int = -1
    run_ms: int = -1


class _Job(msgspec.Struct):
    line: int
    submitted_us: int
    user: str
    tier: str
    tasks: dict[int, _Task] = {}


def _jobs(tables: Tables, notes: list[str]) -> Iterator[tuple[float, TraceJob]]:
    named = dict(users(tables))
    jobs, end_us = _collected(tables)
    cut = never = 0
    for name, job in jobs.items():
        runs: dict[tuple[float, float], list[int]] = {}
        for task in job.tasks.values():
            if task.began_us >= 0:
                cut += 1
                task.run_ms = max(0, end_us - task.began_us) // 1000
            if task.run_ms < 0:
                never += 1
            else:
                runs.setdefault((task.cpu, task.memory), []).append(task.run_ms)
        if runs:
            groups = tuple(
                TraceGroup(f"tasks{number}", len(durations), tuple(durations), size(*asked))
                for number, (asked, durations) in enumerate(runs.items(), 1)
            )
            user = named.get(name, job.user)
            at_s = job.submitted_us / 1_000_000
            yield at_s, TraceJob(job.line, f"job{name}", 0, user, groups, job.tier)
    if cut:
        notes.append(f"Tasks that run when the trace ends, whose run times end with it: {cut:,}.")
    notes += [note.replace("Jobs", "Tasks", 1) for note in left_out({"never ran": never}) if never]


def _collected(tables: Tables) -> tuple[dict[str, _Job], int]:
    """The jobs by name, and when the last event happened."""
    jobs: dict[str, _Job] = {}
    count, end_us = 0, BEGAN_US
    for line, event in task_events(tables):
        if event.time_us == NEVER_US:
            continue
        at_us = max(event.time_us, BEGAN_US)
        end_us = max(end_us, at_us)
        job = jobs.get(event.job)
        if job is None:
            job = jobs[event.job] = _Job(line, at_us, event.user, event.tier)
        task = job.tasks.get(event.task)
        if task is None:
            count += 1
            if count > MOST_TASKS:
                raise TraceUnreadable(
                    f"the trace has more than {counted(MOST_TASKS, 'task')}: give the first files"
                    " of task_events or instance_events alone"
                )
            task = job.tasks[event.task] = _Task(event.cpu, event.memory)
        if event.kind == "start":
            task.began_us = at_us
        elif event.kind == "end" and task.began_us >= 0:
            task.run_ms = max(0, at_us - task.began_us) // 1000
            task.began_us = -1
        if not task.cpu and not task.memory:
            task.cpu, task.memory = event.cpu, event.memory
    return jobs, end_us
