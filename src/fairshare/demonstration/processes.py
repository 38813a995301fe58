"""Owns the question which processes belong to a demonstration, and their last end.

All of them name its folder, in their command line or in their environment: the server, the process
that starts containers, the supervisors, the containers. Knows Linux's /proc, and no server.
"""

import contextlib
import os
import signal
import time
from pathlib import Path

_PACE_S = 0.05


def processes_of(folder: Path) -> list[int]:
    """The numbers of the living processes of this user that name the folder, but not our own."""
    name = os.fsencode(folder)
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        # One that ends meanwhile has no files any more, one of another user shows us none.
        with contextlib.suppress(OSError):
            if name in (entry / "cmdline").read_bytes() or name in (entry / "environ").read_bytes():
                found.append(int(entry.name))
    return sorted(found)


def end_processes_of(folder: Path, patience_s: float) -> list[int]:
    """Kill what names the folder until nothing does; returns what is left after that time.

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
