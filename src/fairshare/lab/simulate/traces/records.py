"""What a trace says, whatever its format: nodes, jobs in the order of their arrival, whatever the
order of their file, and how jobs that train on GPUs become tasks.

Knows no file and no configuration: `fitting` turns a trace into the workload of a cluster.
"""

import heapq
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import IO, Final

import msgspec

from fairshare.core.model.resources import MEMORY, VCORES
from fairshare.documents.gpus import GPU
from fairshare.documents.ready import ready
from fairshare.lab.simulate.traces.rows import TraceUnreadable
from fairshare.wording import cause


class TraceGroup(msgspec.Struct, frozen=True, gc=False):
    """`count` tasks that run at the same time, each with `amounts` by resource type.

    Memory is in MB. They start when the groups in `after` have ended. A `gang` starts as a whole.
    """

    name: str
    count: int
    durations_ms: int | tuple[int, ...]
    amounts: dict[str, int]
    after: tuple[str, ...] = ()
    gang: bool = False


class TraceJob(msgspec.Struct, frozen=True, gc=False):
    """One job, of the line `line` of its file, `at_ms` after the trace began.

    `queue` is what the trace's cluster had for a queue: a partition, a virtual cluster; None if the
    trace has no such thing. `waited_ms` is how long it waited there, None if that is not known.
    """

    line: int
    name: str
    at_ms: int
    user: str
    groups: tuple[TraceGroup, ...]
    queue: str | None = None
    waited_ms: int | None = None


class TraceNodes(msgspec.Struct, frozen=True):
    """`count` nodes alike; `name` is that of one, or what their numbers follow."""

    count: int
    amounts: dict[str, int]
    name: str = "node"
    rack: str | None = None


class Trace(msgspec.Struct):
    """A trace. `jobs` are read while they are iterated, and `notes` are complete only afterwards:
    they say what was assumed, and what was left out how often."""

    title: str
    nodes: tuple[TraceNodes, ...]
    jobs: Iterator[TraceJob]
    notes: list[str]


IN_MEMORY: Final = 200_000
"""How many jobs are sorted in memory; more are sorted in parts of so many, in temporary files."""

_Arrival = tuple[float, TraceJob]


def in_order(jobs: Iterable[_Arrival]) -> Iterator[TraceJob]:
    """Jobs with the seconds of their arrival, sorted, with times since the first one."""
    with ExitStack() as files:
        parts: list[Iterator[_Arrival]] = []
        part: list[_Arrival] = []
        for arrival in jobs:
            part.append(arrival)
            if len(part) >= IN_MEMORY:
                file = files.enter_context(_file())
                parts.append(_written(sorted(part, key=_key), file))
                part = []
        parts.append(iter(sorted(part, key=_key)))
        first_s: float | None = None
        for at_s, job in heapq.merge(*parts, key=_key):
            first_s = at_s if first_s is None else first_s
            yield msgspec.structs.replace(job, at_ms=round((at_s - first_s) * 1000))


def _file() -> IO[bytes]:
    try:
        return tempfile.TemporaryFile()
    except OSError as error:
        raise TraceUnreadable(_no_room(error)) from error


def _no_room(error: OSError) -> str:
    return (
        f"cannot sort the jobs of the trace in a temporary file: {cause(error)}; set TMPDIR to a"
        " directory with room"
    )


def _key(arrival: _Arrival) -> tuple[float, int]:
    return arrival[0], arrival[1].line


def _written(part: list[_Arrival], file: IO[bytes]) -> Iterator[_Arrival]:
    """Write a sorted part; returns what reads it again. Each job follows its length."""
    encode = msgspec.msgpack.Encoder().encode
    try:
        for arrival in part:
            encoded = encode(arrival)
            file.write(len(encoded).to_bytes(4, "big") + encoded)
        file.seek(0)
    except OSError as error:
        raise TraceUnreadable(_no_room(error)) from error
    return _read(file)


def _read(file: IO[bytes]) -> Iterator[_Arrival]:
    decode = msgspec.msgpack.Decoder(ready(tuple[float, TraceJob])).decode
    while length := file.read(4):
        yield decode(file.read(int.from_bytes(length, "big")))


PER_NODE = 8
"""The GPUs of a node."""
MOST_GPUS = 100_000
"""Of one job: a larger number is a mistake."""
ALONE = "The trace has GPUs alone: each comes with 1 vcore and 1 GB."


def with_cpus(gpus: int) -> dict[str, int]:
    """GPUs, and what comes with them."""
    return {MEMORY: 1024 * gpus, VCORES: gpus, GPU: gpus}


def tasks_of(gpus: int) -> int:
    """The least number of tasks that divide the GPUs evenly, none larger than a node.

    >>> [tasks_of(gpus) for gpus in (1, 8, 12, 16, 13)]
    [1, 1, 2, 2, 13]
    """
    count = -(-gpus // PER_NODE)
    while gpus % count:
        count += 1
    return count


def workers(gpus: int, run_ms: int) -> tuple[TraceGroup, ...]:
    """The tasks of a job, which start together; raises ValueError for a number that cannot be."""
    if not 0 < gpus <= MOST_GPUS:
        raise ValueError(f"{gpus:,} is not a number of GPUs from 1 to {MOST_GPUS:,}")
    count = tasks_of(gpus)
    return (TraceGroup("workers", count, run_ms, with_cpus(gpus // count), gang=count > 1),)
