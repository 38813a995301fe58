"""How a simulation is watched: a terminal sees how far it is, Ctrl-C ends it with a report.

A thread writes the line of progress, so that it comes whatever takes long: reading, or one instant
with millions of tasks.
"""

import signal
import sys
import threading
import time
from bisect import bisect_right
from pathlib import Path
from types import FrameType
from typing import Any, Final, Self

import click

from fairshare.cli.cells import duration_text
from fairshare.core.model.inputs import SubmitApplication
from fairshare.core.record import Record
from fairshare.lab.simulate.traces.rows import on_read
from fairshare.wording import counted

_LOOK_S: Final = 0.25
"""The time between two lines of progress."""


class Watch:
    """While it is open, shows how far reading and simulation are; Ctrl-C ends reading at once, and
    a simulation as soon as it asks. A second one ends the program. `at_once`: the first one ends a
    simulation too, as its part is of no use."""

    def __init__(self, *, at_once: bool = False) -> None:
        self.interrupted = False
        self._at_once = at_once
        self._subject = ""
        self._begin_ms = 0
        self._shown = sys.stderr.isatty()
        self._began_s = time.monotonic()
        self._path = Path()
        self._bytes = 0
        self._read = 0
        self._times_ms: list[int] | None = None
        self._later = 0
        self._submitted = 0
        self._now_ms = 0
        self._drawn = False
        self._over = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)
        self._earlier: Any = None

    def __enter__(self) -> Self:
        if self._handles():
            self._earlier = signal.signal(signal.SIGINT, self._interrupt)
        if self._shown:
            self._ticker.start()
        return self

    def __exit__(self, *_: object) -> None:
        on_read.set(None)
        self._over.set()
        if self._shown:
            self._ticker.join()
        if self._earlier is not None:
            signal.signal(signal.SIGINT, self._earlier)
        if self._drawn:
            click.echo("\r\x1b[K", nl=False, err=True)

    def reads(self, path: Path) -> None:
        """A file or a directory is being read from now on."""
        self._path = path
        files = [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file()]
        self._bytes = sum(one.stat().st_size for one in files)
        self._began_s = time.monotonic()
        on_read.set(self._count)

    def simulates(self, times_ms: list[int], later: int = 0) -> None:
        """A simulation runs from now on, with arrivals at these instants; the instants of `later`
        more are not known, and then `observe` must see each record."""
        on_read.set(None)
        self._later = later
        self._times_ms = times_ms
        self._began_s = time.monotonic()

    def simulates_again(
        self, subject: str, times_ms: list[int], begin_ms: int, later: int = 0
    ) -> None:
        """One of several simulations runs from now on, which begins at `begin_ms`."""
        self._subject = f"{subject}: "
        self._begin_ms = begin_ms
        self._now_ms = 0
        self.simulates([at_ms - begin_ms for at_ms in times_ms], later)

    def __call__(self, now_ms: int) -> bool:
        """Whether to end at this instant."""
        self._now_ms = now_ms - self._begin_ms
        return self.interrupted

    def observe(self, record: Record) -> None:
        """Count the submissions."""
        self._submitted += type(record.input) is SubmitApplication

    def hurries(self) -> bool:
        """Whether the current instant is to be left as it is."""
        return self.interrupted

    def _count(self, characters: int) -> None:
        self._read += characters

    @staticmethod
    def _handles() -> bool:
        try:
            return signal.getsignal(signal.SIGINT) not in (signal.SIG_IGN, None)
        except ValueError:
            return False

    def _interrupt(self, _: int, __: FrameType | None) -> None:
        if self._times_ms is None or self.interrupted or self._at_once:
            raise KeyboardInterrupt
        self.interrupted = True

    def _tick(self) -> None:
        while not self._over.wait(_LOOK_S):
            self._drawn = True
            click.echo(f"\r\x1b[K{self._text()}", nl=False, err=True)

    def _text(self) -> str:
        spent_s = time.monotonic() - self._began_s
        times_ms = self._times_ms
        if times_ms is None:
            return reading_text(self._path.name, self._read, self._bytes, spent_s)
        if self.interrupted:
            return "Ctrl-C: the report is being made; once more ends without it"
        if self._later:
            total = len(times_ms) + self._later
            return self._subject + loop_text(self._now_ms, self._submitted, total, spent_s)
        arrived = bisect_right(times_ms, self._now_ms)
        return self._subject + progress_text(self._now_ms, arrived, times_ms, spent_s)


def reading_text(name: str, read: int, size: int, spent_s: float) -> str:
    """How far reading is, and how long the rest takes at this pace, where that is known.

    >>> reading_text("a.swf", 1_000_000, 4_000_000, 2.0)
    'reading a.swf: 1.0 of 4.0 MB, about 6 s left'
    >>> reading_text("a.yaml", 0, 4_000_000, 2.0)
    'reading a.yaml: 4.0 MB, for 2 s'
    """
    if not 0 < read <= size:
        return f"reading {name}: {size / 1e6:.1f} MB, for {spent_s:.0f} s"
    left_s = spent_s * (size - read) / read
    return f"reading {name}: {read / 1e6:.1f} of {size / 1e6:.1f} MB, about {left_s:.0f} s left"


def progress_text(now_ms: int, arrived: int, times_ms: list[int], spent_s: float) -> str:
    """How far a simulation is, and how long the arrivals that are left take at this pace.

    >>> progress_text(3_600_000, 1, [0, 36_000_000], 10.0)
    '1 h simulated, 1 of 2 applications arrived, about 90 s left'
    """
    last_ms = times_ms[-1] if times_ms else 0
    done = now_ms / last_ms if last_ms else 0.0
    return _progress(now_ms, arrived, len(times_ms), done, spent_s)


def loop_text(now_ms: int, arrived: int, total: int, spent_s: float) -> str:
    """The same where users wait for their applications, so that no instant is known in advance.

    >>> loop_text(3_600_000, 10, 100, 10.0)
    '1 h simulated, 10 of 100 applications arrived, about 90 s left'
    """
    return _progress(now_ms, arrived, total, arrived / total, spent_s)


def _progress(now_ms: int, arrived: int, total: int, done: float, spent_s: float) -> str:
    """The text; `done` is the part of the arrivals that is over."""
    hours = now_ms / 3_600_000
    text = f"{hours:.3g} h simulated, {arrived:,} of {counted(total, 'application')} arrived"
    if arrived == total:
        return f"{text}, waiting for their ends"
    if not done:
        return f"{text}, for {spent_s:.0f} s"
    left_s = spent_s * (1 - done) / done
    left = f"{left_s:.0f} s" if left_s < 600 else duration_text(round(left_s * 1000))
    return f"{text}, about {left} left"
