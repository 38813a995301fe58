"""What a container has to itself of the places for temporary files: its own directory as /tmp, and
an empty /dev/shm, which end with it.

Its supervisor is in a mount namespace that only root has changed: what joins the container later,
such as a session, enters that of the supervisor, never one that a tenant can have made. Must stay
light: supervisors use it.
"""

import ctypes
import os
import signal
import sys
from pathlib import Path

from fairshare.engines.local.launch import Launch

PLACES = ("/tmp", "/dev/shm")  # noqa: S108 - they are what becomes private
_LIBC = ctypes.CDLL(None, use_errno=True)
_NEW_MOUNTS = 0x00020000
_NO_SUID, _NO_DEVICES, _REMOUNT, _BIND, _ALL_BELOW, _FOLLOW = 2, 4, 32, 4096, 16384, 1 << 19
_TRIAL = f"""
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
if libc.unshare({_NEW_MOUNTS}) or libc.mount(None, b"/", None, {_FOLLOW | _ALL_BELOW}, None):
    raise SystemExit(os.strerror(ctypes.get_errno()))
"""


def problem(state_directory: Path) -> str:
    """Why containers of a state directory cannot have private places; empty if they can.

    What supervisors run must not be there either: they would find what the container's account has
    put in its place.
    """
    for path in (state_directory, sys.executable, os.__file__, __file__):
        for place in PLACES:
            if os.path.realpath(path).startswith(f"{os.path.realpath(place)}/"):
                return f"{path} is in {place}, which it would hide"
    import subprocess  # which supervisors do not need

    words = (sys.executable, "-I", "-S", "-c", _TRIAL)
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    reason = done.stderr.decode(errors="replace").strip()
    return f"this process cannot make a mount namespace: {reason}" if done.returncode else ""


def enter_new(launch: Launch) -> None:
    """Give this process, and those that it starts, the places of a container; raises OSError.

    Mounts that the machine makes later, such as those of homes, still appear.
    """
    _check(_LIBC.unshare(_NEW_MOUNTS))
    _mount(None, "/", None, _FOLLOW | _ALL_BELOW)
    temporary, shared = PLACES
    # Its name cannot be changed by others: it and the directory around it are root's.
    _mount(launch.private_tmp, temporary, None, _BIND)
    _mount(None, temporary, None, _BIND | _REMOUNT | _NO_SUID | _NO_DEVICES)
    size = f",size={launch.memory_mb}m" if launch.memory_mb else ""
    _mount("fairshare", shared, "tmpfs", _NO_SUID | _NO_DEVICES, f"mode=1777{size}")


def join(supervisor: int, pidfd: int) -> None:
    """Enter the mount namespace of a supervisor, which `pidfd` identifies; raises OSError."""
    namespace = os.open(f"/proc/{supervisor}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
    try:
        signal.pidfd_send_signal(pidfd, 0)  # else the number may be another process's
        _check(_LIBC.setns(namespace, _NEW_MOUNTS))
    finally:
        os.close(namespace)


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str = "") -> None:
    words = [None if one is None else os.fsencode(one) for one in (source, target, kind)]
    _check(_LIBC.mount(*words, ctypes.c_ulong(flags), os.fsencode(data) or None))


def _check(result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
