"""Two traces of Helios, SenseTime's clusters for training: the log of jobs
(https://github.com/S-Lab-System-Group/HeliosData), and the demand of virtual clusters over time.

The demand has no jobs. What runs and what waits, from one sample to the next, says how many GPUs
arrived, started and ended in between; the first to arrive is the first to start and to end.
"""

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from fairshare.core.model.resources import MEMORY, VCORES
from fairshare.documents.gpus import GPU
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
)
from fairshare.lab.simulate.traces.rows import (
    left_out,
    parsed,
    rows_of,
    seconds_of,
    table_in,
    whole,
)

DEMAND = frozenset({"time", "vc", "vc_gpus", "running_gpus", "pending_gpus"})
LOG = frozenset(
    {"job_id", "user", "vc", "gpu_num", "cpu_num", "node_num", "submit_time", "start_time"}
    | {"end_time"}
)
_UNKNOWN = ("", "None", "nan", "NaT", "Unknown")


def has_log(path: Path) -> bool:
    """Whether there is a log of jobs."""
    return table_in(path, LOG) is not None


def read_log(path: Path) -> Trace:
    """Read a log of jobs, each with a task for each of its nodes."""
    file = table_in(path, LOG)
    assert file is not None
    notes = ["The log has no memory: each processor comes with 1 GB."]
    return Trace(f"Helios: {file.name}", (), in_order(_logged(file, notes)), notes)


def _logged(file: Path, notes: list[str]) -> Iterator[tuple[float, TraceJob]]:
    why: Counter[str] = Counter()
    for line, logged in parsed(file, rows_of(file), _logged_job):
        if isinstance(logged, str):
            why[logged] += 1
        else:
            at_s, job = logged
            yield at_s, msgspec.structs.replace(job, line=line)
    notes += left_out(why)


def _logged_job(row: Mapping[str, str]) -> str | tuple[float, TraceJob]:
    """The job of a row, without its line; or why it is left out."""
    if row["start_time"] in _UNKNOWN:
        return "never started"
    if row["end_time"] in _UNKNOWN:
        return "have not ended"
    submit_s, began_s, ended_s = (
        seconds_of(row[name]) for name in ("submit_time", "start_time", "end_time")
    )
    if ended_s < began_s:
        return "ended before they started"
    gpus, vcores, count = whole(row, "gpu_num"), whole(row, "cpu_num"), whole(row, "node_num")
    if max(gpus, vcores, count) > MOST_GPUS:
        raise ValueError(f"has more than {MOST_GPUS:,} GPUs, processors or nodes")
    count = max(1, count)
    each = max(1, -(-vcores // count))
    amounts = {MEMORY: 1024 * each, VCORES: each}
    if gpus:
        amounts[GPU] = -(-gpus // count)
    run_ms, waited_ms = round((ended_s - began_s) * 1000), round((began_s - submit_s) * 1000)
    groups = (TraceGroup("workers", count, run_ms, amounts, gang=count > 1),)
    name, user = f"job{row['job_id']}", row["user"] or "unknown"
    return submit_s, TraceJob(0, name, 0, user, groups, row["vc"] or None, max(0, waited_ms))


def has_demand(path: Path) -> bool:
    """Whether there is a table of demand."""
    return table_in(path, DEMAND) is not None


def read_demand(path: Path) -> Trace:
    """Read the demand of virtual clusters."""
    file = table_in(path, DEMAND)
    assert file is not None
    totals: Counter[float] = Counter()
    for _, step in parsed(file, rows_of(file), _step):
        totals[step.at_s] += step.quota
    count = -(-max(totals.values(), default=0) // PER_NODE)
    notes = [
        ALONE,
        "The trace has GPUs that run and wait, and no jobs: those that arrive between two samples"
        " are one job with a task for each, and the first to arrive is the first to end.",
        "The trace has no users: the jobs of each virtual cluster are one user's.",
    ]
    nodes = (TraceNodes(count, with_cpus(PER_NODE)),) if count else ()
    return Trace(f"Helios' demand: {file.name}", nodes, in_order(_demand_jobs(file, notes)), notes)


class _Step(msgspec.Struct, frozen=True):
    """A sample of one virtual cluster."""

    at_s: float
    name: str
    running: int
    pending: int
    quota: int


def _step(row: Mapping[str, str]) -> _Step:
    amounts = [whole(row, name) for name in ("running_gpus", "pending_gpus", "vc_gpus")]
    if max(amounts) > MOST_GPUS:
        raise ValueError(f"has more than {MOST_GPUS:,} GPUs")
    return _Step(seconds_of(row["time"]), row["vc"], *amounts)


class _Arrived(msgspec.Struct):
    """GPUs that arrived together: when, on which line, and how long those ran that have ended."""

    at_s: float
    line: int
    name: str
    durations_ms: list[int] = []


class _Cluster:
    """The GPUs of one virtual cluster that wait and run, the first to arrive first."""

    def __init__(self) -> None:
        self.waiting: deque[_Arrived] = deque()
        self.running: deque[tuple[_Arrived, float]] = deque()

    def move(self, line: int, step: _Step) -> _Arrived | None:
        """Go to the next sample; returns what arrived.

        As few as the samples allow arrive, start and end. Those that waited and are gone, while no
        more run, have started as others ended: 3 run and 2 wait, then 3 run and 1 waits, means that
        one ended and one started.
        """
        more = step.running - len(self.running)
        longer = step.pending - len(self.waiting)
        arriving = max(0, longer + max(0, more))
        starting = arriving - longer
        arrived = _Arrived(step.at_s, line, step.name)
        self.waiting += [arrived] * arriving
        self.running += [(self.waiting.popleft(), step.at_s) for _ in range(starting)]
        for _ in range(starting - more):
            self._end(step.at_s)
        return arrived if arriving else None

    def _end(self, at_s: float) -> None:
        arrived, began_s = self.running.popleft()
        arrived.durations_ms.append(round((at_s - began_s) * 1000))

    def close(self, at_s: float) -> tuple[int, int]:
        """End what runs at the end of the trace; returns how many ran, and how many waited."""
        count = len(self.running)
        while self.running:
            self._end(at_s)
        return count, len(self.waiting)


def _demand_jobs(file: Path, notes: list[str]) -> Iterator[tuple[float, TraceJob]]:
    steps = sorted(
        ((step.at_s, line, step) for line, step in parsed(file, rows_of(file), _step)),
        key=lambda found: found[:2],
    )
    clusters: dict[str, _Cluster] = {}
    arrivals = []
    for _, line, step in steps:
        arrived = clusters.setdefault(step.name, _Cluster()).move(line, step)
        if arrived is not None:
            arrivals.append(arrived)
    times_s = sorted({at_s for at_s, _, _ in steps})
    last_s = times_s[-1] if times_s else 0.0
    end_s = 2 * last_s - times_s[-2] if len(times_s) > 1 else last_s  # the last sample lasts, too
    ends = [arrival.close(end_s) for arrival in clusters.values()]
    cut, never = (sum(counts) for counts in zip(*ends, strict=True)) if ends else (0, 0)
    unseen = 0
    for arrival in arrivals:
        durations_ms = tuple(ms for ms in arrival.durations_ms if ms)
        unseen += len(arrival.durations_ms) - len(durations_ms)
        if durations_ms:
            group = TraceGroup("gpus", len(durations_ms), durations_ms, with_cpus(1))
            name = f"{arrival.name}-{arrival.line}"
            yield (
                arrival.at_s,
                TraceJob(arrival.line, name, 0, arrival.name, (group,), arrival.name),
            )
    if cut:
        notes.append(f"GPUs in use when the trace ends, whose run times end with it: {cut:,}.")
    if unseen:
        notes.append(f"GPUs that were waited for and seen in no sample, left out: {unseen:,}.")
    if never:
        notes.append(f"GPUs that were waited for until the trace ends, left out: {never:,}.")
