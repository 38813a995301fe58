"""The conversion of a job to an application with groups of tasks.

    map ──> reduce (starts when the fraction `slow_start` of the maps is done) ──> commit

Without speculation and slow start the server runs the groups by itself. With one of them decisions
are needed while the job runs, so that the application has a driver (`fairshare.mapreduce.driver`),
which adds the same groups.
"""

import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import msgspec

from fairshare.api.work import DriverCommand, Master, Submission, TaskGroup
from fairshare.mapreduce.job import COMMIT, MAP, REDUCE, Layout

COMMIT_MEMORY_MB = 256
DRIVER_RESOURCES = {"memory-mb": 256, "vcores": 1}

SLOTS = {MAP: "map-slots", REDUCE: "reduce-slots", COMMIT: "map-slots"}
"""The slot type of each kind of task, if the cluster has this resource type. A commit uses a map
slot, as the cleanup tasks of the original MapReduce."""

PRIORITIES = {"VERY_HIGH": 5, "HIGH": 4, "NORMAL": 3, "LOW": 2, "VERY_LOW": 1}
"""The priorities of MapReduce jobs, as priorities of YARN applications."""


class Needs(msgspec.Struct, frozen=True, kw_only=True):
    """The resources and the maximum attempts of a job's tasks."""

    memory_mb: int = 1024
    reduce_memory_mb: int = 1024
    vcores: int = 1
    max_attempts: int = 4
    time_limit_ms: int | None = None
    slow_start: float = 1.0
    speculative: bool = False
    speculation_delay_ms: int = 10_000
    hosts: tuple[str, ...] = ()
    environment: dict[str, str] = {}


class Plan(msgspec.Struct, frozen=True):
    """The groups that a driver adds, and the settings of its decisions."""

    groups: tuple[TaskGroup, ...]
    speculative: bool
    speculation_delay_ms: int

    def write(self, layout: Layout) -> None:
        """Write the plan for the driver."""
        plan_file(layout).write_bytes(msgspec.json.encode(self))

    @classmethod
    def read(cls, layout: Layout) -> "Plan":
        """Read the plan of a job."""
        return msgspec.json.decode(plan_file(layout).read_bytes(), type=cls)


def plan_file(layout: Layout) -> Path:
    """The path of a job's plan for its driver."""
    return layout.temporary / "plan.json"


def program(module: str, output: Path, *arguments: str) -> tuple[str, ...]:
    """The command that runs a module of this package with the current interpreter."""
    return (sys.executable, "-P", "-m", f"fairshare.mapreduce.{module}", str(output), *arguments)


def groups_of(
    output: Path, maps: int, reduces: int, needs: Needs, types: Collection[str]
) -> tuple[TaskGroup, ...]:
    """The groups of tasks of a job; `types` are the cluster's resource types."""

    def group(
        kind: str, count: int, memory_mb: int, after: str | None, **more: object
    ) -> TaskGroup:
        resources = {"memory-mb": memory_mb, "vcores": needs.vcores}
        if SLOTS[kind] in types:
            resources[SLOTS[kind]] = 1
        return msgspec.convert(
            {
                "name": kind,
                "count": count,
                "resources": resources,
                "arguments": program("task", output, kind),
                "environment": needs.environment,
                "max_attempts": needs.max_attempts,
                "time_limit_ms": needs.time_limit_ms,
                "after": (after,) if after else (),
                **more,
            },
            TaskGroup,
        )

    groups = []
    last = None
    if maps:
        groups.append(group(MAP, maps, needs.memory_mb, None, priority=1, hosts=needs.hosts))
        last = MAP
    if reduces:
        start = needs.slow_start
        memory_mb = needs.reduce_memory_mb
        groups.append(group(REDUCE, reduces, memory_mb, last, priority=2, slow_start=start))
        last = REDUCE
    commit_mb = min(COMMIT_MEMORY_MB, needs.memory_mb)
    groups.append(group(COMMIT, 1, commit_mb, last, priority=3))
    return tuple(groups)


def needs_driver(needs: Needs) -> bool:
    """Whether the job needs decisions while it runs.

    Reduces that start early wait in their containers for maps, which may then lack room.
    """
    return needs.speculative or needs.slow_start < 1.0


def submission_of(
    output: Path,
    groups: tuple[TaskGroup, ...],
    needs: Needs,
    job: Mapping[str, Any],
) -> Submission:
    """The application; `job` has further fields of the submission, such as user and queue."""
    if needs_driver(needs):
        driver = DriverCommand(arguments=program("driver", output), environment=needs.environment)
        work: dict[str, Any] = {
            "driver": driver,
            "master": Master(resources=dict(DRIVER_RESOURCES)),
        }
        return Submission(**job, **work)
    return Submission(**job, tasks=groups)


def priority_of(text: str | int) -> int:
    """The number of a priority; raises ValueError.

    >>> priority_of("HIGH"), priority_of("very-low"), priority_of("7")
    (4, 1, 7)
    """
    if isinstance(text, int):
        return text
    name = text.strip().upper().replace("-", "_")
    if name in PRIORITIES:
        return PRIORITIES[name]
    try:
        return int(text)
    except ValueError:
        raise ValueError(
            f"{text!r} is not a priority: write {', '.join(PRIORITIES)}, or a whole number"
        ) from None
