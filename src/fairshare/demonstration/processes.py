"""Owns the search for processes of a demonstration, and how they are killed at last.

All of them have its folder in their command line or environment: the server, the process that
starts containers, the supervisors, the containers. Knows Linux's /proc, and no server.
"""

import contextlib
import os
import signal
import time
from pathlib import Path

_PACE_S = 0.05


def processes_of(folder: Path) -> list[int]:
    """The pids of this user's processes with the folder in them, without this process."""
    name = os.fsencode(folder)
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        # A process that has ended has no files; those of other users cannot be read.
        with contextlib.suppress(OSError):
            if name in (entry / "cmdline").read_bytes() or name in (entry / "environ").read_bytes():
                found.append(int(entry.name))
    return sorted(found)


def end_processes_of(folder: Path, patience_s: float) -> list[int]:
    """Kill these processes until none is left; returns those that live after `patience_s`.

    Only needed when the server could not end its containers, because it was killed itself.
    """
    deadline_s = time.monotonic() + patience_s
    while left := processes_of(folder):
        for number in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        if time.monotonic() >= deadline_s:
            break
        time.sleep(_PACE_S)
    return left
