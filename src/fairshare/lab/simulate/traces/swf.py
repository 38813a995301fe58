"""Traces in the Standard Workload Format and its dialects.

A job's processors become tasks of at most one node's processors each. The header has the cluster's
size; a file `<name>.machines` beside the log has the classes of nodes.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from fairshare.core.model.resources import MEMORY, VCORES
from fairshare.lab.simulate.readers.swf import CANCELLED, Header, Job, parse_job, parse_machines
from fairshare.lab.simulate.traces.records import Trace, TraceGroup, TraceJob, TraceNodes, in_order
from fairshare.lab.simulate.traces.rows import (
    DamagedLine,
    files_in,
    kind_of,
    left_out,
    lines_of,
    parsed,
)
from fairshare.wording import counted

TITLE = "Standard Workload Format"
MEMORY_PER_PROCESSOR_MB = 1024
"""Of nodes and jobs for which the log has no memory."""


def matches(path: Path) -> bool:
    """Whether there is a log."""
    return any(kind_of(one) == ".swf" for one in files_in(path))


def read(path: Path) -> Trace:
    """Read a log; its header is in the lines before the first job."""
    file = next(one for one in files_in(path) if kind_of(one) == ".swf")
    header = Header()
    for _, line in lines_of(file):
        if line.startswith(";"):
            header.read(line.strip())
        elif line.strip():
            break
    nodes = _machines(
        file.with_name(file.name.removesuffix(".gz").removesuffix(".xz") + ".machines")
    )
    notes: list[str] = []
    if not nodes and header.nodes:
        processors = -(-max(header.processors, header.nodes) // header.nodes)
        memory_mb = processors * MEMORY_PER_PROCESSOR_MB
        nodes = (TraceNodes(header.nodes, {MEMORY: memory_mb, VCORES: processors}),)
        notes.append(
            f"Its header has {counted(header.nodes, 'node')} with"
            f" {counted(processors, 'processor')} each, and no memory: each processor gets 1 GB."
        )
    per_task = max((one.amounts[VCORES] for one in nodes), default=0)
    trace = Trace(f"{TITLE}: {file.name}", nodes, iter(()), notes)
    trace.jobs = in_order(_jobs(file, header, per_task, notes))
    return trace


def _jobs(
    file: Path, header: Header, per_task: int, notes: list[str]
) -> Iterator[tuple[float, TraceJob]]:
    why: Counter[str] = Counter()
    without_memory = 0
    lines = ((n, line) for n, line in lines_of(file) if line.strip() and line[0] != ";")
    for number, job in parsed(file, lines, parse_job):
        if job.processors <= 0:
            why["have no processors"] += 1
        elif job.run_s < 0:
            why["have no run time"] += 1
        elif job.run_s == 0 and job.status == CANCELLED:
            why["were cancelled before they began"] += 1
        else:
            without_memory += job.memory_kb <= 0
            yield (
                job.submit_s,
                TraceJob(
                    line=number,
                    name=f"job{job.number}",
                    at_ms=0,
                    user=job.user_name,
                    groups=_groups(job, per_task or job.processors),
                    queue=_queue(job, header),
                    waited_ms=round(job.wait_s * 1000) if job.wait_s >= 0 else None,
                ),
            )
    notes += left_out(why)
    if without_memory:
        notes.append(
            f"Jobs without a memory request, which get 1 GB a processor: {without_memory:,}."
        )


def _queue(job: Job, header: Header) -> str | None:
    if job.queue_name:
        return job.queue_name
    for kind, number, names in (
        ("queue", job.queue, header.queues),
        ("partition", job.partition, header.partitions),
    ):
        if number >= 0:
            return names.get(number) or f"{kind}{number}"
    return None


def _groups(job: Job, per_task: int) -> tuple[TraceGroup, ...]:
    groups = []
    for name, count, processors in job.parts(per_task):
        memory_mb = job.memory_mb(processors, MEMORY_PER_PROCESSOR_MB)
        amounts = {MEMORY: memory_mb, VCORES: processors}
        groups.append(TraceGroup(name, count, round(job.run_s * 1000), amounts))
    return tuple(groups)


def _machines(path: Path) -> tuple[TraceNodes, ...]:
    nodes = []
    if not path.is_file():
        return ()
    for number, line in lines_of(path):
        if not line.strip():
            continue
        try:
            machines = parse_machines(line)
        except ValueError as error:
            raise DamagedLine(path, number, str(error)) from None
        amounts = {MEMORY: machines.memory_mb, VCORES: machines.processors}
        nodes.append(TraceNodes(machines.count, amounts, machines.name))
    return tuple(nodes)
