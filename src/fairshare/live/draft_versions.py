"""Owns the versions of a scheduler's file: which texts were in force, since when, and by whom.

One file of the state directory for each version, so that they outlive the server. A text is a
version once it has been put in force, by whatever way: the page, an editor, a refresh. Knows
nothing of what a text means.
"""

import hashlib
from pathlib import Path
from typing import Final

import msgspec

from fairshare.errors import FairshareError
from fairshare.live.state_directory import write_file

FOLDER: Final = "configuration-versions"
MAX_VERSIONS: Final = 200
"""Versions that are kept; the oldest go first."""


class Version(msgspec.Struct, frozen=True):
    """One text that was in force from `at_ms` on. `user` put it there; empty: somebody who wrote
    into the file. `digest` tells texts apart."""

    number: int
    at_ms: int
    user: str
    note: str
    digest: str
    text: str


def digest_of(text: str | None) -> str:
    """What tells one text from another; empty where there is no file.

    >>> digest_of("a") == digest_of("b"), digest_of(None)
    (False, '')
    """
    return "" if text is None else hashlib.sha256(text.encode()).hexdigest()[:16]


class ConfigurationVersions:
    """The versions of one server, the oldest first. Raises FairshareError if they cannot be kept.

    A file that cannot be read is passed over: it is history, and holds up nothing.
    """

    def __init__(self, state_directory: Path) -> None:
        self._folder = state_directory / FOLDER
        self.all: list[Version] = []
        if self._folder.is_dir():
            for path in sorted(self._folder.glob("*.json")):
                try:
                    self.all.append(msgspec.json.decode(path.read_bytes(), type=Version))
                except (OSError, msgspec.DecodeError):
                    continue

    @property
    def newest(self) -> Version | None:
        """The one in force; None before the first."""
        return self.all[-1] if self.all else None

    def get(self, number: int) -> Version | None:
        """One version."""
        return next((version for version in self.all if version.number == number), None)

    def add(self, at_ms: int, text: str, user: str = "", note: str = "") -> Version:
        """A text is in force. One that was in force already makes no new version."""
        newest = self.newest
        digest = digest_of(text)
        if newest is not None and newest.digest == digest:
            return newest
        number = 1 if newest is None else newest.number + 1
        version = Version(number, at_ms, user, note, digest, text)
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise FairshareError(f"cannot make {self._folder}: {error.strerror}") from error
        write_file(self._path(number), msgspec.json.encode(version))
        self.all.append(version)
        while len(self.all) > MAX_VERSIONS:
            self._path(self.all.pop(0).number).unlink(missing_ok=True)
        return version

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:09d}.json"
