"""Owns what the engine knows of one container that it watches, and of when it must be over.

A supervisor holds its container to everything by itself. A container that runs under the server's
account can stop it, though (SIGSTOP): so somebody looks after it when its end is overdue.
"""

import heapq
import itertools
import signal
import time

from fairshare.engines.local import processes
from fairshare.engines.local.directories import ContainerDirectory
from fairshare.engines.local.launch import Launch
from fairshare.model.identifiers import ContainerId

PATIENCE_S = 5.0
"""So long after the grace time of a container its supervisor may take to end it."""

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
            if watched.pidfd is None:
                continue  # it has ended, or is looked for anyway
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
