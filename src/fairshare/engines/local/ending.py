"""Owns the forced end of a container from outside, all its processes, including its supervisor; and
the free room on the engine's nodes while containers end.

Finds the processes of a container below its supervisor, in its groups, and by their environment.
Used by the server only.

The state keeps the room of a container known to run until its end is reported. It does not know
every process: a container may be ended before its start was reported, its room may be allocated by
lazy preemption before its end, or it may belong to an earlier journal. Containers that replace them
wait here until the processes have ended, so that slow ends never overcommit a node. So do those
whose GPUs another container has.
"""

import signal
import time
from collections.abc import Iterable, Mapping

from fairshare.engines.local import groups, processes
from fairshare.engines.local.directories import ContainerDirectory
from fairshare.engines.local.gpus.assigned import AssignedGpus
from fairshare.engines.local.launch import DIRECTORY_VARIABLE, Launch
from fairshare.engines.local.watched import Watched
from fairshare.engines.protocol import NodeOffer
from fairshare.errors import EngineError

_PATIENCE_S = 5.0
_PAUSE_S = 0.005


def end_all(directory: ContainerDirectory, launch: Launch | None) -> None:
    """Kill every process that belongs to a container, and remove its groups.

    A supervisor that is still alive is kept stopped until it has no descendants: as the subreaper
    it keeps every descendant, whatever a process does to its environment or its session. Raises
    EngineError if some processes survive, OSError if /proc cannot be read now.
    """
    paths = [plan.path for plan in launch.groups] if launch else []
    deadline = time.monotonic() + _PATIENCE_S
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

    def __init__(self, offers: Iterable[NodeOffer], gpus: AssignedGpus | None = None) -> None:
        self.gpus = gpus or AssignedGpus({})
        self._totals = {offer.node: offer.resources for offer in offers}
        self._held: dict[str, dict[str, int]] = {name: {} for name in self._totals}
        self._ending: dict[str, int] = {}

    def enter(self, watched: Watched) -> None:
        """Add a container."""
        self._add(watched, 1)
        self.gpus.enter(watched.launch)

    def ends(self, watched: Watched) -> None:
        """Mark a container as ending."""
        if not watched.ending:
            watched.ending = True
            self._ending[watched.launch.node] = self._ending.get(watched.launch.node, 0) + 1

    def leave(self, watched: Watched) -> None:
        """Remove a container whose processes have all ended."""
        self._add(watched, -1)
        self.gpus.leave(watched.launch)
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
