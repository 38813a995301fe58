"""Owns single cgroups: making, setting, killing and removing one. Knows no policy of limits.

A group is the path of its directory. Only groups that this package made are ever touched. Must
stay light: supervisors use it.
"""

import contextlib
import fcntl
import os
import time
from pathlib import Path

from fairshare.engines.local.launch import GroupPlan

STATE_VARIABLE = "FAIRSHARE_STATE_DIRECTORY"
GROUPS_VARIABLE = "FAIRSHARE_GROUPS"
"""A variable in the environment of a zygote that containers do not get."""

ENGINE_LOCK = "engine.lock"


def write(path: str, text: str) -> None:
    """Write to a file of a group; raises OSError."""
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def remove_abandoned(patience_s: float = 0.0) -> None:
    """Remove the empty groups that hold those of containers, where no server lives to do it.

    The zygote got their paths, and the lock that a living server holds: an ending one releases it
    after `patience_s` at the latest. A server that starts meanwhile waits a moment for the lock.
    """
    paths = os.environ.get(GROUPS_VARIABLE, "")
    state = os.environ.get(STATE_VARIABLE, "")
    if not paths or not state:
        return
    try:
        lock = os.open(f"{state}/{ENGINE_LOCK}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return
    deadline = time.monotonic() + patience_s
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            if time.monotonic() >= deadline:
                break
            time.sleep(0.05)
        else:
            for path in paths.split(os.pathsep):
                with contextlib.suppress(OSError):
                    Path(path).rmdir()
            break
    os.close(lock)


def read_number(path: str, key: str = "") -> int | None:
    """The number in a file of a group, or the one behind `key` in it; None if there is none."""
    try:
        text = Path(path).read_text()
    except OSError:
        return None
    if key:
        text = next((line for line in text.splitlines() if line.startswith(f"{key} ")), "")
    number = text.split()[-1] if text.split() else ""
    return int(number) if number.isdigit() else None


def create(plan: GroupPlan) -> None:
    """Make a group as planned; raises OSError if it or a needed setting is impossible."""
    with contextlib.suppress(FileExistsError):
        Path(plan.path).mkdir()
    for file, value, needed in plan.settings:
        try:
            write(f"{plan.path}/{file}", value)
        except OSError:
            if needed:
                raise


def enter(path: str) -> None:
    """Move the calling process into a group; raises OSError."""
    write(f"{path}/cgroup.procs", "0")


def processes(path: str) -> list[int]:
    """The processes in a group."""
    try:
        return [int(line) for line in Path(f"{path}/cgroup.procs").read_text().split()]
    except OSError:
        return []


def kill(path: str) -> bool:
    """End all processes of a group at once; False where the kernel cannot."""
    try:
        write(f"{path}/cgroup.kill", "1")
    except OSError:
        return False
    return True


def remove(path: str, patience_ms: int = 1000) -> bool:
    """Remove a group; waits a little for processes that are just gone. False if it stays."""
    deadline = time.monotonic() + patience_ms / 1000
    while True:
        try:
            Path(path).rmdir()
        except FileNotFoundError:
            return True
        except OSError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.005)
        else:
            return True
