"""The scheduler's properties where documents may change them: their version, and their file.

In memory alone, they are reset to those of capacity-scheduler.xml by a restart; in a file of the
state directory they outlive it.
"""

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from fairshare.server.state_directory import read_json_file, remove_file, share_file, write_file
from fairshare.settings.configuration import Entry

FILE: Final = "scheduler-conf.json"


class Kept(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of the file. The first version is 1; every accepted change makes a new one."""

    version: int
    properties: tuple[Entry, ...]


def read_kept(state_directory: Path) -> Kept | None:
    """The properties that an earlier server stored; None if there are none. Raises
    FairshareError."""
    return read_json_file(
        state_directory / FILE,
        Kept,
        "Mend it, or delete it: then capacity-scheduler.xml counts again",
    )


class StoredConfiguration:
    """The properties in force. `path` is None where nothing outlives the server."""

    def __init__(self, written: Mapping[str, str], path: Path | None) -> None:
        self.version = 1
        self.properties = dict(written)
        self._path = path
        self._draft = path.with_suffix(".next") if path is not None else None
        self._staged: Kept | None = None
        found = read_kept(path.parent) if path is not None else None
        if found is not None:
            self.version, self.properties = found.version, dict(found.properties)

    def stage(self, properties: Mapping[str, str]) -> None:
        """Write the next properties to a temporary file, so that only a rename remains. Raises
        FairshareError if it cannot be written."""
        self._staged = Kept(self.version + 1, tuple(properties.items()))
        if self._draft is not None:
            write_file(self._draft, msgspec.json.encode(self._staged) + b"\n")

    def confirm(self) -> int:
        """Put the staged properties in force; their version. Raises FairshareError."""
        kept = self._staged
        assert kept is not None, "nothing was staged"
        if self._path is not None and self._draft is not None:
            share_file(self._path, (msgspec.json.encode(kept) + b"\n",))
            self._draft.replace(self._path)
        self.version, self.properties, self._staged = kept.version, dict(kept.properties), None
        return self.version

    def discard(self) -> None:
        """Discard the staged properties, which were refused."""
        self._staged = None
        if self._draft is not None:
            with contextlib.suppress(OSError):
                remove_file(self._draft)
