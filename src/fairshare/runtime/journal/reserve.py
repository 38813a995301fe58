"""Owns reserved disk space, a file of zeros beside the journal, which the journal frees when the
disk is full.

So the journal can still record the ends of running containers. Knows no records.
"""

import contextlib
import os
from pathlib import Path
from typing import Final

RESERVE_FILE: Final = "journal.reserve"
RESERVE_BYTES: Final = 16 * 1024**2
PIECE_BYTES: Final = 1024**2
_SHARE: Final = 16
"""The reserve is at most one part in this many of the disk, since a small disk needs its space."""


class Reserve:
    """A file of RESERVE_BYTES, or less on a small disk, which is freed in pieces from its end."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / RESERVE_FILE

    def fill(self) -> None:
        """Extend the reserve to its full size, if the disk has enough free space."""
        with contextlib.suppress(OSError):
            found = os.statvfs(self._path.parent)
            size = min(RESERVE_BYTES, found.f_frsize * found.f_blocks // _SHARE)
            held = self._path.stat().st_size if self._path.exists() else 0
            if held < size and found.f_frsize * found.f_bavail > 2 * size:
                descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o600)
                try:
                    os.posix_fallocate(descriptor, 0, size)
                finally:
                    os.close(descriptor)

    def give(self) -> bool:
        """Free one piece; returns whether there was one."""
        try:
            held = self._path.stat().st_size
            if not held:
                return False
            os.truncate(self._path, max(0, held - PIECE_BYTES))
        except OSError:
            return False
        return True
