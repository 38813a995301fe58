"""Owns three tables of Alibaba's clusters: pods of 2023, instances of DLRM jobs of 2025, and nodes
with GPUs of 2026 (https://github.com/alibaba/clusterdata).

A share of a GPU counts as a whole one. Of 2025 a blank creation is before the trace began, a blank
deletion after its end.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from fairshare.model.resources import MEMORY, VCORES
from fairshare.simulate.traces.records import GPU, Trace, TraceGroup, TraceJob, TraceNodes
from fairshare.simulate.traces.rows import (
    files_in,
    header_of,
    in_order,
    left_out,
    number,
    parsed,
    rows_of,
    whole,
)

Record = TypeVar("Record")

PODS = frozenset({"name", "cpu_milli", "memory_mib", "num_gpu", "creation_time", "deletion_time"})
POD_NODES = frozenset({"sn", "cpu_milli", "memory_mib", "gpu"})
INSTANCES = frozenset({"instance_sn", "role", "cpu_request", "gpu_request", "creation_time"})
GPU_NODES = frozenset({"gpu_model", "gpu_capacity_num", "cpu_num", "node_name"})


def _file(path: Path, columns: frozenset[str]) -> Path | None:
    return next((one for one in files_in(path) if columns <= set(header_of(one))), None)


def has_pods(path: Path) -> bool:
    """Whether there is a table of pods."""
    return _file(path, PODS) is not None


def read_pods(path: Path) -> Trace:
    """Read pods, and the table of nodes beside them."""
    file = _file(path, PODS)
    assert file is not None
    beside = _file(file.parent, POD_NODES)
    nodes = () if beside is None else _pod_nodes(beside)
    notes: list[str] = []
    return Trace(f"Alibaba's pods: {file.name}", nodes, in_order(_pods(file, notes)), notes)


def _pod_nodes(file: Path) -> tuple[TraceNodes, ...]:
    def node(row: Mapping[str, str]) -> TraceNodes:
        amounts = {MEMORY: whole(row, "memory_mib"), VCORES: whole(row, "cpu_milli") // 1000}
        gpus = whole(row, "gpu", missing=0)
        return TraceNodes(1, {**amounts, GPU: gpus} if gpus else amounts, row["sn"])

    return tuple(one for _, one in parsed(file, rows_of(file), node))


def _pods(file: Path, notes: list[str]) -> Iterator[tuple[float, TraceJob]]:
    why: Counter[str] = Counter()
    shared = 0

    def pod(row: Mapping[str, str]) -> tuple[float, float | None, float, dict[str, int], bool]:
        amounts = {
            MEMORY: max(1, whole(row, "memory_mib")),
            VCORES: max(1, -(-whole(row, "cpu_milli") // 1000)),
        }
        gpus = whole(row, "num_gpu")
        part = gpus == 1 and number(row, "gpu_milli", missing=1000) < 1000
        began = row.get("scheduled_time", "").strip()
        began_s = number(row, "scheduled_time") if began else None
        amounts |= {GPU: gpus} if gpus else {}
        return number(row, "creation_time"), began_s, number(row, "deletion_time"), amounts, part

    for line, (row, found) in _with_rows(file, pod):
        created_s, began_s, ended_s, amounts, part = found
        if began_s is None or ended_s < began_s:
            why["were never scheduled"] += 1
            continue
        shared += part
        group = TraceGroup("pod", 1, round((ended_s - began_s) * 1000), amounts)
        qos = row.get("qos") or None
        waited_ms = round(max(0.0, began_s - created_s) * 1000)
        yield created_s, TraceJob(line, row["name"], 0, "pods", (group,), qos, waited_ms)
    notes += left_out(why)
    if shared:
        notes.append(f"Pods that asked for a part of a GPU, and get a whole one: {shared:,}.")


def _with_rows(
    file: Path, parse: Callable[[Mapping[str, str]], Record]
) -> Iterator[tuple[int, tuple[Mapping[str, str], Record]]]:
    def both(row: Mapping[str, str]) -> tuple[Mapping[str, str], Record]:
        return row, parse(row)

    return parsed(file, rows_of(file), both)


def has_instances(path: Path) -> bool:
    """Whether there is a table of DLRM instances."""
    return _file(path, INSTANCES) is not None


def read_instances(path: Path) -> Trace:
    """Read instances of DLRM jobs: each is an application of one container."""
    file = _file(path, INSTANCES)
    assert file is not None
    notes: list[str] = []
    return Trace(f"Alibaba's DLRM jobs: {file.name}", (), in_order(_instances(file, notes)), notes)


def _instances(file: Path, notes: list[str]) -> Iterator[tuple[float, TraceJob]]:
    end_s = max(
        (
            number(row, name, missing=0)
            for _, row in rows_of(file)
            for name in ("creation_time", "scheduled_time", "deletion_time")
        ),
        default=0.0,
    )
    notes.append(f"Instances without a deletion run to the end of the trace, after {end_s:,.0f} s.")

    def instance(row: Mapping[str, str]) -> tuple[float, float, float, dict[str, int]]:
        created_s = number(row, "creation_time", missing=0)
        amounts = {
            MEMORY: max(1, round(number(row, "memory_request") * 1024)),
            VCORES: max(1, whole(row, "cpu_request")),
        }
        gpus = whole(row, "gpu_request")
        began_s = number(row, "scheduled_time", missing=created_s)
        ended_s = number(row, "deletion_time", missing=end_s)
        return created_s, began_s, ended_s, {**amounts, GPU: gpus} if gpus else amounts

    for line, (row, found) in _with_rows(file, instance):
        created_s, began_s, ended_s, amounts = found
        run_ms = round(max(0.0, ended_s - began_s) * 1000)
        group = TraceGroup("instance", 1, run_ms, amounts)
        waited_ms = round(max(0.0, began_s - created_s) * 1000)
        job = TraceJob(
            line, row["instance_sn"], 0, row["app_name"], (group,), row["role"], waited_ms
        )
        yield created_s, job


def has_gpu_nodes(path: Path) -> bool:
    """Whether there is a table of nodes with GPUs."""
    return _file(path, GPU_NODES) is not None


def read_gpu_nodes(path: Path) -> Trace:
    """Read nodes; there are no jobs."""
    file = _file(path, GPU_NODES)
    assert file is not None

    def node(row: Mapping[str, str]) -> TraceNodes:
        vcores, gpus = whole(row, "cpu_num"), whole(row, "gpu_capacity_num")
        amounts = {MEMORY: vcores * 4096, VCORES: vcores, GPU: gpus}
        return TraceNodes(1, amounts, f"node-{row['node_name']}")

    nodes = tuple(one for _, one in parsed(file, rows_of(file), node))
    notes = ["The table has nodes alone, without memory: each processor gets 4 GB."]
    return Trace(f"Alibaba's nodes with GPUs: {file.name}", nodes, iter(()), notes)
