"""Owns the paths of a job's files in its output directory. Does not read or write them.

    OUTPUT/part-00000 ...             the result, one file for each reduce (or map, without reduces)
    OUTPUT/_SUCCESS                   exists when the job is committed
    OUTPUT/_counters.json             its counters
    OUTPUT/_temporary/job.json        the description of the job; splits.json: its splits
    OUTPUT/_temporary/functions       pickled Python functions, if it has some
    OUTPUT/_temporary/attempts/...    running attempts, one directory each
    OUTPUT/_temporary/committed/...   committed tasks, one directory each

An attempt becomes a committed task by renaming its directory, which succeeds only for the first.
All files are on one file system, so that a rename is never a copy.
"""

from pathlib import Path
from typing import Final

MAP: Final = "map"
REDUCE: Final = "reduce"
COMMIT: Final = "commit"

RESULT: Final = "result"
"""The output file in a task's directory: the partitions of a map, or the lines of a part."""

COUNTERS: Final = "counters.json"
INDEX: Final = "index.json"
PROGRESS: Final = "progress.json"


class Layout:
    """The paths of one job's files."""

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
        """The path of a part of the result: `part-00003`."""
        return self.output / f"part-{index:05d}"

    def task(self, kind: str, index: int) -> Path:
        """The directory of a committed task."""
        return self.committed / f"{kind}-{index:05d}"

    def attempt(self, kind: str, index: int, group: str, container: str) -> Path:
        """The directory of an attempt, one for each container."""
        return self.attempts / f"{kind}-{index:05d}.{group}.{container}"
