"""Owns what the engine knows of one container that it watches, and of when it must be over.

A supervisor holds its container to everything by itself. A container that runs under the server's
account can stop it, though (SIGSTOP): so somebody looks after it when its end is overdue, and all
the time where the zygote is gone that would let it go on.
"""

import contextlib
import heapq
import itertools
import signal
import time

from fairshare.engines.local import processes
from fairshare.engines.local.directories import ContainerDirectory
from fairshare.engines.local.launch import Launch
from fairshare.engines.local.zygote import MOST_STOPS
from fairshare.model.identifiers import ContainerId

PATIENCE_S = 5.0
"""So long after the grace time of a container its supervisor may take to end it."""

LOOK_S = 2.0
"""Between two looks at the supervisors that have no zygote any more."""

_AGAIN_S = 1.0
_CHANCES = 2


class Watched:
    """A container whose supervisor was ordered, or found alive."""

    def __init__(
        self, container: ContainerId, directory: ContainerDirectory, launch: Launch
    ) -> None:
        self.container = container
        self.directory = directory
        self.launch = launch
        self.pidfd: int | None = None
        self.started_told = False
        self.stop_wanted = False
        self.stop_reason = ""  # why the engine itself ends it
        self.ending = False  # and its room is given to others already
        self.muted = False  # another container has its identifier now; nobody asks for this one
        self.earlier = False  # of an earlier server, whose groups may be elsewhere
        self.overdue = ""  # why its end is overdue
        self.chances = _CHANCES  # how often its supervisor may yet be found stopped
        self.gone = False  # and watched no more
        self.stops = 0  # how often it was found stopped while nobody else let it go on


class Overdue:
    """The containers that must be over at some moment, by that moment."""

    def __init__(self) -> None:
        self._moments: list[tuple[float, int, Watched]] = []
        self._count = itertools.count()

    def expect(self, watched: Watched, seconds: float, reason: str) -> None:
        """Look after a container when that time and its grace time are over, and some patience."""
        after_s = seconds + watched.launch.grace_ms / 1000 + PATIENCE_S
        watched.overdue = reason
        self._push(watched, after_s)

    def _push(self, watched: Watched, after_s: float) -> None:
        heapq.heappush(self._moments, (time.monotonic() + after_s, next(self._count), watched))

    def next(self) -> float | None:
        """The next moment (monotonic, in seconds) to ask `take`."""
        return self._moments[0][0] if self._moments else None

    def take(self) -> list[Watched]:
        """Those whose supervisor is stopped and stays so: they must be ended by force.

        A supervisor that is at work is given time, for as long as it needs: a process of its
        container may wait for a device.
        """
        lost = []
        now = time.monotonic()
        while self._moments and self._moments[0][0] <= now:
            watched = heapq.heappop(self._moments)[2]
            if watched.gone:
                continue
            if watched.pidfd is None:  # too many files were open; it is looked for
                self._push(watched, _AGAIN_S)
                continue
            if not any(map(processes.is_stopped, processes.supervisors(watched.directory.path))):
                self._push(watched, PATIENCE_S)
                continue
            watched.chances -= 1
            if watched.chances:
                signal.pidfd_send_signal(watched.pidfd, signal.SIGCONT)
                self._push(watched, _AGAIN_S)
            else:
                lost.append(watched)
        return lost


class Unattended:
    """The containers whose zygote is gone, or may go: of an earlier server, or of a zygote that
    was replaced. Nobody else lets their supervisors go on."""

    def __init__(self) -> None:
        self._watched: dict[Watched, None] = {}  # a set that keeps the order
        self._look_s: float | None = None

    def add(self, watched: Watched) -> None:
        """Look after a container from now on."""
        self._watched[watched] = None
        if self._look_s is None:
            self._look_s = time.monotonic() + LOOK_S

    def remove(self, watched: Watched) -> None:
        """It is gone, or was never there."""
        self._watched.pop(watched, None)
        if not self._watched:
            self._look_s = None

    def next(self) -> float | None:
        """The next moment (monotonic, in seconds) to ask `take`."""
        return self._look_s

    def take(self) -> list[Watched]:
        """Let all that are stopped go on; those that were stopped too often must be ended."""
        now = time.monotonic()
        if self._look_s is None or now < self._look_s:
            return []
        self._look_s = now + LOOK_S
        lost = []
        for watched in self._watched:
            if watched.pidfd is None or not _is_stopped(watched.pidfd):
                continue
            watched.stops += 1
            if watched.stops > MOST_STOPS:
                watched.overdue = watched.overdue or "stopped too often"
                lost.append(watched)
            else:
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(watched.pidfd, signal.SIGCONT)
        return lost


def _is_stopped(pidfd: int) -> bool:
    try:
        return processes.is_stopped(processes.number_of(pidfd))
    except OSError:  # too many open files: the next look will tell
        return False
