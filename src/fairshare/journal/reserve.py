"""Owns room on the disk that a journal gives up when there is no other: a file of zeros beside it.

Where others fill the disk, the ends of what runs can still be recorded. Knows nothing of records.
"""

import contextlib
import os
from pathlib import Path
from typing import Final

RESERVE_FILE: Final = "journal.reserve"
RESERVE_BYTES: Final = 16 * 1024**2
PIECE_BYTES: Final = 1024**2
_SHARE: Final = 16
"""At most this part of the disk is set aside: a small one has to hold something else too."""


class Reserve:
    """A file of RESERVE_BYTES, or less on a small disk; given up piece by piece, from its end."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / RESERVE_FILE

    def fill(self) -> None:
        """Set aside what is missing, if there is room for it; if there is not, nothing happens."""
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
        """Give up one piece; says whether there was one."""
        try:
            held = self._path.stat().st_size
            if not held:
                return False
            os.truncate(self._path, max(0, held - PIECE_BYTES))
        except OSError:
            return False
        return True
