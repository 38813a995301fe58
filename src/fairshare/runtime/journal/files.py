"""The files beside a journal: a server's exclusive lock on its state directory, reserved disk
space, and the check that the path of an open file still names the same file.

The lock is an flock on the file `lock`. The kernel releases it when the process ends, in any way;
the file stays, and its existence has no meaning. It contains the holder, for the error message of a
second server. The descriptor is closed on exec, but a child that only forks inherits the lock, and
must close the descriptor.

A process can write to a file that was removed, or moved with its directory, without an error; the
data is lost when it is closed.

The reserve is a file of zeros, which the journal frees when the disk is full. So the journal can
still record the ends of running containers.
"""

import contextlib
import fcntl
import os
from pathlib import Path
from typing import Final

import msgspec

from fairshare.documents.ready import ready
from fairshare.errors import JournalError

LOCK_FILE = "lock"


class Holder(msgspec.Struct, frozen=True):
    """The holder of a state directory. `address` is empty until the server listens."""

    pid: int
    address: str = ""

    def __str__(self) -> str:
        where = f" at {self.address}" if self.address else ""
        return f"process {self.pid}{where}"


class StateLock:
    """Holds the lock from its creation to `close`. Raises JournalError if it is held already."""

    def __init__(self, directory: Path, address: str = "") -> None:
        self.path = directory / LOCK_FILE
        try:
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise JournalError(
                f"cannot open {self.path}: {error.strerror}; "
                "the state directory must exist and be writable"
            ) from error
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = _read(self._descriptor)
            os.close(self._descriptor)
            if not isinstance(error, BlockingIOError):
                raise JournalError(f"cannot lock {self.path}: {error.strerror}") from error
            raise JournalError(
                f"the state directory {directory} is in use by {holder or 'another process'}; "
                "stop that server first, or name another directory"
            ) from None
        self.announce(address)

    def announce(self, address: str) -> None:
        """Write this process and its address into the file."""
        text = msgspec.json.encode(Holder(os.getpid(), address)) + b"\n"
        try:
            os.pwrite(
                self._descriptor, text, 0
            )  # first: a full disk has room for no more than that
            os.ftruncate(self._descriptor, len(text))
        except OSError as error:
            raise JournalError(f"cannot write {self.path}: {error.strerror}") from error

    def close(self) -> None:
        """Release the lock. Idempotent."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def holder_of(directory: Path) -> Holder | None:
    """The current holder of a state directory, or None. Does not take the lock."""
    try:
        descriptor = os.open(directory / LOCK_FILE, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return _read(descriptor) or Holder(0)
    finally:
        os.close(descriptor)
    return None


def _read(descriptor: int) -> Holder | None:
    try:
        return msgspec.json.decode(os.pread(descriptor, 4096, 0), type=ready(Holder))
    except (OSError, msgspec.DecodeError):
        return None


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
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


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
            disk = os.statvfs(self._path.parent)
            size = min(RESERVE_BYTES, disk.f_frsize * disk.f_blocks // _SHARE)
            held = self._path.stat().st_size if self._path.exists() else 0
            if held < size and disk.f_frsize * disk.f_bavail > 2 * size:
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
