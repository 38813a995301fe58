"""Traces of Hadoop's own tools: jobs of the Scheduler Load Simulator, and Rumen's.

Both are JSON documents one after another. Nodes are in files beside them: SLS' with their sizes,
Rumen's topology with the names alone. SLS' random workloads (`syn`) are refused: they are not a
trace, but what to draw one from.
"""

import json
import statistics
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fairshare.core.model.resources import MEMORY, VCORES
from fairshare.lab.simulate.traces.records import Trace, TraceGroup, TraceJob, TraceNodes, in_order
from fairshare.lab.simulate.traces.rows import (
    DamagedLine,
    TraceUnreadable,
    damaged,
    files_in,
    kind_of,
    lines_of,
)

NODE = {MEMORY: 10_240, VCORES: 10}
"""The size of a node of SLS that names none (Hadoop: SLSConfiguration)."""
TASK = {MEMORY: 1024, VCORES: 1}
"""The size of a container that names none (Hadoop: SLSConfiguration)."""

MOST_CHARACTERS = 500_000_000


def documents_of(path: Path, most: int | None = None) -> Iterator[tuple[int, Any]]:
    """The JSON documents of a file, each with the line on which it begins."""
    text = "\n".join(line for _, line in lines_of(path))
    if len(text) > MOST_CHARACTERS:
        raise TraceUnreadable(f"{path} has more than {MOST_CHARACTERS:,} characters")
    decoder, at, line, seen = json.JSONDecoder(), 0, 1, 0
    while at < len(text) and (most is None or seen < most):
        gap = len(text) - len(text[at:].lstrip()) if text[at : at + 1].isspace() else at
        line += text.count("\n", at, gap)
        if gap >= len(text):
            return
        try:
            found, end = decoder.raw_decode(text, gap)
        except json.JSONDecodeError as error:
            raise DamagedLine(path, error.lineno, f"is not JSON: {error.msg}") from error
        yield line, found
        line += text.count("\n", gap, end)
        at, seen = end, seen + 1


def _has(path: Path, key: str) -> bool:
    if kind_of(path) != ".json":
        return False
    try:
        _, first = next(documents_of(path, 1), (1, None))
    except TraceUnreadable:
        return False
    first = first[0] if isinstance(first, list) and first else first
    return isinstance(first, dict) and key in first


def _files(path: Path, key: str) -> list[Path]:
    return [one for one in files_in(path) if _has(one, key)]


def is_rumen(path: Path) -> bool:
    """Whether there is a file of Rumen's jobs."""
    return bool(_files(path, "mapTasks"))


def read_rumen(path: Path) -> Trace:
    """Read jobs, and the topology beside them."""
    file, *others = _files(path, "mapTasks")
    topologies = [
        topology for topology in _files(file.parent, "children") if "topology" in topology.name
    ]
    named = file.name.replace("trace", "topology")
    names = [
        name
        for topology in topologies
        if topology.name == named
        for _, root in documents_of(topology)
        for name in _leaves(root)
    ]
    nodes = tuple(TraceNodes(1, NODE, name.replace("\\", "")) for name in names)
    notes = _notes(others)
    if nodes:
        notes.append("The topology has names of nodes alone: each has 10 GB and 10 vcores.")
    return Trace(f"Rumen: {file.name}", nodes, in_order(_rumen_jobs(file)), notes)


def _notes(others: list[Path]) -> list[str]:
    names = ", ".join(one.name for one in others)
    return [f"Other traces in this directory, to be named by file: {names}."] if names else []


def _leaves(node: Mapping[str, Any]) -> Iterator[str]:
    children = node.get("children")
    if not children:
        yield str(node["name"])
    for child in children or ():
        yield from _leaves(child)


def _rumen_jobs(file: Path) -> Iterator[tuple[float, TraceJob]]:
    for line, job in documents_of(file):
        try:
            maps, map_mb = job.get("mapTasks") or [], job.get("jobMapMB", -1)
            maps = maps + (job.get("otherTasks") or [])
            reduces, reduce_mb = job.get("reduceTasks") or [], job.get("jobReduceMB", -1)
            at_s = job["submitTime"] / 1000
            groups = _phases(
                _rumen_group("map", maps, map_mb), _rumen_group("reduce", reduces, reduce_mb)
            )
            name, user = str(job["jobID"]), str(job.get("user") or "unknown")
        except (KeyError, TypeError, AttributeError) as error:
            damaged(file, line, f"is not a job of Rumen's: {error}", error)
            continue
        if groups:
            yield at_s, TraceJob(line, name, 0, user, groups, job.get("queue") or None)


def _phases(*groups: TraceGroup | None) -> tuple[TraceGroup, ...]:
    """The groups that there are, each after the one before."""
    phases: list[TraceGroup] = []
    for group in groups:
        if group is not None:
            after = tuple(one.name for one in phases)
            phases.append(
                TraceGroup(group.name, group.count, group.durations_ms, group.amounts, after)
            )
    return tuple(phases)


def _rumen_group(name: str, tasks: list[dict[str, Any]], memory_mb: int) -> TraceGroup | None:
    known = [span for task in tasks if (span := _span_ms(task)) is not None]
    if not tasks:
        return None
    typical = round(statistics.median(known)) if known else 1_000
    durations = tuple(typical if (span := _span_ms(task)) is None else span for task in tasks)
    amounts = {**TASK, MEMORY: memory_mb} if memory_mb > 0 else TASK
    return TraceGroup(name, len(tasks), durations, amounts)


def _span_ms(task: Mapping[str, Any]) -> int | None:
    """How long the attempt ran that succeeded, else the last one."""
    attempts = task.get("attempts") or []
    good = [one for one in attempts if one.get("result") == "SUCCESS"] or attempts
    for one in reversed(good):
        span = (one.get("finishTime") or -1) - (one.get("startTime") or -1)
        if one.get("finishTime", -1) > 0 and one.get("startTime", -1) > 0 and span >= 0:
            return int(span)
    return None


def is_sls(path: Path) -> bool:
    """Whether there is a file of SLS' jobs."""
    return bool(_files(path, "job.tasks"))


def read_sls(path: Path) -> Trace:
    """Read jobs, and the nodes beside them: the file with sizes first."""
    file, *others = _files(path, "job.tasks")
    lists = sorted(_files(file.parent, "nodes"), key=lambda one: ("resources" not in one.name, one))
    nodes = tuple(_sls_nodes(lists[0])) if lists else ()
    notes = _notes([*others, *_files(path, "mapTasks")] if path.is_dir() else [])
    return Trace(f"SLS: {file.name}", nodes, in_order(_sls_jobs(file)), notes)


def _sls_nodes(file: Path) -> Iterator[TraceNodes]:
    for line, rack in documents_of(file):
        try:
            for node in rack["nodes"]:
                amounts = {kind: int(node.get(kind, NODE[kind])) for kind in (MEMORY, VCORES)}
                yield TraceNodes(1, amounts, str(node["node"]), f"/{rack['rack']}")
        except (KeyError, TypeError, ValueError) as error:
            raise DamagedLine(file, line, f"is not a rack with nodes: {error}") from error


def _sls_jobs(file: Path) -> Iterator[tuple[float, TraceJob]]:
    jobs = (
        (line, one)
        for line, document in documents_of(file)
        for one in (document if isinstance(document, list) else [document])
    )
    for number, (line, job) in enumerate(jobs, 1):
        try:
            kinds = dict.fromkeys(
                str(task.get("container.type", "map")) for task in job["job.tasks"]
            )
            groups = _phases(*(_sls_group(kind, job["job.tasks"]) for kind in kinds))
            name, user = str(job.get("job.id", f"job{number}")), str(job.get("job.user", "default"))
            at_s = int(job.get("job.start.ms", 0)) / 1000
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            damaged(file, line, f"is not a job of SLS': {error}", error)
            continue
        yield at_s, TraceJob(line, name, 0, user, groups, job.get("job.queue.name") or None)


def _sls_group(kind: str, tasks: list[dict[str, Any]]) -> TraceGroup:
    durations: list[int] = []
    amounts = dict(TASK)
    for task in tasks:
        if str(task.get("container.type", "map")) != kind:
            continue
        span = task.get("duration.ms")
        if span is None:
            span = int(task["container.end.ms"]) - int(task["container.start.ms"])
        durations += [max(0, int(span))] * int(task.get("count", 1))
        amounts[MEMORY] = max(amounts[MEMORY], int(task.get("container.memory", 0)))
        amounts[VCORES] = max(amounts[VCORES], int(task.get("container.vcores", 0)))
    return TraceGroup(kind, len(durations), tuple(durations), amounts)


def is_random(path: Path) -> bool:
    """Whether a file is a workload that SLS draws at random."""
    return not path.is_dir() and _has(path, "workloads")


def read_random(path: Path) -> Trace:
    """Refuse it."""
    raise TraceUnreadable(
        f"{path} describes how SLS draws jobs at random, and is not a trace: have SLS write its"
        " jobs, or name a file with job.tasks"
    )
