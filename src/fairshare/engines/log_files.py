"""Where the output of a container is: in its own logs, or in files that its user named.

Such a file is opened by the container's account. Which file that was is written into
`outputs.json`. The server reads it later with the rights of that account, as the user may have put
a link to another user's file there, and only if the same file (device and inode) is at that place.
Must stay light, as supervisors use it.
"""

import json
import os
import stat
from pathlib import Path
from typing import NamedTuple

from fairshare.engines.local.directories import ContainerDirectory, read_json, write_atomically
from fairshare.engines.rights import Rights, acting_as

_OUTPUTS = "outputs.json"


class Place(NamedTuple):
    """A log: its file, where the container's part begins, the file's device and inode (None: any,
    as it is in the container's directory), and the rights to open it with (None: the server's)."""

    path: Path
    start: int = 0
    identity: tuple[int, int] | None = None
    rights: Rights | None = None

    def open(self) -> int:
        """A descriptor of the regular file; anything else in its place raises FileNotFoundError."""
        try:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            with acting_as(self.rights):
                descriptor = os.open(self.path, flags)
        except OSError as error:
            raise FileNotFoundError(f"{self.path} is not a regular file") from error
        found = os.fstat(descriptor)
        same = self.identity in (None, (found.st_dev, found.st_ino))
        if not stat.S_ISREG(found.st_mode) or not same:
            os.close(descriptor)
            raise FileNotFoundError(f"{self.path} is not the file that was written")
        return descriptor


def place_of(log: Path) -> Place:
    """Where the content of `stdout.log` or `stderr.log` of a container's directory is."""
    try:
        value = read_json(log.with_name(_OUTPUTS))
        if value is not None and log.stem in value:
            path, device, inode, start = value[log.stem]
            rights = ContainerDirectory(log.parent).rights()
            return Place(Path(path), int(start), (int(device), int(inode)), rights)
    except (OSError, TypeError, ValueError):  # a container may have changed it
        pass
    return Place(log)


def read_part(log: Path, offset: int, limit: int) -> tuple[bytes, int]:
    """Bytes of a log and its size; a log that does not exist (yet) is empty."""
    place = place_of(log)
    try:
        descriptor = place.open()
    except FileNotFoundError:
        return b"", 0
    try:
        # The size comes first: if the file grows meanwhile, the bytes read do not reach its end.
        size = max(0, os.fstat(descriptor).st_size - place.start)
        count = max(0, min(limit, size - offset))
        return os.pread(descriptor, count, place.start + offset), size
    finally:
        os.close(descriptor)


def describe(path: str, descriptor: int) -> tuple[str, int, int, int] | None:
    """What `outputs.json` says of an open file; None for a device or a pipe, which has no log."""
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        return None
    return (path, status.st_dev, status.st_ino, status.st_size)


def write_outputs(directory: Path, outputs: dict[str, object]) -> None:
    """Write `outputs.json`: by the name of each stream, what `describe` says; raises OSError."""
    write_atomically(directory / _OUTPUTS, json.dumps(outputs).encode())
