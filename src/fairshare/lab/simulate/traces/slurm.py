"""The accounts of Slurm: what `sacct --parsable2` prints, with a header.

Names of columns are read in any case: those of sacct (JobID, Submit, ReqCPUS) and those of XDMoD's
logs. Steps of a job (`17.batch`) are left out: they are parts of it. Times without a zone are taken
as they are. Nodes must have been as large as the most that jobs had of each at one time.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from fairshare.core.model.resources import MEMORY, VCORES
from fairshare.documents.gpus import GPU
from fairshare.lab.simulate.traces.records import Trace, TraceGroup, TraceJob, TraceNodes, in_order
from fairshare.lab.simulate.traces.rows import (
    TraceUnreadable,
    files_in,
    header_of,
    left_out,
    parsed,
    rows_of,
    seconds_of,
)
from fairshare.wording import counted

MOST_SHARES = 20_000_000
"""The maximum number of shares that jobs have of nodes."""


class Occupancy:
    """What jobs have of nodes, from when to when."""

    def __init__(self) -> None:
        self._changes: dict[str, list[tuple[float, int, Mapping[str, int]]]] = {}
        self._count = 0

    def add(
        self, names: Iterable[str], began_s: float, ended_s: float, amounts: Mapping[str, int]
    ) -> None:
        """A job has these amounts of each of these nodes."""
        for name in names:
            self._count += 1
            if self._count > MOST_SHARES:
                raise TraceUnreadable(
                    f"jobs have more than {MOST_SHARES:,} shares of nodes: give a part of the trace"
                )
            changes = self._changes.setdefault(name, [])
            changes += [(began_s, 1, amounts), (max(ended_s, began_s), -1, amounts)]

    def nodes(self) -> tuple[TraceNodes, ...]:
        """A node for each name. A job that ends leaves room for one that starts at that instant."""
        return tuple(
            TraceNodes(1, self._most(changes), name)
            for name, changes in sorted(self._changes.items())
        )

    @staticmethod
    def _most(changes: list[tuple[float, int, Mapping[str, int]]]) -> dict[str, int]:
        used: dict[str, int] = {}
        most: dict[str, int] = {}
        for _, sign, amounts in sorted(changes, key=lambda change: change[:2]):
            for kind, amount in amounts.items():
                used[kind] = used.get(kind, 0) + sign * amount
                most[kind] = max(used[kind], amount, most.get(kind, 0))
        return most


TITLE = "Slurm's accounts"
NEEDED = frozenset({"jobid", "submit", "start", "end", "user"})
MOST_AMOUNT = 10_000_000
"""Of processors, GPUs or nodes of a job: a larger number is a mistake."""
MOST_NAMES = 100_000
"""Of nodes of a job."""
MEMORY_PER_PROCESSOR_MB = 1024
"""Of jobs whose accounts have no memory."""
_UNKNOWN = ("", "Unknown", "None", "None assigned", "N/A")
_PER_CPU = 0x80000000
"""Slurm's mark of an amount for each processor, where it was printed without its letter."""
_SIZES_MB = {"": 1, "K": 1 / 1024, "M": 1, "G": 1024, "T": 1024**2, "P": 1024**3}
_MEMORY = re.compile(r"([0-9]+(?:\.[0-9]+)?)([KMGTP]?)([nc]?)")
_RANGE = re.compile(r"\[([^\]]*)\]")
_NAME = re.compile(r"(?:[^,\[]|\[[^\]]*\])+")


def matches(path: Path) -> bool:
    """Whether a file has the columns of sacct."""
    return any(_is_accounts(one) for one in files_in(path))


def _is_accounts(path: Path) -> bool:
    names = {name.lower() for name in header_of(path, "|")}
    return names >= NEEDED and bool(names & {"ncpus", "reqcpus", "alloccpus"})


def read(path: Path) -> Trace:
    """Read accounts; the cluster is that of the nodes that jobs ran on."""
    file = next(one for one in files_in(path) if _is_accounts(one))
    used = Occupancy()
    for _, job in parsed(file, _rows(file), _job):
        if isinstance(job, _Job):
            names = [] if job.nodes in _UNKNOWN else node_names(job.nodes)
            used.add(names, job.started_s, job.ended_s, job.shares(len(names)))
    nodes = used.nodes()
    notes: list[str] = []
    if nodes:
        notes.append(
            f"The cluster has {counted(len(nodes), 'node')}, those that jobs ran on, each as large"
            " as what jobs had of it at one time at most."
        )
    return Trace(f"{TITLE}: {file.name}", nodes, in_order(_jobs(file, notes)), notes)


def _rows(file: Path) -> Iterator[tuple[int, dict[str, str]]]:
    for number, row in rows_of(file, "|", quotes=False):
        found = {name.lower(): value for name, value in row.items()}
        if "." not in found["jobid"]:
            yield number, found


class _Job(msgspec.Struct, frozen=True):
    """`memory_mb` is that of one of its `count` nodes, None if the accounts have none."""

    name: str
    user: str
    queue: str | None
    submit_s: float
    started_s: float
    ended_s: float
    count: int
    cpus: int
    memory_mb: int | None
    gpus: int
    nodes: str

    def shares(self, count: int) -> dict[str, int]:
        """What it has of each of its nodes, if they are so many."""
        each = -(-self.cpus // max(1, count))
        memory_mb = MEMORY_PER_PROCESSOR_MB * each if self.memory_mb is None else self.memory_mb
        amounts = {MEMORY: memory_mb, VCORES: each}
        return {**amounts, GPU: -(-self.gpus // max(1, count))} if self.gpus else amounts


def _jobs(file: Path, notes: list[str]) -> Iterator[tuple[float, TraceJob]]:
    why: Counter[str] = Counter()
    without_memory = 0
    for number, job in parsed(file, _rows(file), _job):
        if isinstance(job, str):
            why[job] += 1
            continue
        without_memory += job.memory_mb is None
        run_ms = round((job.ended_s - job.started_s) * 1000)
        waited_ms = round(max(0.0, job.started_s - job.submit_s) * 1000)
        group = TraceGroup("tasks", job.count, run_ms, job.shares(job.count), gang=job.count > 1)
        yield (
            job.submit_s,
            TraceJob(number, job.name, 0, job.user, (group,), job.queue, waited_ms),
        )
    notes += left_out(why)
    if without_memory:
        notes.append(
            f"Jobs without a memory request, which get 1 GB a processor: {without_memory:,}."
        )


def _job(row: Mapping[str, str]) -> str | _Job:
    """The job of a row; or why it is left out."""
    if row["start"] in _UNKNOWN:
        return "never started"
    if row["end"] in _UNKNOWN:
        return "have not ended"
    submit_s, started_s, ended_s = (seconds_of(row[name]) for name in ("submit", "start", "end"))
    if ended_s < started_s:
        return "ended before they started"
    count, cpus = nodes_of(row), cpus_of(row)
    return _Job(
        f"job{row['jobid']}",
        row["user"] or "unknown",
        row.get("partition") or None,
        submit_s,
        started_s,
        ended_s,
        count,
        cpus,
        memory_mb(row, cpus, count),
        gpus_of(row),
        row.get("nodelist", ""),
    )


def _whole(row: Mapping[str, str], *names: str) -> int:
    for name in names:
        text = row.get(name, "")
        if text.isascii() and text.isdigit() and text.strip("0"):
            if len(text) > len(str(MOST_AMOUNT)) or int(text) > MOST_AMOUNT:
                raise ValueError(f"{name} is {text[:20]}, more than {MOST_AMOUNT:,}")
            return int(text)
    return 0


def nodes_of(row: Mapping[str, str]) -> int:
    """The number of nodes of a job."""
    return max(1, _whole(row, "nnodes", "allocnodes", "reqnodes"))


def cpus_of(row: Mapping[str, str]) -> int:
    """The number of processors of a job."""
    return max(1, _whole(row, "reqcpus", "ncpus", "alloccpus"))


def amounts_of(text: str) -> dict[str, str]:
    """What a list of trackable resources or of generic resources has.

    >>> amounts_of("cpu=8,gres/gpu=2,mem=31000M"), amounts_of("gpu:v100:2")
    ({'cpu': '8', 'gres/gpu': '2', 'mem': '31000M'}, {'gpu:v100': '2'})
    """
    pairs = (
        part.partition("=") if "=" in part else part.rpartition(":") for part in text.split(",")
    )
    return {name: amount for name, _, amount in pairs if name}


def gpus_of(row: Mapping[str, str]) -> int:
    """The number of GPUs of a job: what it got, else what it asked for.

    >>> gpus_of({"alloctres": "cpu=8,gres/gpu:a100=1,gres/gpu:v100=2,gres/gpu=3"})
    3
    >>> gpus_of({"reqtres": "gres/gpu:a100=1,gres/gpu:v100=2"}), gpus_of({"reqgres": "gpu:2"})
    (3, 2)
    """
    for name in ("alloctres", "reqtres", "allocgres", "reqgres"):
        found = amounts_of(row.get(name, ""))
        kinds = [one for one in found if one.partition(":")[0] in ("gres/gpu", "gpu")]
        total = [one for one in kinds if ":" not in one]
        count = sum(_whole(found, one) for one in total or kinds)
        if count:
            return count
    return 0


def memory_mb(row: Mapping[str, str], cpus: int, nodes: int) -> int | None:
    """The memory of a job on one node; None if there is none.

    `4Gn` is for each node, `4Gc` for each processor, and `4G` for the whole job.

    >>> memory_mb({"reqmem": "2Gc"}, 8, 2), memory_mb({"reqmem": "31000Mn"}, 8, 2)
    (8192, 31000)
    >>> memory_mb({"reqmem": "16G"}, 8, 2), memory_mb({"reqmem": ""}, 8, 2)
    (8192, None)
    >>> memory_mb({"reqmem": "2147486648Mn"}, 8, 2)  # 3000 MB a processor
    12000
    >>> memory_mb({"reqmem": "0n", "reqtres": "cpu=8,mem=62.50G,node=2"}, 8, 2)
    32000
    """
    for text in (
        row.get("reqmem", ""),
        amounts_of(row.get("reqtres", "")).get("mem", ""),
        amounts_of(row.get("alloctres", "")).get("mem", ""),
    ):
        found = _MEMORY.fullmatch(text.strip())
        if found is None or not float(found[1]):
            continue
        amount, scope = float(found[1]) * _SIZES_MB[found[2]], found[3]
        if amount > 2**50:
            raise ValueError(f"the memory is {text.strip()[:20]}, more than any machine has")
        if scope and amount >= _PER_CPU:
            amount, scope = amount - _PER_CPU, "c"
        if scope == "n":
            return max(1, math.ceil(amount))
        if scope == "c":
            return max(1, math.ceil(amount * -(-cpus // nodes)))
        return max(1, math.ceil(amount / nodes))
    return None


def node_names(text: str) -> list[str]:
    """The names in a list of nodes; none if it is not one, or has more than MOST_NAMES.

    >>> node_names("cpn-f[1-3,07],big")
    ['cpn-f1', 'cpn-f2', 'cpn-f3', 'cpn-f07', 'big']
    >>> node_names("r[1-2]n[1-2]")
    ['r1n1', 'r1n2', 'r2n1', 'r2n2']
    >>> node_names("n[1-999999999]"), node_names("n[a-b]"), node_names("n[1-2")
    ([], [], [])
    """
    all_names: list[str] = []
    for part in _NAME.findall(text):
        names = [""]
        for number, piece in enumerate(_RANGE.split(part)):
            ends = _numbers(piece) if number % 2 else [piece]
            if len(names) * len(ends) + len(all_names) > MOST_NAMES:
                return []
            names = [before + after for before in names for after in ends]
        all_names += names
    return (
        []
        if any("[" in one for one in all_names) or text.count("[") != text.count("]")
        else all_names
    )


def _numbers(text: str) -> list[str]:
    """`1-3,07` is `1`, `2`, `3`, `07`; empty if it is not numbers, or too many."""
    numbers: list[str] = []
    for span in text.split(","):
        first, _, last = span.partition("-")
        last = last or first
        if not (first + last).isascii() or not first.isdigit() or not last.isdigit():
            return []
        if len(last) > 9 or len(first) > 9 or int(last) - int(first) >= MOST_NAMES:
            return []
        numbers += [f"{one:0{len(first)}}" for one in range(int(first), int(last) + 1)]
    return numbers
