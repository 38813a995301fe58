"""Owns the check that the path of an open file still names the same file.

A process can write to a file that was removed, or moved with its directory, without an error; the
data is lost when it is closed. Does not know the contents of the file.
"""

from pathlib import Path

from fairshare.errors import JournalError


class Place:
    """The location of a database in WAL mode that this process has open for writing.

    While a file is open, the system does not reuse its inode, so that the same inode means the same
    file. The write-ahead log is checked as soon as it exists.
    """

    def __init__(self, path: Path) -> None:
        self._paths = (path, path.with_name(f"{path.name}-wal"))
        self._known: dict[Path, tuple[int, int]] = {}
        self._look(self._paths[0])

    def check(self) -> None:
        """Raise JournalError if a path no longer names the same file."""
        for path in self._paths:
            known = self._known.get(path)
            if known is None:
                self._look(path)
            elif known != _identity(path):
                raise JournalError(
                    f"{path} is no longer the file that this server writes to: it was removed,"
                    " moved away or replaced. What is recorded from now on would be lost. Put it"
                    " back, or restore a copy (`fairshare backup` makes them), then start again"
                )

    def _look(self, path: Path) -> None:
        found = _identity(path)
        if found is not None:
            self._known[path] = found


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
