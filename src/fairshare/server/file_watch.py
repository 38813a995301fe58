"""The check whether a file must be read again (Hadoop: AllocationFileLoaderService). Reads no
contents.

Hadoop compares the file's time of modification with the time of the last load. We also check that
it is still the same file, so that an older file that replaces it is noticed.
"""

from enum import StrEnum
from pathlib import Path

Stamp = tuple[int, int, int]
"""Time of modification in nanoseconds, size, inode number."""


class Finding(StrEnum):
    """The result of a check."""

    SAME = "same"
    UNSETTLED = "unsettled"  # it differs, and was written to a moment ago
    CHANGED = "changed"
    GONE = "gone"


def stamp_of(path: Path) -> Stamp | None:
    """The stamp of a file; None if there is none, or if it has no time of modification."""
    try:
        status = path.stat()
    except OSError:
        return None
    if status.st_mtime_ns <= 0:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


class FileWatch:
    """One file, as it was when it was loaded last.

    `loaded_ms` is when its last successful load began. A file that was not there then, and is not
    there now, is the same.
    """

    def __init__(self, path: Path, settle_ms: int, loaded_ms: int) -> None:
        self.path = path
        self.loaded_ms = loaded_ms
        self._settle_ms = settle_ms
        self._stamp = stamp_of(path)

    def look(self, now_ms: int) -> Finding:
        """Compare the file with what was loaded."""
        stamp = stamp_of(self.path)
        if stamp is None:
            return Finding.SAME if self._stamp is None else Finding.GONE
        modified_ms = stamp[0] // 1_000_000
        if stamp == self._stamp and modified_ms <= self.loaded_ms:
            return Finding.SAME
        return Finding.CHANGED if now_ms > modified_ms + self._settle_ms else Finding.UNSETTLED

    def loaded(self, stamp: Stamp | None, now_ms: int) -> None:
        """A load has succeeded. `stamp` is that of the file just before it was read."""
        self._stamp = stamp
        self.loaded_ms = now_ms
