"""Owns the groups that a file names; it is read again when it has changed."""

import logging
import threading
from pathlib import Path

from fairshare.config.problems import Place, Problems
from fairshare.config.user_groups import read_groups
from fairshare.errors import ConfigurationError
from fairshare.server.file_watch import Stamp, stamp_of

_log = logging.getLogger("fairshare.users")


class FileGroups:
    """The groups of a file. Raises ConfigurationError if it is invalid at the start; if it becomes
    invalid later, the groups read before stay in force, and the error is logged once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._reading = threading.Lock()
        self._stamp: Stamp | None = stamp_of(path)
        self._found = self._read()

    def groups(self, user: str) -> tuple[str, ...]:
        """Those that the file names; none for a user who is not in it."""
        with self._reading:
            stamp = stamp_of(self.path)
            if stamp != self._stamp:
                self._stamp = stamp
                try:
                    self._found = self._read()
                    _log.info("the groups were read again: %s", self.path)
                except ConfigurationError as error:
                    _log.error("what was read before stays in force: %s", error)
            return self._found.get(user, ())

    def _read(self) -> dict[str, tuple[str, ...]]:
        problems = Problems()
        found: dict[str, tuple[str, ...]] = {}
        try:
            found = read_groups(self.path.read_bytes(), str(self.path), problems)
        except OSError as error:
            problems.error(Place(str(self.path)), "file", f"cannot be read: {error.strerror}")
        problems.raise_errors()
        return found
