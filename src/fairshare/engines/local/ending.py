"""Owns the forced end of a container from outside: all its processes, including its supervisor.

Finds the processes of a container below its supervisor, in its groups, and by their environment.
Used by the server only.
"""

import signal
import time

from fairshare.engines.local import groups, processes
from fairshare.engines.local.directories import ContainerDirectory
from fairshare.engines.local.launch import DIRECTORY_VARIABLE, Launch
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
