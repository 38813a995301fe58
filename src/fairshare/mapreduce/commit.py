"""Owns the ends of a job: the commit that makes its result whole, and the clearing after a failure.

A commit may be interrupted at any place and run again. First the counters are kept, then the parts
are renamed, then the job is marked as whole, and at last the temporary files go.
"""

import contextlib
import shutil
import time
from pathlib import Path

from fairshare.mapreduce.counters import Counters
from fairshare.mapreduce.failure import TaskFailed
from fairshare.mapreduce.job import Job
from fairshare.mapreduce.layout import COUNTERS, MAP, REDUCE, RESULT, Layout

CLEARING_S = 5.0
"""How long attempts that are being ended may go on to write."""


def commit(layout: Layout) -> None:
    """Make the result whole; does nothing where it is. Raises TaskFailed if a task is missing."""
    if not layout.success.exists():
        job = Job.read(layout)
        kind, count = (REDUCE, job.reduces) if job.reduces else (MAP, job.maps)
        parts = [(layout.task(kind, index) / RESULT, layout.part(index)) for index in range(count)]
        lost = [part.name for file, part in parts if not (file.exists() or part.exists())]
        if lost:
            raise TaskFailed(f"{', '.join(lost)}: no task has committed it; was it removed?")
        folders = [layout.task(MAP, index) for index in range(job.maps)]
        folders += [layout.task(REDUCE, index) for index in range(job.reduces)]
        _write_counters(layout, folders)
        for file, part in parts:
            with contextlib.suppress(FileNotFoundError):  # renamed by an earlier attempt
                file.replace(part)
        layout.success.touch()
    shutil.rmtree(layout.temporary, ignore_errors=True)


def _write_counters(layout: Layout, folders: list[Path]) -> None:
    total = Counters.total(folder / COUNTERS for folder in folders)
    draft = layout.temporary / COUNTERS
    total.write(draft)
    draft.replace(layout.counters)


def clear(layout: Layout) -> None:
    """Remove what a job has left that will not be committed, and its output if that is empty."""
    deadline_s = time.monotonic() + CLEARING_S
    while layout.temporary.exists():
        shutil.rmtree(layout.temporary, ignore_errors=True)
        if time.monotonic() > deadline_s:
            break
    with contextlib.suppress(OSError):  # some parts are there: the commit was under way
        layout.output.rmdir()
