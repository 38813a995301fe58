"""The trace of Philly, Microsoft's cluster for training, in the flat form that simulators of
training share: a row for each job, with its GPUs and its run time
(https://github.com/msr-fiddle/philly-traces).

The virtual cluster is user and queue: this form has no users.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from fairshare.lab.simulate.traces.records import (
    ALONE,
    PER_NODE,
    Trace,
    TraceGroup,
    TraceJob,
    TraceNodes,
    in_order,
    with_cpus,
    workers,
)
from fairshare.lab.simulate.traces.rows import (
    files_in,
    header_of,
    left_out,
    number,
    parsed,
    rows_of,
    seconds_of,
    table_in,
    whole,
)

JOBS = frozenset({"timestamp", "duration", "num_gpus", "cluster"})
SIZES = ("vc", "node num")


def matches(path: Path) -> bool:
    """Whether there is a table of jobs."""
    return table_in(path, JOBS) is not None


def read(path: Path) -> Trace:
    """Read jobs, and the sizes of virtual clusters beside them."""
    file = table_in(path, JOBS)
    assert file is not None
    sizes = [one for one in files_in(file.parent) if header_of(one) == SIZES]
    count = sum(nodes for one in sizes for _, nodes in parsed(one, rows_of(one), _size))
    nodes = (TraceNodes(count, with_cpus(PER_NODE)),) if count else ()
    notes = [ALONE, "The trace has no users: the jobs of each virtual cluster are one user's."]
    return Trace(f"Philly: {file.name}", nodes, in_order(_jobs(file, notes)), notes)


def _size(row: Mapping[str, str]) -> int:
    return whole(row, "node num")


def _job(row: Mapping[str, str]) -> tuple[float, tuple[TraceGroup, ...], str]:
    gpus, run_ms = whole(row, "num_gpus"), round(number(row, "duration") * 1000)
    groups = workers(gpus, run_ms) if gpus else ()
    return seconds_of(row["timestamp"]), groups, row["cluster"]


def _jobs(file: Path, notes: list[str]) -> Iterator[tuple[float, TraceJob]]:
    why: Counter[str] = Counter()
    for line, (at_s, groups, cluster) in parsed(file, rows_of(file), _job):
        if groups:
            yield at_s, TraceJob(line, f"job{line - 1}", 0, cluster, groups, cluster)
        else:
            why["ask for no GPU"] += 1
    notes += left_out(why)
