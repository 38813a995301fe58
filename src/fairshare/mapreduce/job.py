"""The description of a job for its tasks, `job.json` and `splits.json`; the paths of its files in
its output directory; and the failure of a task with a message for users instead of a traceback.

Must stay light, since every task imports it: standard library only.

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

import dataclasses
import json
from pathlib import Path
from typing import Final, NamedTuple


class TaskFailed(Exception):
    """The attempt failed; the message is for the job's owner."""


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


TAB = "\t"


class Split(NamedTuple):
    """The part of a file that one map reads: the records that start in it (see `inputs`)."""

    path: str
    start: int
    length: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Job:
    """A job.

    `mapper`, `reducer` and `combiner` are shell commands; with `functions` they are the names of
    Python functions, which are in a separate file. The first `key_fields` fields, separated by
    `field_separator`, are the key of a line of a mapper's output; the first `partition_fields` of
    them determine the reduce, 0: all.
    """

    name: str
    maps: int
    reduces: int
    mapper: str
    reducer: str | None = None
    combiner: str | None = None
    functions: bool = False
    binary: bool = False
    key_fields: int = 1
    partition_fields: int = 0
    field_separator: str = TAB
    directory: str = "/"
    sort_memory_bytes: int = 64 << 20
    merge_factor: int = 16

    def write(self, layout: Layout, splits: list[Split]) -> None:
        """Write both files."""
        layout.splits.write_text(json.dumps(splits), encoding="ascii")
        layout.job.write_text(json.dumps(dataclasses.asdict(self)), encoding="ascii")

    @classmethod
    def read(cls, layout: Layout) -> "Job":
        """Read the description of a job."""
        return cls(**json.loads(layout.job.read_text(encoding="ascii")))


def read_splits(path: Path) -> list[Split]:
    """All splits, in the order of their maps."""
    return [Split(*entry) for entry in json.loads(path.read_text(encoding="ascii"))]
