"""Owns the texts of a scheduler's file that were in force, each with its instant and its author.

One file of the state directory for each, so that they outlive the server; its number is that of the
version (`loaded_versions.py`) that it made. A text is added once it is in force, by whatever way:
the page, an editor, a refresh. Must not know what a text means.
"""

import hashlib
from pathlib import Path
from typing import Final

import msgspec

from fairshare.errors import FairshareError
from fairshare.server.state_directory import write_file

FOLDER: Final = "configuration-texts"
MAX_TEXTS: Final = 50
"""Texts that are kept; the oldest go first."""


class ConfigurationText(msgspec.Struct, frozen=True):
    """One text that was in force from `at_ms` on. `user` is its author; empty: it was edited
    outside of the server. `digest` identifies the text."""

    number: int
    at_ms: int
    user: str
    note: str
    digest: str
    text: str


def digest_of(text: str | None) -> str:
    """The digest that identifies a text; empty where there is no file.

    >>> digest_of("a") == digest_of("b"), digest_of(None)
    (False, '')
    """
    return "" if text is None else hashlib.sha256(text.encode()).hexdigest()[:16]


class ConfigurationTexts:
    """The texts of one server, the oldest first. Raises FairshareError if they cannot be kept.

    An unreadable file is skipped: it is only history, and must not prevent a start.
    """

    def __init__(self, state_directory: Path) -> None:
        self._folder = state_directory / FOLDER
        self.all: list[ConfigurationText] = []
        if self._folder.is_dir():
            for path in sorted(self._folder.glob("*.json")):
                try:
                    self.all.append(msgspec.json.decode(path.read_bytes(), type=ConfigurationText))
                except (OSError, msgspec.DecodeError):
                    continue

    @property
    def newest(self) -> ConfigurationText | None:
        """The one in force; None before the first."""
        return self.all[-1] if self.all else None

    def get(self, number: int) -> ConfigurationText | None:
        """One text by the number of its version."""
        return next((one for one in self.all if one.number == number), None)

    def of_version(self, version: int) -> ConfigurationText | None:
        """The text that was in force with a version: not each version has a text of its own, since
        other files count, too. None if it is no longer kept."""
        return next((one for one in reversed(self.all) if one.number <= version), None)

    def add(
        self, number: int, at_ms: int, text: str, user: str = "", note: str = ""
    ) -> ConfigurationText:
        """A text is in force as version `number`. One that was in force already is not added."""
        newest = self.newest
        digest = digest_of(text)
        if newest is not None and newest.digest == digest:
            return newest
        if newest is not None:
            number = max(number, newest.number + 1)
        found = ConfigurationText(number, at_ms, user, note, digest, text)
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise FairshareError(f"cannot make {self._folder}: {error.strerror}") from error
        write_file(self._path(number), msgspec.json.encode(found))
        self.all.append(found)
        while len(self.all) > MAX_TEXTS:
            self._path(self.all.pop(0).number).unlink(missing_ok=True)
        return found

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:09d}.json"
