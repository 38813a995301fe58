"""Three tables of Alibaba's clusters: pods of 2023, instances of DLRM jobs of 2025, and nodes with
GPUs of 2026, with their jobs if they are beside them (https://github.com/alibaba/clusterdata).

A share of a GPU counts as a whole one. Of 2025 a blank creation is before the trace began, a blank
deletion after its end. Constraints on nodes are counted, not applied.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from fairshare.core.model.resources import MEMORY, VCORES
from fairshare.documents.gpus import GPU
from fairshare.lab.simulate.traces.records import Trace, TraceGroup, TraceJob, TraceNodes, in_order
from fairshare.lab.simulate.traces.rows import left_out, number, parsed, rows_of, table_in, whole

POD_SIZES = frozenset({"name", "cpu_milli", "memory_mib", "num_gpu"})
PODS = POD_SIZES | {"creation_time", "deletion_time", "scheduled_time"}
POD_NODES = frozenset({"sn", "cpu_milli", "memory_mib", "gpu"})
INSTANCES = frozenset(
    {
        "instance_sn",
        "role",
        "app_name",
        "cpu_request",
        "gpu_request",
        "memory_request",
        "creation_time",
        "scheduled_time",
        "deletion_time",
    }
)
GPU_NODES = frozenset({"gpu_model", "gpu_capacity_num", "cpu_num", "node_name"})
GPU_JOBS = frozenset(
    {"job_name", "cpu_request", "gpu_request", "worker_num", "submit_time", "duration"}
)
MEMORY_PER_VCORE_MB = 4096
"""Of the nodes of 2026 and their jobs, for which the tables have no memory."""
MOST_WORKERS = 100_000


def has_pods(path: Path) -> bool:
    """Whether there is a table of pods."""
    return table_in(path, PODS) is not None


def read_pods(path: Path) -> Trace:
    """Read pods, and the table of nodes beside them."""
    file = table_in(path, PODS)
    assert file is not None
    beside = table_in(file.parent, POD_NODES)
    nodes = () if beside is None else _pod_nodes(beside)
    notes = ["The trace has no users: the pods of each class of service (qos) are one user's."]
    return Trace(f"Alibaba's pods: {file.name}", nodes, in_order(_pods(file, notes)), notes)


def _pod_nodes(file: Path) -> tuple[TraceNodes, ...]:
    def node(row: Mapping[str, str]) -> TraceNodes:
        amounts = {MEMORY: whole(row, "memory_mib"), VCORES: whole(row, "cpu_milli") // 1000}
        gpus = whole(row, "gpu", missing=0)
        return TraceNodes(1, {**amounts, GPU: gpus} if gpus else amounts, row["sn"])

    return tuple(one for _, one in parsed(file, rows_of(file), node))


class _Pod(msgspec.Struct, frozen=True):
    name: str
    qos: str
    created_s: float
    began_s: float | None
    ended_s: float
    amounts: dict[str, int]
    shares_gpu: bool
    wants_model: bool


def _pod(row: Mapping[str, str]) -> _Pod:
    gpus = whole(row, "num_gpu")
    amounts = {
        MEMORY: max(1, whole(row, "memory_mib")),
        VCORES: max(1, -(-whole(row, "cpu_milli") // 1000)),
    }
    part = number(row, "gpu_milli", missing=1000) if row.get("gpu_milli") else 1000
    return _Pod(
        row["name"],
        row.get("qos", ""),
        number(row, "creation_time"),
        number(row, "scheduled_time") if row["scheduled_time"].strip() else None,
        number(row, "deletion_time"),
        {**amounts, GPU: gpus} if gpus else amounts,
        gpus == 1 and part < 1000,
        bool(row.get("gpu_spec", "").strip()),
    )


def _pods(file: Path, notes: list[str]) -> Iterator[tuple[float, TraceJob]]:
    why: Counter[str] = Counter()
    shared = constrained = 0
    for line, pod in parsed(file, rows_of(file), _pod):
        if pod.began_s is None or pod.ended_s < pod.began_s:
            why["were never scheduled"] += 1
            continue
        shared += pod.shares_gpu
        constrained += pod.wants_model
        run_ms = round((pod.ended_s - pod.began_s) * 1000)
        waited_ms = round(max(0.0, pod.began_s - pod.created_s) * 1000)
        groups = (TraceGroup("pod", 1, run_ms, pod.amounts),)
        queue = pod.qos or None
        yield (
            pod.created_s,
            TraceJob(line, pod.name, 0, pod.qos or "unknown", groups, queue, waited_ms),
        )
    notes += left_out(why)
    if shared:
        notes.append(f"Pods that asked for a part of a GPU, and get a whole one: {shared:,}.")
    if constrained:
        notes.append(
            f"Pods that asked for a model of GPU (gpu_spec), and get any: {constrained:,}."
        )


def has_instances(path: Path) -> bool:
    """Whether there is a table of DLRM instances."""
    return table_in(path, INSTANCES) is not None


def read_instances(path: Path) -> Trace:
    """Read instances of DLRM jobs: each is an application of one container."""
    file = table_in(path, INSTANCES)
    assert file is not None
    notes: list[str] = []
    return Trace(f"Alibaba's DLRM jobs: {file.name}", (), in_order(_instances(file, notes)), notes)


class _Instance(msgspec.Struct, frozen=True):
    name: str
    service: str
    created_s: float
    began_s: float
    ended_s: float | None
    amounts: dict[str, int]
    spread: bool

    @property
    def last_s(self) -> float:
        return max(self.created_s, self.began_s, self.ended_s or 0.0)


def _instance(row: Mapping[str, str]) -> _Instance:
    gpus, created_s = whole(row, "gpu_request"), number(row, "creation_time", missing=0)
    amounts = {
        MEMORY: max(1, round(number(row, "memory_request") * 1024)),
        VCORES: max(1, whole(row, "cpu_request")),
    }
    return _Instance(
        row["instance_sn"],
        row["app_name"],
        created_s,
        number(row, "scheduled_time", missing=created_s),
        number(row, "deletion_time") if row["deletion_time"].strip() else None,
        {**amounts, GPU: gpus} if gpus else amounts,
        row.get("max_instance_per_node", "-1").strip() not in ("", "-1"),
    )


def _instances(file: Path, notes: list[str]) -> Iterator[tuple[float, TraceJob]]:
    def found() -> Iterator[tuple[int, _Instance]]:
        return parsed(file, rows_of(file), _instance)

    end_s = max((instance.last_s for _, instance in found()), default=0.0)
    notes.append(
        "Amounts of disks and network (disk_request, rdma_request) are left out: fairshare's nodes"
        " have none by default."
    )
    before = after = spread = 0
    for line, instance in found():
        before += instance.created_s == 0
        after += instance.ended_s is None
        spread += instance.spread
        ended_s = end_s if instance.ended_s is None else instance.ended_s
        run_ms = round(max(0.0, ended_s - instance.began_s) * 1000)
        waited_ms = round(max(0.0, instance.began_s - instance.created_s) * 1000)
        groups = (TraceGroup("instance", 1, run_ms, instance.amounts),)
        yield (
            instance.created_s,
            TraceJob(line, instance.name, 0, instance.service, groups, instance.service, waited_ms),
        )
    notes += [
        f"Instances that were there before the trace began, and arrive at its start: {before:,}.",
        f"Instances without a deletion, which run to the end after {end_s:,.0f} s: {after:,}.",
        f"Instances with a limit for each node, which is not applied: {spread:,}.",
    ]


def has_gpu_nodes(path: Path) -> bool:
    """Whether there is a table of nodes with GPUs, or of their jobs."""
    return table_in(path, GPU_NODES) is not None or table_in(path, GPU_JOBS) is not None


def read_gpu_nodes(path: Path) -> Trace:
    """Read nodes, and the jobs beside them if there are any."""
    jobs = table_in(path, GPU_JOBS)
    file = table_in(path if jobs is None else jobs.parent, GPU_NODES)
    notes = ["The tables have no memory: each processor comes with 4 GB."]
    nodes = () if file is None else tuple(n for _, n in parsed(file, rows_of(file), _gpu_node))
    if jobs is None:
        assert file is not None
        notes.append("There are no jobs: the table has nodes alone.")
        return Trace(f"Alibaba's nodes with GPUs: {file.name}", nodes, iter(()), notes)
    return Trace(
        f"Alibaba's spot jobs: {jobs.name}", nodes, in_order(_gpu_jobs(jobs, notes)), notes
    )


def _gpu_node(row: Mapping[str, str]) -> TraceNodes:
    vcores, gpus = whole(row, "cpu_num"), whole(row, "gpu_capacity_num")
    amounts = {MEMORY: vcores * MEMORY_PER_VCORE_MB, VCORES: vcores}
    name = f"node-{row['node_name']}"
    return TraceNodes(1, {**amounts, GPU: gpus} if gpus else amounts, name)


def _gpu_jobs(file: Path, notes: list[str]) -> Iterator[tuple[float, TraceJob]]:
    """Each worker is a task; the amounts are those of one worker."""

    def job(row: Mapping[str, str]) -> tuple[float, str, TraceGroup | None, str, str | None]:
        gpus = whole(row, "gpu_request")
        vcores, workers = max(1, whole(row, "cpu_request")), whole(row, "worker_num")
        if workers > MOST_WORKERS:
            raise ValueError(f"worker_num is {workers:,}, more than {MOST_WORKERS:,}")
        amounts = {MEMORY: vcores * MEMORY_PER_VCORE_MB, VCORES: vcores}
        run_ms = round(number(row, "duration") * 1000)
        group = TraceGroup(
            "workers",
            workers,
            run_ms,
            {**amounts, GPU: gpus} if gpus else amounts,
            gang=workers > 1,
        )
        user = row.get("organization", "").strip() or "unknown"
        kind = row.get("job_type", "").strip() or None
        return number(row, "submit_time"), row["job_name"], group if workers else None, user, kind

    why: Counter[str] = Counter()
    for line, (at_s, name, group, user, kind) in parsed(file, rows_of(file), job):
        if group is None:
            why["have no worker"] += 1
        else:
            yield at_s, TraceJob(line, name, 0, user, (group,), kind)
    notes.append("GPUs are of one kind: the model (gpu_model) is left out.")
    notes += left_out(why)
