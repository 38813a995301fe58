"""Owns the question whether a file that is open is still the one that its path names.

A file that was removed, or moved away with its directory, can be written to without any error: and
all of it is lost when it is closed. Knows nothing of what is in the file.
"""

from pathlib import Path

from fairshare.errors import JournalError


class Place:
    """The place of a database in WAL mode that this process holds open for writing.

    As long as it is open its inode is given to no other file, so that the same one is the same
    file. The write-ahead log is looked at once it is there.
    """

    def __init__(self, path: Path) -> None:
        self._paths = (path, path.with_name(f"{path.name}-wal"))
        self._known: dict[Path, tuple[int, int]] = {}
        self._look(self._paths[0])

    def check(self) -> None:
        """Raises JournalError if a path names another file now, or none."""
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
