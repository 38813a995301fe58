"""SWIM's samples of Facebook's clusters: jobs as amounts of data, without a cluster.

Columns: job, submission and gap to the one before in seconds, bytes of map input, shuffle and
output of reduces (https://github.com/SWIMProjectUCB/SWIM). A map reads a block of 128 MB and a
reduce gets 1 GB, as SWIM's own generator sizes them; run times follow from RATE.
"""

import math
from collections.abc import Iterator
from pathlib import Path

from fairshare.core.model.resources import MEMORY, VCORES
from fairshare.lab.simulate.traces.records import Trace, TraceGroup, TraceJob
from fairshare.lab.simulate.traces.rows import damaged, files_in, kind_of, lines_of

TITLE = "SWIM"
BLOCK_BYTES = 128 * 1024 * 1024
REDUCE_BYTES = 1024 * 1024 * 1024
RATE = 20 * 1024 * 1024
"""Bytes that a task processes in a second."""
STARTUP_MS = 2_000
COLUMNS = 6
MOST_TASKS = 100_000


def matches(path: Path) -> bool:
    """Whether there is a table of six columns whose first is a job."""
    return any(_is_sample(one) for one in files_in(path))


def _is_sample(path: Path) -> bool:
    if kind_of(path) != ".tsv":
        return False
    _, first = next(lines_of(path), (1, ""))
    columns = first.split("\t")
    return len(columns) == COLUMNS and all(one.isdigit() for one in columns[1:])


def read(path: Path) -> Trace:
    """Read a sample."""
    file = next(one for one in files_in(path) if _is_sample(one))
    notes = [
        "The trace has amounts of data alone: a map for each 128 MB, a reduce for each 1 GB of"
        f" shuffled data, {RATE // 2**20} MB a second and 2 s to start."
    ]
    return Trace(f"{TITLE}: {file.name}", (), _jobs(file), notes)


def _jobs(file: Path) -> Iterator[TraceJob]:
    for number, line in lines_of(file):
        columns = line.split("\t")
        if len(columns) != COLUMNS or not all(one.isdigit() for one in columns[1:]):
            reason = "must be job, submission, gap and three amounts of bytes, between tabs"
            damaged(file, number, reason)
            continue
        submit_s, _, read_bytes, shuffled, written = map(int, columns[1:])
        groups = [_group("map", _count(read_bytes, BLOCK_BYTES), read_bytes)]
        if shuffled or written:
            reduces = _count(max(shuffled, written), REDUCE_BYTES)
            groups.append(_group("reduce", reduces, shuffled + written, after=("map",)))
        yield TraceJob(number, columns[0], submit_s * 1000, "facebook", tuple(groups))


def _count(amount: int, each: int) -> int:
    return min(MOST_TASKS, max(1, -(-amount // each)))


def _group(name: str, count: int, amount: int, after: tuple[str, ...] = ()) -> TraceGroup:
    run_ms = STARTUP_MS + math.ceil(amount / count / RATE * 1000)
    return TraceGroup(name, count, run_ms, {MEMORY: 1024, VCORES: 1}, after)
