"""Owns the claim of one server on a state directory: an flock on its file `lock`.

The kernel lets go of the claim when the process ends, however it ends; the file stays and means
nothing by itself. In it stands who holds it, for the message to whoever comes second. The
descriptor is closed on exec, but a child that only forks inherits the claim: such a child must
close what it does not need.
"""

import fcntl
import os
from pathlib import Path

import msgspec

from fairshare.errors import JournalError

LOCK_FILE = "lock"


class Holder(msgspec.Struct, frozen=True):
    """Who holds a state directory. `address` is empty until the server listens."""

    pid: int
    address: str = ""

    def __str__(self) -> str:
        where = f" at {self.address}" if self.address else ""
        return f"process {self.pid}{where}"


class StateLock:
    """Held from its making to `close`. Raises JournalError if somebody else holds it."""

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
        """Write down who holds the lock, and where it listens."""
        text = msgspec.json.encode(Holder(os.getpid(), address)) + b"\n"
        try:
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, text, 0)
        except OSError as error:
            raise JournalError(f"cannot write {self.path}: {error.strerror}") from error

    def close(self) -> None:
        """Let go. Twice is no error."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def holder_of(directory: Path) -> Holder | None:
    """Who holds a state directory now; None if nobody does. Takes nothing."""
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
