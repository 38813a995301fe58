"""Owns two traces of clusters for training: Philly's jobs, and the demand of Helios' virtual
clusters.

Both have GPUs alone: each comes with 1 vcore and 1 GB. Philly's table is the flat one that
simulators of training share; Helios' jobs were too large to publish here, so that its demand every
15 minutes becomes jobs: a rise is an arrival, and a fall ends the oldest GPUs.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path

from fairshare.model.resources import MEMORY, VCORES
from fairshare.simulate.traces.records import GPU, Trace, TraceGroup, TraceJob, TraceNodes
from fairshare.simulate.traces.rows import (
    files_in,
    header_of,
    in_order,
    number,
    parsed,
    rows_of,
    seconds_of,
    whole,
)

PHILLY = frozenset({"timestamp", "duration", "num_gpus", "cluster"})
PHILLY_NODES = ("vc", "node num")
DEMAND = frozenset({"time", "vc", "vc_gpus", "running_gpus", "pending_gpus"})
PER_NODE = 8
ALONE = "The trace has GPUs alone: each comes with 1 vcore and 1 GB."


def _file(path: Path, columns: frozenset[str]) -> Path | None:
    return next((one for one in files_in(path) if columns <= set(header_of(one))), None)


def with_cpus(gpus: int) -> dict[str, int]:
    """GPUs, and what comes with them."""
    return {MEMORY: 1024 * gpus, VCORES: gpus, GPU: gpus}


def groups_of(gpus: int, run_ms: int) -> tuple[TraceGroup, ...]:
    """A job of several nodes starts as a whole, with all GPUs of each node but the last."""
    count, rest = divmod(gpus, PER_NODE)
    gang = gpus > PER_NODE
    full = (TraceGroup("workers", count, run_ms, with_cpus(PER_NODE), gang=gang),) if count else ()
    return (*full, TraceGroup("rest", 1, run_ms, with_cpus(rest))) if rest else full


def is_philly(path: Path) -> bool:
    """Whether there is a table of Philly's jobs."""
    return _file(path, PHILLY) is not None


def read_philly(path: Path) -> Trace:
    """Read jobs, and the sizes of virtual clusters beside them."""
    file = _file(path, PHILLY)
    assert file is not None
    sizes = [one for one in files_in(file.parent) if header_of(one) == PHILLY_NODES]
    count = sum(whole(row, "node num") for one in sizes for _, row in rows_of(one))
    nodes = (TraceNodes(count, with_cpus(PER_NODE)),) if count else ()
    return Trace(f"Philly: {file.name}", nodes, in_order(_philly_jobs(file)), [ALONE])


def _philly_jobs(file: Path) -> Iterator[tuple[float, TraceJob]]:
    def job(row: Mapping[str, str]) -> tuple[float, tuple[TraceGroup, ...], str]:
        gpus = max(1, whole(row, "num_gpus"))
        groups = groups_of(gpus, round(number(row, "duration") * 1000))
        return seconds_of(row["timestamp"]), groups, row["cluster"]

    for line, (at_s, groups, cluster) in parsed(file, rows_of(file), job):
        yield at_s, TraceJob(line, f"job{line - 1}", 0, cluster, groups, cluster)


def is_demand(path: Path) -> bool:
    """Whether there is a table of demand."""
    return _file(path, DEMAND) is not None


def read_demand(path: Path) -> Trace:
    """Read the demand of virtual clusters."""
    file = _file(path, DEMAND)
    assert file is not None
    quotas: dict[str, int] = {}
    for _, (_, name, _, quota) in parsed(file, rows_of(file), _step):
        quotas[name] = max(quota, quotas.get(name, 0))
    count = -(-sum(quotas.values()) // PER_NODE)
    notes = [
        ALONE,
        "The trace has demand alone: a rise is a job of that many GPUs, a fall ends the oldest.",
    ]
    nodes = (TraceNodes(count, with_cpus(PER_NODE)),)
    return Trace(f"Helios' demand: {file.name}", nodes, in_order(_demand_jobs(file)), notes)


def _step(row: Mapping[str, str]) -> tuple[float, str, int, int]:
    demand = whole(row, "running_gpus") + whole(row, "pending_gpus")
    return seconds_of(row["time"]), row["vc"], demand, whole(row, "vc_gpus")


def _demand_jobs(file: Path) -> Iterator[tuple[float, TraceJob]]:
    """Each GPU is a task, whose duration is known when the demand has fallen."""
    steps = sorted(
        (
            (at_s, name, demand, line)
            for line, (at_s, name, demand, _) in parsed(file, rows_of(file), _step)
        ),
    )
    last_s = steps[-1][0] if steps else 0.0
    open_of: dict[str, deque[tuple[int, float]]] = {}
    begun: list[tuple[int, float, str, int, list[int]]] = []
    for at_s, name, demand, line in steps:
        running = open_of.setdefault(name, deque())
        if demand > len(running):
            more = demand - len(running)
            running += [(len(begun), at_s)] * more
            begun.append((line, at_s, name, more, []))
        while len(running) > demand:
            job, began_s = running.popleft()
            begun[job][4].append(round((at_s - began_s) * 1000))
    for running in open_of.values():
        for job, began_s in running:
            begun[job][4].append(round((last_s - began_s) * 1000))
    for line, at_s, name, count, durations_ms in begun:
        group = TraceGroup("gpus", count, tuple(durations_ms), with_cpus(1))
        yield at_s, TraceJob(line, f"{name}-{line}", 0, name, (group,), name)
