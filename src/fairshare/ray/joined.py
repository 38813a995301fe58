"""What a machine keeps that `fairshare node` has made a part of root's Ray cluster.

All of it is root's, and closed to others: the cluster's token, Ray's own files (Ray lets every
account use its sockets), and the note that the machine leaves. While an agent has not left, it
holds a lock, for which `fairshare node leave` waits.
"""

import fcntl
import os
from pathlib import Path
from typing import Final

from fairshare.settings.shell import ROOTS_RAY_TOKEN

TOKEN_FILE: Final = Path(ROOTS_RAY_TOKEN)
DIRECTORY: Final = Path("/var/lib/fairshare-node")
RAY: Final = DIRECTORY / "ray"
"""Ray's directory: short, since its sockets are in it."""
STORAGE: Final = DIRECTORY / "head"
RECORD: Final = DIRECTORY / "node.json"
LOG: Final = DIRECTORY / "node.log"
_LEAVING: Final = DIRECTORY / "leaving"
_AGENTS: Final = DIRECTORY / "agents.lock"


def leaving() -> bool:
    """Whether this machine is to leave its cluster."""
    return _LEAVING.exists()


def set_leaving(leaves: bool) -> None:
    """Say so to the agents of this machine, or take it back."""
    if leaves:
        _LEAVING.touch(mode=0o600)
    else:
        _LEAVING.unlink(missing_ok=True)


def hold() -> None:
    """Say, until this process ends, that an agent is here. An agent of another account, or of a
    cluster that `fairshare node` has not made, has nothing to hold."""
    try:
        descriptor = os.open(_AGENTS, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return
    fcntl.flock(descriptor, fcntl.LOCK_SH)


def agents_are_gone() -> bool:
    """Whether no agent is here any more."""
    descriptor = os.open(_AGENTS, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def make_directory() -> None:
    """Make the directories, closed to others; raises OSError."""
    DIRECTORY.mkdir(mode=0o700, parents=True, exist_ok=True)
    DIRECTORY.chmod(0o700)
    for folder in (RAY, STORAGE):
        folder.mkdir(mode=0o700, exist_ok=True)
    _AGENTS.touch(mode=0o600)
