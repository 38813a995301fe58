"""Owns the places of a job's files below its output directory. Reads and writes none of them.

    OUTPUT/part-00000 ...             the result, one file for each reduce (or map, without reduces)
    OUTPUT/_SUCCESS                   the job is whole
    OUTPUT/_counters.json             its counters
    OUTPUT/_temporary/job.json        what is to be done; splits.json: where each map begins
    OUTPUT/_temporary/functions       pickled Python functions, if it has some
    OUTPUT/_temporary/attempts/...    what attempts are working on, one folder each
    OUTPUT/_temporary/committed/...   what attempts have finished, one folder for each task

An attempt becomes a committed task by the rename of its folder, which only the first can do. All of
it is on one file system, so a rename is never a copy.
"""

from pathlib import Path
from typing import Final

MAP: Final = "map"
REDUCE: Final = "reduce"
COMMIT: Final = "commit"

RESULT: Final = "result"
"""The file that a task leaves in its folder: partitions of a map, or the lines of a part."""

COUNTERS: Final = "counters.json"
INDEX: Final = "index.json"
PROGRESS: Final = "progress.json"


class Layout:
    """The files of one job."""

    def __init__(self, output: Path) -> None:
        self.output = output
        self.success = output / "_SUCCESS"
        self.counters = output / "_counters.json"
        self.temporary = output / "_temporary"
        self.job = self.temporary / "job.json"
        self.splits = self.temporary / "splits.json"
        self.functions = self.temporary / "functions"
        self.attempts = self.temporary / "attempts"
        self.committed = self.temporary / "committed"

    def part(self, index: int) -> Path:
        """A part of the result: `part-00003`."""
        return self.output / f"part-{index:05d}"

    def task(self, kind: str, index: int) -> Path:
        """Where a committed task is."""
        return self.committed / f"{kind}-{index:05d}"

    def attempt(self, kind: str, index: int, group: str, container: str) -> Path:
        """Where an attempt works: each container has its own folder."""
        return self.attempts / f"{kind}-{index:05d}.{group}.{container}"
