"""Owns what a running attempt tells: user counters, its status, how far it is.

A command tells by lines of stderr, as for Hadoop Streaming: `reporter:counter:GROUP,NAME,AMOUNT`
and `reporter:status:TEXT`. A Python function calls `count` and `status`. All other lines of stderr
go into the log of the container as they are.
"""

import contextlib
import json
import re
import sys
import threading
import time
from pathlib import Path
from typing import BinaryIO

from fairshare.mapreduce.counters import Counters
from fairshare.mapreduce.layout import PROGRESS

_PREFIX = b"reporter:"
_PACE_S = 0.5
_NUMBER = re.compile(r"\s*-?[0-9]{1,18}\s*")


class Reporter:
    """Of one attempt, whose folder it writes the file `progress.json` into."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self.counters = Counters()
        self.status = ""
        self._fraction = 0.0
        self._told_s = 0.0
        self._lock = threading.Lock()  # a mapper and a combiner may tell at the same time

    def progress(self, fraction: float) -> None:
        """How much is done, from 0 to 1; written now and then."""
        self._fraction = min(1.0, fraction)
        now_s = time.monotonic()
        if now_s - self._told_s >= _PACE_S:
            self._told_s = now_s
            self.write_progress()

    def write_progress(self) -> None:
        """Write the file now."""
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
        """Whether a line was one of ours; one that is badly written stays in the log."""
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
    """The reporter of the attempt that this process runs from now on."""
    global _current
    _current = Reporter(folder)
    return _current


def count(group: str, name: str, amount: int = 1) -> None:
    """Add to a counter of the job, from inside a mapper, combiner or reducer."""
    _current.counters.add(name, amount, group)


def status(text: str) -> None:
    """Say what the attempt is doing."""
    _current.status = text
    _current.write_progress()
