"""Owns the files of one container, and how a file is replaced as a whole.

    launch.json   the order                pid.json        the supervisor that runs it
    exit.json     how it ended             settled         that this was reported
    stdout.log    stderr.log               work/           its own working directory
    stdout.dropped  stderr.dropped         what the logs had in their middle, and have no more
    call.pickle   a Python call            result.pickle   what the call returned
    secrets.json  secret variables, until it starts
    returned/     where a call leaves its result that runs under a user's account

Must stay light, as supervisors use it: standard library only, nothing of the model.
"""

import contextlib
import errno
import json
import os
import stat
from pathlib import Path
from typing import Any

_MOST_BYTES = 64 * 1024 * 1024
_NO_LINK = (errno.EXDEV, errno.EMLINK, errno.EPERM, errno.EOPNOTSUPP)
"""A file cannot have one more name there: on another disk, too many of them, not known."""


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file by write, fsync and rename: a reader sees the old one or the new one.

    After a power cut it may be the old one still: that is so with a task's files, whose loss means
    that it runs again. A sync of the directory would cost each task another wait for the disk.
    Raises OSError and leaves nothing behind if it cannot be written.
    """
    temporary = _draft(path)
    try:
        # What was reserved is written over, so that it needs no room on the disk.
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            os.ftruncate(descriptor, len(data))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def reserve(path: Path, size: int) -> None:
    """Have room on the disk for a file that `write_atomically` will write later.

    Raises OSError if there is none now.
    """
    descriptor = os.open(_draft(path), os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        os.posix_fallocate(descriptor, 0, size)
    finally:
        os.close(descriptor)


def _draft(path: Path) -> Path:
    return path.with_name(path.name + ".new")


def read_json(path: Path) -> dict[str, Any] | None:
    """The object in a file; None if there is no file.

    Raises OSError if the file cannot be read now: whether there is one is then not known. Raises
    ValueError for what is not a file with a JSON object: a container may have put anything there.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            raise ValueError("a plain file is needed") from None
        raise
    with contextlib.ExitStack() as opened:
        opened.callback(os.close, descriptor)
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size > _MOST_BYTES:
            raise ValueError("a plain file of a sensible size is needed")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            value = json.loads(file.read(_MOST_BYTES))
    if not isinstance(value, dict):
        raise ValueError("a JSON object is needed")
    return value


def _write_private(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)


class ContainerDirectory:
    """The files of one container."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.launch = path / "launch.json"
        self.pid = path / "pid.json"
        self.exit = path / "exit.json"
        self.settled = path / "settled"
        self.stdout = path / "stdout.log"
        self.stderr = path / "stderr.log"
        self.work = path / "work"
        self.call = path / "call.pickle"
        self.result = path / "result.pickle"
        self.returned = path / "returned"
        self.secrets = path / "secrets.json"

    def write_launch(
        self,
        launch: bytes,
        call: bytes | Path = b"",
        owner: tuple[int, int] | None = None,
        secrets: dict[str, str] | None = None,
    ) -> None:
        """Make the directory with its order; raises OSError, perhaps half-way.

        `call` is the content of the call's file, or a file that becomes it. `owner` are user and
        group whose container it is, if that is not the server itself: what is theirs is given to
        them, all else stays closed.
        """
        self.work.mkdir(mode=0o700, parents=True, exist_ok=True)
        if call:
            self._put_call(call)
        if owner is not None:
            self._give(*owner, call=bool(call))
        if secrets:
            _write_private(self.secrets, json.dumps(secrets).encode())
        _write_private(self.launch, launch)

    def _put_call(self, call: bytes | Path) -> None:
        # Never written over: another name of it may be the call of others.
        self.call.unlink(missing_ok=True)
        if isinstance(call, bytes):
            self.call.write_bytes(call)
            return
        try:
            os.link(call, self.call)
        except OSError as error:
            if error.errno not in _NO_LINK:
                raise
            self.call.write_bytes(call.read_bytes())

    def ended(self) -> bool:
        """Whether nothing more will be written to the logs."""
        return self.exit.exists() or not self.launch.exists()

    def dropped_range(self, log: Path) -> tuple[int, int]:
        """The bytes of a log that are gone, from the first to before the second; (0, 0): none."""
        try:
            value = read_json(log.with_suffix(".dropped")) or {}
        except (OSError, ValueError):
            value = {}
        first, end = value.get("from"), value.get("to")
        return (first, end) if isinstance(first, int) and isinstance(end, int) else (0, 0)

    def tidy(self) -> None:
        """Delete files that are not needed once it has ended.

        These are the call, an empty folder, and the supervisor's identity once the outcome is
        written.
        """
        with contextlib.suppress(OSError):
            self.call.unlink()
        with contextlib.suppress(OSError):
            if self.exit.is_file():
                self.pid.unlink()
        with contextlib.suppress(OSError):
            self.work.rmdir()

    def take_secrets(self) -> dict[str, str]:
        """The variables that were left for the process that starts the container; deletes their
        file."""
        try:
            found = read_json(self.secrets) or {}
        except (OSError, ValueError):
            found = {}
        with contextlib.suppress(OSError):
            self.secrets.unlink()
        return found

    def _give(self, uid: int, gid: int, *, call: bool) -> None:
        # Others may pass through to what is theirs, and see nothing on the way.
        for folder in (self.path.parent, self.path):
            folder.chmod(0o711)
        self.returned.mkdir(mode=0o700, exist_ok=True)
        for folder in (self.work, self.returned):
            os.chown(folder, uid, gid)
        if call:
            self.call.chmod(0o400)
            os.chown(self.call, uid, gid)

    def take_result(self, uid: int) -> None:
        """Take over the result that a call of a user has left, if it is a plain file of his own.

        What has another name elsewhere, or leads to elsewhere, is none.
        """
        try:
            (self.returned / self.result.name).replace(self.result)
        except OSError:
            return
        found = self.result.lstat()
        if not stat.S_ISREG(found.st_mode) or found.st_uid != uid or found.st_nlink != 1:
            with contextlib.suppress(OSError):
                self.result.unlink()
