"""Tables for tests of readers of traces: files from texts, and the shared traces."""

from itertools import islice
from pathlib import Path

import pytest

from fairshare.lab.simulate.traces.records import TraceJob
from fairshare.lab.simulate.traces.registry import open_trace

SHARED = Path(__file__).parents[6] / "shared" / "data" / "traces"


def jobs_and_notes(path: Path) -> tuple[list[TraceJob], str]:
    """All jobs of a trace, and its notes, one on each line."""
    trace = open_trace(path)
    return list(trace.jobs), "\n".join(trace.notes)


def first_jobs(folder: str, count: int = 300) -> tuple[tuple, list[TraceJob]]:
    """The nodes and the first jobs of a shared trace; skips the test without it."""
    if not (SHARED / folder).is_dir():
        pytest.skip(f"the trace ../shared/data/traces/{folder} is not here")
    trace = open_trace(SHARED / folder)
    jobs = list(islice(trace.jobs, count))
    arrivals = [job.at_ms for job in jobs]
    assert arrivals == sorted(arrivals)
    return trace.nodes, jobs
