"""The state of one watched container, the deadlines of ends, and the forced end of a container from
outside: all its processes, including its supervisor. Used by the server only.

A supervisor enforces all limits itself. But a container under the server's account can stop its
supervisor (SIGSTOP): so the engine checks supervisors whose container's end is overdue, and, if the
zygote that would resume them has ended, all the time. The processes of a container are found below
its supervisor, in its groups, and by their environment.

The state keeps the room of a container known to run until its end is reported. It does not know
every process: a container may be ended before its start was reported, its room may be allocated by
lazy preemption before its end, or it may belong to an earlier journal. Containers that replace them
wait here until the processes have ended, so that slow ends never overcommit a node. So do those
whose GPUs another container has.
"""

import contextlib
import heapq
import itertools
import signal
import time
from collections.abc import Iterable, Mapping

from fairshare.core.model.identifiers import ContainerId
from fairshare.engines.local import groups, processes
from fairshare.engines.local.directories import ContainerDirectory
from fairshare.engines.local.gpus.engine import AssignedGpus
from fairshare.engines.local.launch import DIRECTORY_VARIABLE, Launch
from fairshare.engines.local.processors import OwnProcessors
from fairshare.engines.local.zygote import MOST_STOPS
from fairshare.engines.protocol import NodeOffer
from fairshare.errors import EngineError

PATIENCE_S = 5.0
"""The time, after the grace time, in which a supervisor must end its container."""

LOOK_S = 2.0
"""The interval of checks of supervisors without a zygote."""

_AGAIN_S = 1.0
_CHANCES = 2


class Watched:
    """A container whose supervisor was ordered, or found alive at the start."""

    def __init__(
        self, container: ContainerId, directory: ContainerDirectory, launch: Launch
    ) -> None:
        self.container = container
        self.directory = directory
        self.launch = launch
        self.pidfd: int | None = None
        self.start_reported = False
        self.limit_changed = False  # and its supervisor does not know yet
        self.stop_wanted = False
        self.stop_reason = ""  # why the engine itself ends it
        self.ending = False  # its room may be allocated to others already
        self.muted = False  # another container has its identifier; it is not reported
        self.earlier = False  # adopted from an earlier server, whose groups may be elsewhere
        self.overdue = ""  # why its end is overdue
        self.chances = _CHANCES  # how often its supervisor may still be found stopped
        self.gone = False  # no longer watched
        self.stops = 0  # how often it was found stopped without a zygote to resume it


class Overdue:
    """The containers with a deadline for their end, by deadline."""

    def __init__(self) -> None:
        self._moments: list[tuple[float, int, Watched]] = []
        self._count = itertools.count()

    def expect(self, watched: Watched, seconds: float, reason: str) -> None:
        """Check a container after `seconds`, its grace time, and PATIENCE_S."""
        after_s = seconds + watched.launch.grace_ms / 1000 + PATIENCE_S
        watched.overdue = reason
        self._push(watched, after_s)

    def _push(self, watched: Watched, after_s: float) -> None:
        heapq.heappush(self._moments, (time.monotonic() + after_s, next(self._count), watched))

    def next(self) -> float | None:
        """The next instant (monotonic, in seconds) to call `take`."""
        return self._moments[0][0] if self._moments else None

    def take(self) -> list[Watched]:
        """The overdue containers whose supervisor stays stopped: they must be ended by force.

        A supervisor that is not stopped may take as long as it needs: a process of its container
        may wait for a device.
        """
        lost = []
        now = time.monotonic()
        while self._moments and self._moments[0][0] <= now:
            watched = heapq.heappop(self._moments)[2]
            if watched.gone:
                continue
            if watched.pidfd is None:  # too many files were open; a recheck will find it
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
    """The containers without a zygote that resumes their supervisors: of an earlier server, or of a
    zygote that was replaced."""

    def __init__(self) -> None:
        self._watched: dict[Watched, None] = {}  # an ordered set
        self._look_s: float | None = None

    def add(self, watched: Watched) -> None:
        """Check a container's supervisor from now on."""
        self._watched[watched] = None
        if self._look_s is None:
            self._look_s = time.monotonic() + LOOK_S

    def remove(self, watched: Watched) -> None:
        """Stop checking a container; unknown ones are ignored."""
        self._watched.pop(watched, None)
        if not self._watched:
            self._look_s = None

    def next(self) -> float | None:
        """The next instant (monotonic, in seconds) to call `take`."""
        return self._look_s

    def take(self) -> list[Watched]:
        """Resume all stopped supervisors; returns the containers whose supervisor was stopped too
        often, which must be ended."""
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
    except OSError:  # too many open files: the next check decides
        return False


_SIGNAL_PATIENCE_S = 5.0
_PAUSE_S = 0.005


def end_all(directory: ContainerDirectory, launch: Launch | None) -> None:
    """Kill every process that belongs to a container, and remove its groups.

    A supervisor that is still alive is kept stopped until it has no descendants: as the subreaper
    it keeps every descendant, whatever a process does to its environment or its session. Raises
    EngineError if some processes survive, OSError if /proc cannot be read now.
    """
    paths = [plan.path for plan in launch.groups] if launch else []
    deadline = time.monotonic() + _SIGNAL_PATIENCE_S
    while True:
        for path in paths:
            groups.kill(path)
        supervisors = processes.supervisors(directory.path)
        processes.send(supervisors, signal.SIGSTOP)  # so that it writes nothing more
        left = {pid for supervisor in supervisors for pid in processes.descendants(supervisor)}
        left |= {pid for path in paths for pid in groups.processes(path)}
        left |= set(processes.marked(DIRECTORY_VARIABLE, str(directory.path)))
        left = {pid for pid in left if processes.is_alive(pid)} - set(supervisors)
        if not left:
            processes.send(supervisors, signal.SIGKILL)
            if not supervisors:
                break
        if time.monotonic() >= deadline:
            processes.send(supervisors, signal.SIGKILL)
            raise EngineError(
                f"processes of {directory.path} cannot be ended: {sorted(left)}; "
                "they may wait for a device"
            )
        processes.send(left, signal.SIGKILL)
        time.sleep(_PAUSE_S)
    for path in paths:
        groups.remove(path)


class EndingRoom:
    """The resources that containers hold on each node, including ending ones."""

    def __init__(
        self,
        offers: Iterable[NodeOffer],
        gpus: AssignedGpus | None = None,
        processors: OwnProcessors | None = None,
    ) -> None:
        self.gpus = gpus or AssignedGpus({})
        self.processors = processors or OwnProcessors()
        self._totals = {offer.node: offer.resources for offer in offers}
        self._held: dict[str, dict[str, int]] = {name: {} for name in self._totals}
        self._ending: dict[str, int] = {}

    def enter(self, watched: Watched) -> None:
        self._add(watched, 1)
        self.gpus.enter(watched.launch)
        self.processors.enter(watched.launch)

    def ends(self, watched: Watched) -> None:
        """Mark a container as ending."""
        if not watched.ending:
            watched.ending = True
            self._ending[watched.launch.node] = self._ending.get(watched.launch.node, 0) + 1

    def leave(self, watched: Watched) -> None:
        """Remove a container whose processes have all ended."""
        self._add(watched, -1)
        self.gpus.leave(watched.launch)
        self.processors.leave(watched.launch)
        if watched.ending:
            self._ending[watched.launch.node] -= 1

    def has_to_wait(self, node: str, wanted: Mapping[str, int]) -> bool:
        """Whether a container does not fit on the node now, and another one there is ending.

        If none is ending, the container starts: the state has decided that it fits.
        """
        if not self._ending.get(node):
            return False
        held, totals = self._held[node], self._totals[node]
        return any(held.get(name, 0) + amount > totals.get(name, 0)
                   for name, amount in wanted.items() if amount)  # fmt: skip

    def _add(self, watched: Watched, sign: int) -> None:
        held = self._held.get(watched.launch.node)
        if held is not None:  # otherwise an earlier server had other nodes
            for name, amount in watched.launch.resources.items():
                held[name] = held.get(name, 0) + sign * amount
