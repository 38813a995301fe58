"""The deletion of containers' files.

They leave their place at once, for a directory that is closed to users (`STATE/deleted`), and a
thread of its own deletes them there. What a user's container made is deleted with that user's
rights, never with the server's. Whatever cannot be deleted now is tried again later, also by the
next server.
"""

import contextlib
import errno
import logging
import os
import stat
import threading
import time
from collections import deque
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import NamedTuple

from fairshare.engines.local.state import StateDirectory
from fairshare.engines.rights import Rights, acting_as
from fairshare.wording import cause

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_DIRECTORY = (errno.ELOOP, errno.ENOTDIR)
_SERVERS_LEVELS = 2  # an application's directory, and those of its containers
_TURN_S = 30.0  # then another tree is next
_FIRST_PAUSE_S = 5.0
_LONGEST_PAUSE_S = 3600.0
_PATIENCE_S = 5.0

_log = logging.getLogger("fairshare.engine")


class _Tried(NamedTuple):
    """A tree that could not be deleted: how many turns it has had, when it gets the next one (a
    monotonic time), and the pause before that. Trees with fewer turns come first, so that one that
    a tenant fills as fast as it is emptied does not keep others."""

    turns: int = 0
    due: float = 0.0
    pause_s: float = 0.0


_NEW = _Tried()


class Unfinished(Exception):
    """A deletion has not ended in its time."""


class Removal:
    """Deletes trees of a state directory."""

    def __init__(self, state: StateDirectory) -> None:
        self._state = state
        self._wake = threading.Event()
        self._closing = False
        self._thread: threading.Thread | None = None
        self._unmoved: deque[Path] = deque()
        self._tried: dict[str, _Tried] = {}

    def start(self) -> None:
        """Start the thread. It begins with what earlier servers left."""
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="removal", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop the thread; the next server goes on."""
        self._closing = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join(_PATIENCE_S)  # a device may be waited for
            self._thread = None

    def discard(self, path: Path) -> None:
        """Have a tree deleted; called from any thread. It is gone from its place when this returns,
        if it can be moved now. A tree that does not exist is not an error."""
        try:
            self._move(path)
        except OSError as error:
            _log.warning("%s cannot be deleted, and is tried again later: %s", path, cause(error))
            self._unmoved.append(path)
        self._wake.set()

    def _move(self, path: Path) -> None:
        self._state.deleted.mkdir(mode=0o700, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            path.rename(self._state.deleted / f"{time.time_ns():x}-{path.name}")

    def _run(self) -> None:
        while not self._closing:
            self._wake.clear()
            try:
                pause_s = self._round()
            except OSError as error:
                _log.warning("%s cannot be listed: %s", self._state.deleted, cause(error))
                pause_s = _LONGEST_PAUSE_S
            self._wake.wait(pause_s)

    def _round(self) -> float | None:
        """Try the trees that are due and have had the fewest turns; returns the seconds until the
        next ones are."""
        for _ in range(len(self._unmoved)):
            path = self._unmoved.popleft()
            try:
                self._move(path)
            except OSError:
                self._unmoved.append(path)
        names = sorted(entry.name for entry in self._state.deleted.iterdir())
        self._tried = {name: self._tried[name] for name in names if name in self._tried}
        now = time.monotonic()
        due = [name for name in names if self._tried.get(name, _NEW).due <= now]
        fewest = min((self._tried.get(name, _NEW).turns for name in due), default=0)
        chosen = [name for name in due if self._tried.get(name, _NEW).turns == fewest]
        for name in chosen:
            if self._closing or time.monotonic() - now > _TURN_S:
                return 0.0  # what came meanwhile is next
            self._try(name)
        if len(chosen) < len(due):
            return 0.0
        moments = [tried.due for tried in self._tried.values()]
        if self._unmoved:
            moments.append(time.monotonic() + _FIRST_PAUSE_S)
        return max(0.0, min(moments) - time.monotonic()) if moments else None

    def _try(self, name: str) -> None:
        path, end = self._state.deleted / name, time.monotonic() + _TURN_S
        tried = self._tried.pop(name, _NEW)
        try:
            remove_tree(path, lambda: self._closing or time.monotonic() > end)
        except Unfinished:
            self._tried[name] = tried._replace(turns=tried.turns + 1)
        except OSError as error:
            if not tried.pause_s:
                _log.warning(
                    "%s cannot be deleted, and is tried again later: %s", path, cause(error)
                )
            pause_s = min(2 * tried.pause_s or _FIRST_PAUSE_S, _LONGEST_PAUSE_S)
            self._tried[name] = _Tried(tried.turns + 1, time.monotonic() + pause_s, pause_s)


def remove_tree(
    path: Path, is_over: Callable[[], bool] = lambda: False, levels: int = _SERVERS_LEVELS
) -> None:
    """Delete a tree whose parent directory only the server can change.

    The directories of its first `levels` are the server's, unless others own them: the content of
    any directory below, or of another owner, is deleted with the rights of that owner. Raises
    OSError for the first entry that cannot be deleted, after all others were deleted; Unfinished as
    soon as `is_over`.
    """
    failures: list[OSError] = []
    try:
        descriptor = _opened(path)
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno not in _NO_DIRECTORY:
            raise
        path.unlink(missing_ok=True)
        return
    try:
        found = os.fstat(descriptor)
        is_servers = levels > 0 and found.st_uid == os.geteuid()
        with acting_as(Rights.of_owner(found)):
            with contextlib.suppress(OSError):
                os.fchmod(descriptor, stat.S_IRWXU)
            if not is_servers:
                _Emptied(descriptor, is_over, failures).empty()
    finally:
        os.close(descriptor)
    for entry in sorted(path.iterdir()) if is_servers else ():
        try:
            remove_tree(entry, is_over, levels - 1)
        except OSError as error:
            failures.append(error)
    if failures:
        raise failures[0]
    path.rmdir()


class _Emptied:
    """An open directory that is emptied with the present rights, however deep it is nested: what is
    in one of its directories is moved up, so that one more descriptor is enough. `failures` gets
    the first one, if something is left."""

    def __init__(self, top: int, is_over: Callable[[], bool], failures: list[OSError]) -> None:
        self._top = top
        self._is_over = is_over
        self._failures = failures
        self._deleted = 0
        prefix = os.urandom(8).hex()
        self._names = (f"{prefix}-{number}" for number in count())

    def empty(self) -> None:
        """Delete all that can be deleted; raises Unfinished."""
        before = -1
        while before < self._deleted:
            before = self._deleted
            self._failures.clear()
            self._each(self._top, self._dissolve)

    def _each(self, parent: int, enter: Callable[[str], None]) -> None:
        """Delete the files of a directory, and have each directory in it handled by `enter`."""
        with os.scandir(parent) as entries:
            for entry in entries:
                if self._is_over():
                    raise Unfinished
                try:
                    if entry.is_dir(follow_symlinks=False):
                        enter(entry.name)
                    else:
                        os.unlink(entry.name, dir_fd=parent)
                    self._deleted += 1
                except FileNotFoundError:
                    pass
                except OSError as error:
                    if not self._failures:
                        self._failures.append(error)

    def _dissolve(self, name: str) -> None:
        """Delete a directory, and move the directories in it up."""
        with contextlib.suppress(OSError):
            os.rmdir(name, dir_fd=self._top)
            return
        inner = _opened(name, self._top)
        try:
            with contextlib.suppress(OSError):  # of another account, which may let this one in
                os.fchmod(inner, stat.S_IRWXU)
            self._each(inner, lambda found: self._lift(found, inner))
        finally:
            os.close(inner)
        os.rmdir(name, dir_fd=self._top)

    def _lift(self, name: str, inner: int) -> None:
        target = next(self._names)
        try:
            os.rename(name, target, src_dir_fd=inner, dst_dir_fd=self._top)
        except PermissionError:  # its ".." changes, so that it has to be writable
            os.chmod(name, stat.S_IRWXU, dir_fd=inner)
            os.rename(name, target, src_dir_fd=inner, dst_dir_fd=self._top)


def _opened(path: str | Path, parent: int | None = None) -> int:
    """A descriptor of a directory, also of one that its owner has closed to himself."""
    try:
        return os.open(path, _DIRECTORY, dir_fd=parent)
    except PermissionError:
        os.chmod(path, stat.S_IRWXU, dir_fd=parent)
        return os.open(path, _DIRECTORY, dir_fd=parent)
