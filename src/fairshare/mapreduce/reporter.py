"""The reports of a running attempt: user counters, its status and its progress.

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
from pathlib import Path
from typing import BinaryIO

from fairshare.mapreduce.counters import Counters
from fairshare.mapreduce.job import PROGRESS

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
