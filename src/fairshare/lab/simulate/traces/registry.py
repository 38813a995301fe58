"""The list of formats of traces. A new format is one reader and one line here."""

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from fairshare.lab.simulate.traces import alibaba, google, hadoop, helios, philly, slurm, swf, swim
from fairshare.lab.simulate.traces.records import Trace, TraceJob
from fairshare.lab.simulate.traces.rows import TraceUnreadable, skipped


class Format(msgspec.Struct, frozen=True):
    """One format: its name, by what it is recognized, and its reader."""

    name: str
    matches: Callable[[Path], bool]
    read: Callable[[Path], Trace]


FORMATS = (
    Format("Standard Workload Format (.swf)", swf.matches, swf.read),
    Format("SLS jobs (.json with job.tasks)", hadoop.is_sls, hadoop.read_sls),
    Format("Rumen jobs (.json with mapTasks)", hadoop.is_rumen, hadoop.read_rumen),
    Format("SLS random workloads", hadoop.is_random, hadoop.read_random),
    Format("SWIM (.tsv)", swim.matches, swim.read),
    Format("Slurm's accounts (sacct --parsable2)", slurm.matches, slurm.read),
    Format("Alibaba's pods of 2023", alibaba.has_pods, alibaba.read_pods),
    Format("Alibaba's DLRM instances of 2025", alibaba.has_instances, alibaba.read_instances),
    Format(
        "Alibaba's nodes and jobs with GPUs of 2026", alibaba.has_gpu_nodes, alibaba.read_gpu_nodes
    ),
    Format("Google's cluster data of 2011 and 2019", google.matches, google.read),
    Format("Philly's table of jobs", philly.has_table, philly.read_table),
    Format("Philly's log of jobs", philly.has_log, philly.read_log),
    Format("Helios' log of jobs", helios.has_log, helios.read_log),
    Format("Helios' demand", helios.has_demand, helios.read_demand),
)


def is_trace(path: Path) -> bool:
    """Whether a file or directory has a trace of a known format."""
    readable = path.is_file() or path.is_dir()  # reading a pipe would wait for its writer
    return readable and any(one.matches(path) for one in FORMATS)


def open_trace(path: Path) -> Trace:
    """The trace in a file or a directory; its content says the format. Raises TraceUnreadable."""
    if not path.exists():
        raise TraceUnreadable(f"there is no trace {path}")
    if not path.is_file() and not path.is_dir():
        raise TraceUnreadable(f"{path} is not a file or a directory: write the trace to a file")
    for form in FORMATS:
        if form.matches(path):
            trace = form.read(path)
            trace.jobs = _with_note(trace, trace.jobs)
            return trace
    known = "; ".join(form.name for form in FORMATS)
    raise TraceUnreadable(f"no known trace is in {path}. Formats: {known}")


def _with_note(trace: Trace, jobs: Iterator[TraceJob]) -> Iterator[TraceJob]:
    """The jobs, and behind them a note about damaged lines that were left out."""
    yield from jobs
    counts = skipped.get()
    if counts is not None and counts.note:
        trace.notes.append(counts.note)
