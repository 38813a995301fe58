"""The Standard Workload Format, the jobs of its lines and its header, and the conversion of such a
log to a workload.

The format has 18 columns, -1 for unknown values, and comments that start with `;`
(https://www.cs.huji.ac.il/labs/parallel/workload/swf.html). The simulator Alea adds three columns:
the used nodes, the queue's name, and the request (`2:ppn=12:...`, nodes and processors per node);
there the requested memory is in bytes per node, not in KB per processor. The request is ignored if
it does not match the number of processors.

A job becomes an application with one task for each `processors_per_task` processors, each with the
job's run time: the schedulers do not wait until all tasks can start together. Every job succeeds;
jobs that were cancelled before their start, or have no processors or no run time, are left out and
counted. Times are relative to the first submission.
"""

import math
import re
import sys
from collections import Counter
from pathlib import Path

import msgspec

from fairshare.core.model.inputs import NodeJoined, SubmitApplication
from fairshare.core.model.resources import Resource, ResourceTypes
from fairshare.core.model.work import TaskGroup
from fairshare.documents.problems import Place, Problems
from fairshare.lab.simulate.readers.options import MOST, ReaderOptions, read_lines
from fairshare.lab.simulate.workload import Arrival, GroupPlan, Workload, alike
from fairshare.wording import counted

COLUMNS = 18
CANCELLED = 5

_NODE_SPEC = re.compile(r"(\d+):ppn=(\d+)(?:[:#].*)?")
_HEADER = re.compile(r";\s*(MaxNodes|MaxProcs)\s*:\s*(\d+)\s*")
_NAMED = re.compile(r";\s*(Queue|Partition)\s*:\s*(\d+)\s+([\w\[]\S*).*")


class Job(msgspec.Struct, frozen=True):
    """One line. Unknown values are -1, or "" for names.

    `nodes` and `per_node` are 0 except in Alea's dialect; `memory_kb` is per processor.
    """

    number: int
    submit_s: float
    wait_s: float
    run_s: float
    processors: int
    memory_kb: int
    status: int
    user: int
    group: int
    queue: int
    partition: int
    queue_name: str = ""
    nodes: int = 0
    per_node: int = 0

    @property
    def user_name(self) -> str:
        """Its user."""
        return sys.intern(f"user{self.user}") if self.user >= 0 else "unknown"

    def parts(self, per_task: int) -> tuple[tuple[str, int, int], ...]:
        """Its processors, as groups (name, tasks, processors of each): tasks of equal size and one
        task for the remainder. A job that requested nodes has one task per node."""
        if self.nodes:
            return (("tasks", self.nodes, self.per_node),)
        count, rest = divmod(self.processors, per_task)
        return (("tasks", count, per_task),) * (count > 0) + (("rest", 1, rest),) * (rest > 0)

    def memory_mb(self, processors: int, default_mb: int) -> int:
        """The memory of a task; `default_mb` is that of a processor if the log has none."""
        if self.memory_kb <= 0:
            return default_mb * processors
        return -(-self.memory_kb * processors // 1024)


class Machines(msgspec.Struct, frozen=True):
    """A line of Alea's table of clusters: nodes that are all alike."""

    name: str
    count: int
    processors: int
    memory_mb: int


class Header(msgspec.Struct):
    """The values in the comments; 0 or empty if they are missing."""

    nodes: int = 0
    processors: int = 0
    queues: dict[int, str] = {}
    partitions: dict[int, str] = {}

    def read(self, line: str) -> None:
        """Read the value of a comment, if it has one."""
        if match := _HEADER.fullmatch(line):
            if match.group(1) == "MaxNodes":
                self.nodes = int(match.group(2))
            else:
                self.processors = int(match.group(2))
        elif match := _NAMED.fullmatch(line):
            names = self.queues if match.group(1) == "Queue" else self.partitions
            names[int(match.group(2))] = match.group(3)


def parse_job(line: str) -> Job:
    """Parse the job on a line; raises ValueError that names the wrong column."""
    columns = line.split()
    if len(columns) < COLUMNS:
        raise ValueError(f"has {len(columns)} columns, and the format has {COLUMNS}")
    asked, used = _whole(columns, 8), _whole(columns, 5)
    memory_kb = _whole(columns, 10)
    if memory_kb <= 0:
        memory_kb = _whole(columns, 7)
    processors = asked if asked > 0 else used
    queue_name, nodes, per_node = "", 0, 0
    if len(columns) == COLUMNS + 3:
        queue_name = columns[-2]
        match = _NODE_SPEC.fullmatch(columns[-1])
        if match is not None and int(match.group(1)) * int(match.group(2)) == processors:
            nodes, per_node = int(match.group(1)), int(match.group(2))
        memory_b, sharers = _whole(columns, 10), per_node or processors
        memory_kb = math.ceil(memory_b / sharers / 1024) if memory_b > 0 and sharers > 0 else -1
    elif len(columns) > COLUMNS:
        raise ValueError(
            f"has {len(columns)} columns: the format has {COLUMNS}, and Alea's dialect three more"
        )
    return Job(
        number=_whole(columns, 1),
        submit_s=_number(columns, 2),
        wait_s=_number(columns, 3),
        run_s=_number(columns, 4),
        processors=processors,
        memory_kb=memory_kb,
        status=_whole(columns, 11),
        user=_whole(columns, 12),
        group=_whole(columns, 13),
        queue=_whole(columns, 15),
        partition=_whole(columns, 16),
        queue_name=queue_name,
        nodes=nodes,
        per_node=per_node,
    )


def parse_machines(line: str) -> Machines:
    """Parse a line of the file `<name>.machines`; raises ValueError that says what it must be."""
    try:
        _, name, count, processors, _, memory_kb = line.split()
        return Machines(name, int(count), int(processors), int(memory_kb) // 1024)
    except ValueError:
        raise ValueError(
            "must be id, name, nodes, processors of each, speed and memory of each in KB"
        ) from None


def _whole(columns: list[str], number: int) -> int:
    return int(_number(columns, number))


def _number(columns: list[str], number: int) -> float:
    text = columns[number - 1]
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or abs(value) > 2**53:
        raise ValueError(f"column {number} is {text!r}, not a number")
    return value


_LOCAL = re.compile(r"[^A-Za-z0-9_-]+")


def read_swf(path: Path, options: ReaderOptions, problems: Problems) -> Workload:
    """Read a log, and the file `<name>.machines` in the same directory if it exists."""
    file = str(path)
    header, jobs = Header(), []
    for number, line in read_lines(path, problems):
        text = line.strip()
        if text.startswith(";"):
            header.read(text)
        elif text:
            try:
                jobs.append(parse_job(text))
            except ValueError as error:
                problems.error(Place(file, number), "workload", str(error))
    if not jobs and not problems.all:
        problems.error(Place(file), "workload", "has no job")
    notes: list[str] = []
    machines = path.with_name(path.name.removesuffix(".gz") + ".machines")
    nodes = _machines(machines, options.types, problems)
    if header.nodes > MOST:
        words = f"MaxNodes is {header.nodes}, and at most {counted(MOST, 'node')} are simulated"
        problems.error(Place(file), "workload", words)
    elif not nodes and header.nodes:
        processors = -(-max(header.processors, header.nodes) // header.nodes)
        total = _vector(options.types, processors * options.memory_per_processor_mb, processors)
        nodes = alike(header.nodes, total)
        notes.append(
            f"The header speaks of {counted(len(nodes), 'node')}; each has"
            f" {options.memory_per_processor_mb} MB for each processor, which it does not say."
        )
    left_out: Counter[str] = Counter()
    arrivals = _arrivals(jobs, header, options, left_out)
    notes += [
        f"Jobs left out because they {why}: {count}." for why, count in sorted(left_out.items())
    ]
    return Workload(nodes, arrivals, tuple(notes))


def _arrivals(
    jobs: list[Job], header: Header, options: ReaderOptions, left_out: Counter[str]
) -> tuple[Arrival, ...]:
    first_s = min((job.submit_s for job in jobs), default=0)
    arrivals = []
    for job in sorted(jobs, key=lambda job: (job.submit_s, job.number)):
        if job.processors <= 0:
            left_out["have no processors"] += 1
        elif job.run_s < 0:
            left_out["have no run time"] += 1
        elif (job.nodes or job.processors // options.processors_per_task) > MOST:
            left_out[f"have more than {counted(MOST, 'task')}"] += 1
        elif job.run_s == 0 and job.status == CANCELLED:
            left_out["were cancelled before they began"] += 1
        else:
            groups = tuple(
                TaskGroup(
                    name,
                    count,
                    _vector(
                        options.types,
                        job.memory_mb(processors, options.memory_per_processor_mb),
                        processors,
                    ),
                )
                for name, count, processors in job.parts(options.processors_per_task)
            )
            submission = SubmitApplication(
                user=job.user_name,
                queue=_queue(job, header, options),
                name=f"job{job.number}",
                groups=(f"group{job.group}",) if job.group >= 0 else (),
                tasks=groups,
            )
            plan = GroupPlan(round(job.run_s * 1000))
            at_ms = round((job.submit_s - first_s) * 1000)
            arrivals.append(Arrival(at_ms, submission, (plan,) * len(groups)))
    return tuple(arrivals)


def _vector(types: ResourceTypes, memory_mb: int, processors: int) -> Resource:
    return (memory_mb, processors, *types.none[2:])


def _queue(job: Job, header: Header, options: ReaderOptions) -> str:
    number, name, word = -1, "", options.queue_from
    match options.queue_from:
        case "default":
            return "default"
        case "user":
            return job.user_name
        case "group":
            number = job.group
        case "partition":
            number, name = job.partition, header.partitions.get(job.partition, "")
        case "queue":
            number, name = job.queue, job.queue_name or header.queues.get(job.queue, "")
    if not name and number < 0:
        return "default"
    return _LOCAL.sub("_", name) or f"{word}{number}"


def _machines(path: Path, types: ResourceTypes, problems: Problems) -> tuple[NodeJoined, ...]:
    nodes: list[NodeJoined] = []
    if not path.is_file():
        return ()
    for number, line in read_lines(path, problems):
        if not line.strip():
            continue
        try:
            machines = parse_machines(line)
        except ValueError as error:
            problems.error(Place(str(path), number), "workload", str(error))
            continue
        if machines.count > MOST:
            words = f"has {counted(machines.count, 'node')}, and at most {MOST:,} are simulated"
            problems.error(Place(str(path), number), "workload", words)
            continue
        total = _vector(types, machines.memory_mb, machines.processors)
        nodes += (NodeJoined(f"{machines.name}-{n + 1}", total) for n in range(machines.count))
    return tuple(nodes)
