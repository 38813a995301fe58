"""Owns the identity of this machine, by which clients recognize a server on their own machine, and
the words for a disk of it that is full.

An address does not say the former: behind 127.0.0.1 may be a tunnel, or a container with other
files.
"""

import functools
import os
from pathlib import Path


@functools.cache
def boot_id() -> str:
    """The identifier of the machine's current boot. Raises OSError where there is none."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def this_machine() -> str:
    """The same text for all processes of one boot of a machine that share the root of its files;
    empty if it is not known.

    A process with a private /tmp is on the same machine, one in a container's image is not.
    """
    try:
        boot = boot_id()
        root = Path("/").stat()
    except OSError:
        return ""
    import hashlib  # it loads OpenSSL, which only this needs

    return hashlib.sha256(f"{boot} {root.st_dev} {root.st_ino}".encode()).hexdigest()[:32]


_SMALL_BYTES, _SMALL_INODES = 1024 * 1024, 16
"""So little may have become free by what failed for want of it."""


def full_disk(directory: Path) -> str:
    """That the disk of a directory has no room for small files, and what is used up; empty if it
    has room, or cannot be seen."""
    try:
        found = os.statvfs(directory)
    except OSError:
        return ""
    if found.f_frsize * found.f_bavail < _SMALL_BYTES:
        used_up = "space"
    elif found.f_files and found.f_favail < _SMALL_INODES:
        used_up = "inodes"
    else:
        return ""
    return f"the disk of {directory} is full, it has no {used_up} left: make room there"
