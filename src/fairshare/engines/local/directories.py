"""The files of one container, and how a file is replaced atomically.

    launch.json   the order                pid.json        the supervisor that runs it
    exit.json     how it ended             settled         pid.json, when the end was reported
    stdout.log    stderr.log               work/           its own working directory
    stdout.dropped  stderr.dropped         the byte ranges removed from the middle of the logs
    call.pickle   a Python call            result.pickle   what the call returned
    secrets.json  secret variables, until it starts
    returned/     the result of a call that runs under a user's account

Must stay light, as supervisors use it: nothing of the model.
"""

import contextlib
import errno
import json
import os
import stat
from pathlib import Path
from typing import Any, Final

from fairshare.engines.rights import Rights

_MOST_BYTES = 64 * 1024 * 1024
_NO_LINK = (errno.EXDEV, errno.EMLINK, errno.EPERM, errno.EOPNOTSUPP)
"""The errors if a file cannot get a hard link: another disk, too many links, not supported."""


EXIT_BYTES = 4096
"""What is reserved for exit.json before a container starts, as the compiled supervisor does."""


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file by write and rename: a reader sees either the old or the new content.

    Without a sync, since that would cost each task two waits for the disk. After a power failure
    the file may be missing or empty: for a task's files this only means that the task runs again,
    unless the journal, which is synced, knows its end.
    Raises OSError, and leaves no temporary file, if the file cannot be written.
    """
    temporary = _draft(path)
    try:
        # Reserved space is overwritten, so that no further disk space is needed.
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            os.ftruncate(descriptor, len(data))
        finally:
            os.close(descriptor)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def reserve(path: Path, size: int) -> None:
    """Reserve disk space for a file that `write_atomically` will write later.

    Raises OSError if there is not enough.
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

    Raises OSError if the file cannot be read now; it may or may not exist then. Raises ValueError
    for anything except a file with a JSON object: a container can put anything there.
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
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST_BYTES:
            raise ValueError("a plain file of a sensible size is needed")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            # Not up to the limit: Python would reserve all of that first.
            value = json.loads(file.read(status.st_size))
    if not isinstance(value, dict):
        raise ValueError("a JSON object is needed")
    return value


def _write_private(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)


SCRATCH: Final = "scratch"
"""The directory, in the state directory, of the temporary files of containers that run."""


class ContainerDirectory:
    """The files of one container."""

    def __init__(self, path: Path) -> None:
        # Only this path is kept: the server has one object for each running container.
        self.path = path

    @property
    def launch(self) -> Path:
        return self.path / "launch.json"

    @property
    def pid(self) -> Path:
        """The supervisor that runs it."""
        return self.path / "pid.json"

    @property
    def exit(self) -> Path:
        """How it ended."""
        return self.path / "exit.json"

    @property
    def stdout(self) -> Path:
        """Its standard output."""
        return self.path / "stdout.log"

    @property
    def stderr(self) -> Path:
        """Its standard error."""
        return self.path / "stderr.log"

    @property
    def work(self) -> Path:
        """Its own working directory."""
        return self.path / "work"

    def scratch(self, container: int) -> Path:
        """Where it puts temporary files, until it ends: TMPDIR. The path is short, since programs
        have sockets there, whose paths have at most 107 bytes."""
        return self.path.parents[2] / SCRATCH / f"{container:x}"

    @property
    def call(self) -> Path:
        """The Python call that it runs."""
        return self.path / "call.pickle"

    @property
    def result(self) -> Path:
        """What the call returned."""
        return self.path / "result.pickle"

    @property
    def returned(self) -> Path:
        """Where a call under a user's account leaves its result."""
        return self.path / "returned"

    @property
    def secrets(self) -> Path:
        """Its secret variables, until it starts."""
        return self.path / "secrets.json"

    def write_launch(
        self,
        launch: bytes,
        call: bytes | Path = b"",
        owner: tuple[int, int] | None = None,
        secrets: dict[str, str] | None = None,
    ) -> None:
        """Create the directory with its order; raises OSError, possibly after some files.

        `call` is the content of the call's file, or a file to link. `owner` is the container's user
        and group, unless it runs as the server: they get the ownership of the container's files,
        and no access to the others.
        """
        # Whatever the umask is: others must not put anything there.
        try:
            self.path.mkdir(mode=0o700, exist_ok=True)
        except FileNotFoundError:  # the first one of its application
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.path.mkdir(mode=0o700, exist_ok=True)
        self.work.mkdir(mode=0o700, exist_ok=True)
        if call:
            self._put_call(call)
        if owner is not None:
            # Users can traverse these directories to their own files, but not list them.
            for folder in (self.path.parent, self.path):
                folder.chmod(0o711)
            self.returned.mkdir(mode=0o700, exist_ok=True)
            for folder in (self.work, self.returned):
                os.chown(folder, *owner, follow_symlinks=False)
            if call:
                self.call.chmod(0o400)
                os.chown(self.call, *owner, follow_symlinks=False)
        if secrets:
            _write_private(self.secrets, json.dumps(secrets).encode())
        write_atomically(self.launch, launch)  # else a killed server would leave half an order

    def _put_call(self, call: bytes | Path) -> None:
        # Never overwritten: the file may have links in the directories of other containers.
        self.call.unlink(missing_ok=True)
        if isinstance(call, bytes):
            _write_private(self.call, call)
            return
        try:
            os.link(call, self.call)
        except OSError as error:
            if error.errno not in _NO_LINK:
                raise
            _write_private(self.call, call.read_bytes())

    def say(self, words: str) -> None:
        """Append a line of ours to stderr, as far as possible."""
        with contextlib.suppress(OSError):
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK
            descriptor = os.open(self.stderr, flags, 0o640)
            with os.fdopen(descriptor, "wb") as file:
                file.write(f"fairshare: {words}\n".encode(errors="surrogateescape"))

    def ended(self) -> bool:
        """Whether the logs are complete."""
        return self.exit.exists() or not self.launch.exists()

    def dropped_range(self, log: Path) -> tuple[int, int]:
        """The range of bytes removed from a log, the end exclusive; (0, 0): none."""
        try:
            value = read_json(log.with_suffix(".dropped")) or {}
        except (OSError, ValueError):
            value = {}
        first, end = value.get("from"), value.get("to")
        return (first, end) if isinstance(first, int) and isinstance(end, int) else (0, 0)

    def settle(self) -> None:
        """Mark its end as reported, and delete its call, as far as possible.

        No other file is deleted, nor the empty working directory: ext4 does not use the inode of a
        deleted file again for minutes, and each new file searches past all of these.
        """
        with contextlib.suppress(OSError):
            self.call.unlink(missing_ok=True)
            if self.exit.is_file() and self.pid.exists():
                self.pid.replace(self._settled)
            else:  # without exit.json, pid.json alone says that it began
                self._settled.touch()

    def is_settled(self) -> bool:
        """Whether its end was reported."""
        return os.path.lexists(self._settled)

    @property
    def _settled(self) -> Path:
        return self.path / "settled"

    def rights(self) -> Rights | None:
        """The rights of its account, as the order says; None: the server's.

        Raises OSError or ValueError if that cannot be read.
        """
        order = read_json(self.launch)
        if order is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self.launch))
        if not order.get("account"):
            return None
        return Rights(int(order["uid"]), int(order["gid"]), tuple(map(int, order["supplementary"])))

    def take_secrets(self) -> dict[str, str]:
        """The secret variables, for the process that starts the container; deletes their file."""
        try:
            secrets = read_json(self.secrets) or {}
        except (OSError, ValueError):
            secrets = {}
        with contextlib.suppress(OSError):
            self.secrets.unlink()
        return secrets

    def take_result(self, uid: int) -> None:
        """Take over the result of a user's call, if it is a regular file owned by that user.

        A file with further hard links, or a symbolic link, is not accepted.
        """
        try:
            (self.returned / self.result.name).replace(self.result)
        except OSError:
            return
        found = self.result.lstat()
        if not stat.S_ISREG(found.st_mode) or found.st_uid != uid or found.st_nlink != 1:
            with contextlib.suppress(OSError):
                self.result.unlink()
