"""Owns Google's cluster data of 2011 and 2019 as a trace: jobs from the events of their tasks.

Sizes are parts of the largest machine, whose hundredth is a vcore and 1 GB here. A task runs as
long as its last run; what evictions destroyed before is left to the scheduler that is simulated.
"""

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec

from fairshare.core.model.resources import MEMORY, VCORES
from fairshare.lab.simulate.traces.google_events import (
    BEGAN_US,
    NEVER_US,
    Tables,
    TaskEvent,
    machines,
    tables_in,
    task_events,
    users,
)
from fairshare.lab.simulate.traces.records import Trace, TraceGroup, TraceJob, TraceNodes, in_order
from fairshare.lab.simulate.traces.rows import TraceUnreadable, left_out
from fairshare.wording import counted

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
    for one in machines(tables):
        if one.time_us > BEGAN_US:
            later.add(one.name)
        elif one.name not in names:
            names.add(one.name)
            classes[one.cpu, one.memory] += 1
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
        _follow(task, event, at_us)
    return jobs, end_us


def _follow(task: _Task, event: TaskEvent, at_us: int) -> None:
    if event.kind == "start":
        task.began_us = at_us
    elif event.kind == "end" and task.began_us >= 0:
        task.run_ms = max(0, at_us - task.began_us) // 1000
        task.began_us = -1
    if not task.cpu and not task.memory:
        task.cpu, task.memory = event.cpu, event.memory
