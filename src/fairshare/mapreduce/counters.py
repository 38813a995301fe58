"""Counters: named sums in groups, with Hadoop's names for the standard ones; and the reports of a
running attempt: user counters, its status and its progress.

Tasks add to counters, and the job's counters are the sums over the committed tasks, so that only
one attempt of each task counts.

A command reports by lines of stderr, as in Hadoop Streaming: `reporter:counter:GROUP,NAME,AMOUNT`
and `reporter:status:TEXT`. A Python function calls `count` and `status`. All other lines of stderr
go to the container's log unchanged.
"""

import contextlib
import json
import re
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import BinaryIO

from fairshare.mapreduce.job import PROGRESS

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


_PREFIX = b"reporter:"
_PACE_S = 0.5
_NUMBER = re.compile(r"\s*-?[0-9]{1,18}\s*")


class Reporter:
    """The reporter of one attempt, which writes `progress.json` into the attempt's directory."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self.counters = Counters()
        self.status = ""
        self._fraction = 0.0
        self._reported_s = 0.0
        self._lock = threading.Lock()  # a mapper and a combiner may report concurrently

    def progress(self, fraction: float) -> None:
        """Set the progress, from 0 to 1; writes it at intervals."""
        self._fraction = min(1.0, fraction)
        now_s = time.monotonic()
        if now_s - self._reported_s >= _PACE_S:
            self._reported_s = now_s
            self.write_progress()

    def write_progress(self) -> None:
        """Write `progress.json` now."""
        if self._folder is None:
            return
        file = self._folder / PROGRESS
        draft = file.with_name(f"{PROGRESS}.new")
        with self._lock, contextlib.suppress(FileNotFoundError):  # committed meanwhile
            draft.write_text(json.dumps({"progress": self._fraction, "status": self.status}))
            draft.replace(file)

    def follow(self, stream: BinaryIO) -> None:
        """Read a command's stderr to its end."""
        log = sys.stderr.buffer
        for line in stream:
            if not (line.startswith(_PREFIX) and self._take(line)):
                log.write(line)
                log.flush()

    def _take(self, line: bytes) -> bool:
        """Handle a reporter line; False for a malformed one, which goes to the log."""
        text = line.decode("utf-8", "replace").rstrip("\r\n").removeprefix("reporter:")
        kind, _, rest = text.partition(":")
        if kind == "status":
            self.status = rest
            self.write_progress()
            return True
        group, comma, named = rest.partition(",")
        name, second, amount = named.rpartition(",")
        if kind != "counter" or not comma or not second or not _NUMBER.fullmatch(amount):
            return False
        with self._lock:
            self.counters.add(name, int(amount), group)
        return True


_current = Reporter(None)


def begin(folder: Path) -> Reporter:
    """Create the reporter of the attempt that this process runs."""
    global _current
    _current = Reporter(folder)
    return _current


def count(group: str, name: str, amount: int = 1) -> None:
    """Add to a counter of the job; called by mappers, combiners and reducers."""
    _current.counters.add(name, amount, group)


def status(text: str) -> None:
    """Set the status text of the attempt."""
    _current.status = text
    _current.write_progress()
