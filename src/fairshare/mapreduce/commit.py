"""The end of a job: the commit of its result, and the cleanup after a failure.

A commit can be interrupted at any point and repeated. It writes the counters, renames the parts,
marks the job as successful, and finally removes the temporary files.
"""

import contextlib
import shutil
import time

from fairshare.mapreduce.counters import Counters
from fairshare.mapreduce.job import COUNTERS, MAP, REDUCE, RESULT, Job, Layout, TaskFailed

CLEARING_S = 5.0
"""How long the cleanup waits for ending attempts that still write files."""


def commit(layout: Layout) -> None:
    """Commit the result, unless it is committed. Raises TaskFailed if a task is missing."""
    if not layout.success.exists():
        job = Job.read(layout)
        kind, count = (REDUCE, job.reduces) if job.reduces else (MAP, job.maps)
        parts = [(layout.task(kind, index) / RESULT, layout.part(index)) for index in range(count)]
        lost = [part.name for file, part in parts if not (file.exists() or part.exists())]
        if lost:
            raise TaskFailed(f"{', '.join(lost)}: no task has committed it; was it removed?")
        folders = [layout.task(MAP, index) for index in range(job.maps)]
        folders += [layout.task(REDUCE, index) for index in range(job.reduces)]
        total = Counters.total(folder / COUNTERS for folder in folders)
        draft = layout.temporary / COUNTERS
        total.write(draft)
        draft.replace(layout.counters)
        for file, part in parts:
            with contextlib.suppress(FileNotFoundError):  # renamed by an earlier attempt
                file.replace(part)
        layout.success.touch()
    shutil.rmtree(layout.temporary, ignore_errors=True)


def clear(layout: Layout) -> None:
    """Remove the temporary files of a job that will not be committed, and its output directory if
    it is empty."""
    deadline_s = time.monotonic() + CLEARING_S
    while layout.temporary.exists():
        shutil.rmtree(layout.temporary, ignore_errors=True)
        if time.monotonic() > deadline_s:
            break
    with contextlib.suppress(OSError):  # parts exist: the commit was interrupted
        layout.output.rmdir()
