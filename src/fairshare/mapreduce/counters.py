"""Counters: named sums in groups, with Hadoop's names for the standard ones.

Tasks add to them, and the job's counters are the sums over the committed tasks, so that only one
attempt of each task counts.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

FRAMEWORK = "Map-Reduce Framework"
INPUT_FORMAT = "File Input Format Counters"
OUTPUT_FORMAT = "File Output Format Counters"
JOB = "Job Counters"

MAP_INPUT_RECORDS = "Map input records"
MAP_OUTPUT_RECORDS = "Map output records"
MAP_OUTPUT_BYTES = "Map output bytes"
MATERIALIZED_BYTES = "Map output materialized bytes"
COMBINE_INPUT_RECORDS = "Combine input records"
COMBINE_OUTPUT_RECORDS = "Combine output records"
REDUCE_INPUT_GROUPS = "Reduce input groups"
REDUCE_INPUT_RECORDS = "Reduce input records"
REDUCE_OUTPUT_RECORDS = "Reduce output records"
SHUFFLE_BYTES = "Reduce shuffle bytes"
SHUFFLED_MAPS = "Shuffled Maps"
MERGED_OUTPUTS = "Merged Map outputs"
SPILLED_RECORDS = "Spilled Records"
CPU_MS = "CPU time spent (ms)"
BYTES_READ = "Bytes Read"
BYTES_WRITTEN = "Bytes Written"


class Counters:
    """Sums by group and name.

    >>> counters = Counters()
    >>> counters.add("Map input records", 3)
    >>> counters.add("cats", 1, "Animals")
    >>> counters.get("Map input records"), counters.get("cats", "Animals"), counters.get("dogs")
    (3, 1, 0)
    """

    def __init__(self, sums: Mapping[str, Mapping[str, int]] | None = None) -> None:
        self.sums: dict[str, dict[str, int]] = {
            group: dict(entries) for group, entries in (sums or {}).items()
        }

    def add(self, name: str, amount: int, group: str = FRAMEWORK) -> None:
        """Add to one counter."""
        entries = self.sums.setdefault(group, {})
        entries[name] = entries.get(name, 0) + amount

    def get(self, name: str, group: str = FRAMEWORK) -> int:
        """One sum; 0 for an unknown counter."""
        return self.sums.get(group, {}).get(name, 0)

    def merge(self, other: "Counters") -> None:
        """Add all of another's sums."""
        for group, entries in other.sums.items():
            for name, amount in entries.items():
                self.add(name, amount, group)

    def write(self, path: Path) -> None:
        """Write the counters to a file, sorted by name."""
        path.write_text(json.dumps(self.sums, sort_keys=True, indent=1), encoding="ascii")

    @classmethod
    def read(cls, path: Path) -> "Counters":
        """Read the counters of a file."""
        return cls(json.loads(path.read_text(encoding="ascii")))

    @classmethod
    def total(cls, paths: Iterable[Path]) -> "Counters":
        """The sum of several files."""
        found = cls()
        for path in paths:
            found.merge(cls.read(path))
        return found
