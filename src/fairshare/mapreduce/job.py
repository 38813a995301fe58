"""Owns the description of a job as its tasks read it: `job.json` and `splits.json`.

Must stay light, as every task reads it: standard library only.
"""

import dataclasses
import json
from pathlib import Path
from typing import NamedTuple

from fairshare.mapreduce.layout import Layout

TAB = "\t"


class Split(NamedTuple):
    """The part of a file that one map reads: the records that begin in it (see `records`)."""

    path: str
    start: int
    length: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Job:
    """What is to be done.

    `mapper`, `reducer` and `combiner` are lines for the shell; with `functions` they are Python
    functions, which stand in a file of their own, and these are only their names. `key_fields`
    fields up to `field_separator` are the key of a line of a mapper's output; `partition_fields`
    of the key's fields choose the reduce, 0: all.
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
        """Put both files in their places."""
        layout.splits.write_text(json.dumps(splits), encoding="ascii")
        layout.job.write_text(json.dumps(dataclasses.asdict(self)), encoding="ascii")

    @classmethod
    def read(cls, layout: Layout) -> "Job":
        """What `write` wrote."""
        return cls(**json.loads(layout.job.read_text(encoding="ascii")))


def read_splits(path: Path) -> list[Split]:
    """All splits, in the order of their maps."""
    return [Split(*entry) for entry in json.loads(path.read_text(encoding="ascii"))]
