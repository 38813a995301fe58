"""Owns a server's exclusive lock on a state directory: an flock on its file `lock`.

The kernel releases the lock when the process ends, in any way; the file stays, and its existence
has no meaning. It contains the holder, for the error message of a second server. The descriptor is
closed on exec, but a child that only forks inherits the lock, and must close the descriptor.
"""

import fcntl
import os
from pathlib import Path

import msgspec

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
        return msgspec.json.decode(os.pread(descriptor, 4096, 0), type=Holder)
    except (OSError, msgspec.DecodeError):
        return None
