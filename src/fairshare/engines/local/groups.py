"""Operations on single cgroups: create, set, kill and remove.

A group is the path of its directory. Only groups that this package created are ever changed. Must
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
"""An environment variable of the zygote, which containers do not get."""

MODE = 0o755
"""Of the directories of groups, whatever the server's umask lets others do."""

ENGINE_LOCK = "engine.lock"
ZYGOTE_LOCK = "zygote.lock"


def write(path: str, text: str) -> None:
    """Write to a file of a group; raises OSError."""
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def remove_abandoned(patience_s: float = 0.0) -> None:
    """Remove the empty parent groups of containers if no server is alive to do it.

    The zygote knows their paths, and the lock of a live server: an ending server releases it after
    `patience_s` at the latest. A server that starts meanwhile waits briefly for the lock. While a
    zygote holds its own lock, more containers may follow.
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
            if _is_free(f"{state}/{ZYGOTE_LOCK}"):
                for path in paths.split(os.pathsep):
                    with contextlib.suppress(OSError):
                        Path(path).rmdir()
            break
    os.close(lock)


def _is_free(path: str) -> bool:
    try:
        lock = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return True
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True


def read_number(path: str, key: str = "") -> int | None:
    """The number in a file of a group, or the one after `key` in it; None if there is none."""
    try:
        text = Path(path).read_text()
    except OSError:
        return None
    if key:
        text = next((line for line in text.splitlines() if line.startswith(f"{key} ")), "")
    number = text.split()[-1] if text.split() else ""
    return int(number) if number.isdigit() else None


def create(plan: GroupPlan) -> None:
    """Create a planned group; raises OSError if it or a required setting is impossible."""
    with contextlib.suppress(FileExistsError):
        Path(plan.path).mkdir(mode=MODE)
    for file, value, needed in plan.settings:
        try:
            write(f"{plan.path}/{file}", value)
        except OSError:
            if needed:
                raise


def enter(path: str, pid: int = 0) -> None:
    """Move a process, by default the calling one, into a group; raises OSError."""
    write(f"{path}/cgroup.procs", str(pid))


def processes(path: str) -> list[int]:
    """The pids of the processes in a group."""
    try:
        return [int(line) for line in Path(f"{path}/cgroup.procs").read_text().split()]
    except OSError:
        return []


def kill(path: str) -> bool:
    """Kill all processes of a group at once; False if the kernel does not support it."""
    try:
        write(f"{path}/cgroup.kill", "1")
    except OSError:
        return False
    return True


def remove(path: str, patience_ms: int = 1000) -> bool:
    """Remove a group, waiting up to `patience_ms` for ending processes; False if it remains."""
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
