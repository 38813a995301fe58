"""The trace of Philly, Microsoft's cluster for training (https://github.com/msr-fiddle/philly-traces),
in two forms.

The table that simulators of training share has a row for each job, with its GPUs and its run time.
The virtual cluster is user and queue: this form has no users.

The log as it was published, `cluster_job_log`, has users, attempts and the GPUs of each machine,
and `cluster_machine_list` beside it. A job runs as long as its attempts together: what failed has
run on its GPUs, too.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fairshare.lab.simulate.traces.records import (
    ALONE,
    MOST_GPUS,
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
    TraceUnreadable,
    beginning_of,
    damaged,
    elements_of,
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
_KEYS = ('"attempts"', '"submitted_time"', '"vc"')
_MACHINES = ("machineId", "number of GPUs", "single GPU mem")


def has_table(path: Path) -> bool:
    """Whether there is a table of jobs."""
    return table_in(path, JOBS) is not None


def read_table(path: Path) -> Trace:
    """Read jobs, and the sizes of virtual clusters beside them."""
    file = table_in(path, JOBS)
    assert file is not None
    sizes = [one for one in files_in(file.parent) if header_of(one) == SIZES]
    count = sum(nodes for one in sizes for _, nodes in parsed(one, rows_of(one), _nodes_in))
    nodes = (TraceNodes(count, with_cpus(PER_NODE)),) if count else ()
    notes = [ALONE, "The trace has no users: the jobs of each virtual cluster are one user's."]
    return Trace(f"Philly: {file.name}", nodes, in_order(_table_jobs(file, notes)), notes)


def _nodes_in(row: Mapping[str, str]) -> int:
    return whole(row, "node num")


def _table_job(row: Mapping[str, str]) -> tuple[float, tuple[TraceGroup, ...], str]:
    gpus, run_ms = whole(row, "num_gpus"), round(number(row, "duration") * 1000)
    groups = workers(gpus, run_ms) if gpus else ()
    return seconds_of(row["timestamp"]), groups, row["cluster"]


def _table_jobs(file: Path, notes: list[str]) -> Iterator[tuple[float, TraceJob]]:
    why: Counter[str] = Counter()
    for line, (at_s, groups, cluster) in parsed(file, rows_of(file), _table_job):
        if groups:
            yield at_s, TraceJob(line, f"job{line - 1}", 0, cluster, groups, cluster)
        else:
            why["ask for no GPU"] += 1
    notes += left_out(why)


def has_log(path: Path) -> bool:
    """Whether there is a log of jobs."""
    return any(_is_log(one) for one in files_in(path))


def _is_log(path: Path) -> bool:
    try:
        text = beginning_of(path)
    except TraceUnreadable:
        return False
    return text.lstrip().startswith("[") and all(key in text for key in _KEYS)


def read_log(path: Path) -> Trace:
    """Read the log, and the list of machines beside it."""
    file = next(log for log in files_in(path) if _is_log(log))
    notes = [ALONE, "A job runs as long as its attempts together."]
    lists = [
        machines
        for machines in files_in(file.parent)
        if tuple(name.strip() for name in header_of(machines)) == _MACHINES
    ]
    sizes = Counter(
        gpus for machines in lists for _, gpus in parsed(machines, rows_of(machines), _machine)
    )
    nodes = tuple(
        TraceNodes(count, with_cpus(gpus), f"machines-of-{gpus}")
        for gpus, count in sorted(sizes.items())
    )
    return Trace(f"Philly: {file.name}", nodes, in_order(_log_jobs(file, notes)), notes)


def _machine(row: Mapping[str, str]) -> int:
    text = list(row.values())[1].strip()
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= 1_000):
        raise ValueError(f"number of GPUs is {text!r}, not a whole number from 1 to 1,000")
    return int(text)


def _log_jobs(file: Path, notes: list[str]) -> Iterator[tuple[float, TraceJob]]:
    why: Counter[str] = Counter()
    for line, document in elements_of(file):
        try:
            job = _log_job(line, document)
        except (KeyError, TypeError, AttributeError) as error:
            damaged(file, line, f"is not a job of Philly's: {error!r}", error)
            continue
        except ValueError as error:
            damaged(file, line, str(error), error)
            continue
        if isinstance(job, str):
            why[job] += 1
        else:
            yield job
    notes += left_out(why)


def _log_job(line: int, document: Mapping[str, Any]) -> str | tuple[float, TraceJob]:
    """The job; or why it is left out."""
    began = [one for one in document["attempts"] if _known(one.get("start_time"))]
    if not began:
        return "never started"
    if not _known(began[-1].get("end_time")):
        return "have not ended"
    spans = [
        seconds_of(one["end_time"]) - seconds_of(one["start_time"])
        for one in began
        if _known(one.get("end_time"))
    ]
    shape = Counter(len(place["gpus"]) for place in began[-1]["detail"] if place["gpus"])
    if not shape:
        return "have no GPU"
    if sum(gpus * count for gpus, count in shape.items()) > MOST_GPUS:
        raise ValueError(f"has more than {MOST_GPUS:,} GPUs")
    run_ms = round(sum(max(0.0, span) for span in spans) * 1000)
    groups = tuple(
        TraceGroup(f"workers{gpus}", count, run_ms, with_cpus(gpus), gang=count > 1)
        for gpus, count in sorted(shape.items())
    )
    submit_s = seconds_of(document["submitted_time"])
    waited_ms = max(0, round((seconds_of(began[0]["start_time"]) - submit_s) * 1000))
    user, queue = str(document["user"] or "unknown"), str(document["vc"] or "") or None
    name = str(document["jobid"])
    return submit_s, TraceJob(line, name, 0, user, groups, queue, waited_ms)


def _known(value: object) -> bool:
    return value not in (None, "", "None")
