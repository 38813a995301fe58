"""Owns the description of a job for its tasks: `job.json` and `splits.json`.

Must stay light, since every task imports it: standard library only.
"""

import dataclasses
import json
from pathlib import Path
from typing import NamedTuple

from fairshare.mapreduce.layout import Layout

TAB = "\t"


class Split(NamedTuple):
    """The part of a file that one map reads: the records that start in it (see `records`)."""

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
