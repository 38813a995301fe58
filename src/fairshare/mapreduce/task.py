"""The program that runs in a container: `python -m fairshare.mapreduce.task OUTPUT KIND [N]`.

KIND is map, reduce or commit; N is the task's number, by default that of the container's task. The
exit code is 0 if the task is committed, by this attempt or an earlier one, and 1 if it failed.
"""

import os
import resource
import shutil
import signal
import sys
from pathlib import Path
from types import FrameType

from fairshare.mapreduce import commit
from fairshare.mapreduce.counters import CPU_MS, begin
from fairshare.mapreduce.functions import Functions
from fairshare.mapreduce.job import COMMIT, COUNTERS, MAP, Job, Layout, TaskFailed, read_splits
from fairshare.mapreduce.map_task import MapTask
from fairshare.mapreduce.reduce_task import ReduceTask
from fairshare.runtime.collection import collect_rarely
from fairshare.wording import failed_call


def main(arguments: list[str]) -> int:
    """Run one attempt; returns the exit code."""
    layout = Layout(Path(arguments[0]))
    kind = arguments[1]
    signal.signal(signal.SIGTERM, _stop)
    collect_rarely()  # the buffer has many small objects that stay
    try:
        if kind == COMMIT:
            commit.commit(layout)
        else:
            number = arguments[2] if len(arguments) > 2 else os.environ["FAIRSHARE_TASK_INDEX"]
            attempt(layout, kind, int(number))
    except TaskFailed as failure:
        print(failure, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"the task cannot go on: {failed_call(error)}", file=sys.stderr)
        return 1
    return 0


def _stop(number: int, frame: FrameType | None) -> None:
    """Exit through every `finally`, so that an ended container removes its directory."""
    signal.signal(number, signal.SIG_IGN)
    raise SystemExit(128 + number)


def attempt(layout: Layout, kind: str, index: int) -> None:
    """Run one attempt of a map or reduce, and commit it unless another one was faster."""
    target = layout.task(kind, index)
    if target.exists():
        return
    job = Job.read(layout)
    group = os.environ.get("FAIRSHARE_TASK_GROUP", kind)
    container = os.environ.get("FAIRSHARE_CONTAINER_ID", str(os.getpid()))
    folder = layout.attempt(kind, index, group, container)
    # Only one container of a group runs a task at a time: directories of earlier ones are unused.
    prefix = folder.name.removesuffix(container)
    for left in layout.attempts.iterdir():
        if left.name.startswith(prefix):
            shutil.rmtree(left, ignore_errors=True)
    folder.mkdir()
    reports = begin(folder)
    functions = Functions.read(layout.functions) if job.functions else None
    tried = os.environ.get("FAIRSHARE_TASK_ATTEMPT", "1")
    try:
        if kind == MAP:
            split = read_splits(layout.splits)[index]
            MapTask(job, split, index, tried, folder, reports).run(functions)
        else:
            ReduceTask(job, index, tried, layout, folder, reports).run(functions)
        reports.counters.add(CPU_MS, cpu_ms())
        reports.counters.write(folder / COUNTERS)
        commit_attempt(folder, target)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def commit_attempt(folder: Path, target: Path) -> bool:
    """Make an attempt's directory that of the task; False if the task has one already.

    A rename never replaces a directory with files, so that the first attempt wins.
    """
    try:
        folder.rename(target)
    except OSError:
        if target.exists():
            return False
        raise
    return True


def cpu_ms() -> int:
    """The CPU time that this attempt and its commands have used, in milliseconds."""
    used = [
        resource.getrusage(processes)
        for processes in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    ]
    return round(sum(one.ru_utime + one.ru_stime for one in used) * 1000)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
