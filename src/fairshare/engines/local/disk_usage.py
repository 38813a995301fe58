"""The disk usage of the containers' directories, and the enforcement of its limits.

A separate thread measures them periodically, for at most a tenth of the time, with pauses within
each walk. Ended containers are measured once. If an application, or all containers of a user,
exceed their limit, the thread ends the largest running container and deletes its work directory, so
that others have space again. Files that a container writes elsewhere are not counted.
"""

import contextlib
import logging
import os
import stat
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from fairshare.core.model.identifiers import ContainerId
from fairshare.engines.local import adoption
from fairshare.engines.local.directories import ContainerDirectory
from fairshare.engines.local.state import StateDirectory
from fairshare.wording import cause

INTERVAL_S = 5.0
_SHARE = 10  # measuring takes at most this part of the time
_STRETCH = 1_000  # directory entries between two pauses
_PAUSE_S = 0.005
_DEEPEST = 200  # nested directories
_SHARED = "call.pickle"
_MB = 1024 * 1024
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

_log = logging.getLogger("fairshare.engine")


class DiskLimits(NamedTuple):
    """The limits for the directories of all containers of one application, and of one user; 0: no
    limit. `application_containers` and `user_containers` are the ended ones that are kept."""

    application_mb: int = 0
    user_mb: int = 0
    application_containers: int = 0
    user_containers: int = 0


UNLIMITED = DiskLimits()


class Running(NamedTuple):
    """A running container."""

    container: ContainerId
    directory: ContainerDirectory
    user: str


class DiskUsage:
    """Measures and enforces disk usage. `running` returns the running containers, `stop` ends one
    with a reason, `discard` deletes a tree; all are called from the thread of `start`."""

    def __init__(
        self,
        state: StateDirectory,
        limits: DiskLimits,
        running: Callable[[], list[Running]],
        stop: Callable[[ContainerId, str], None],
        discard: Callable[[Path], None],
    ) -> None:
        self._state = state
        self._limits = limits
        self._running = running
        self._stop = stop
        self._discard = discard
        self._ended: dict[Path, tuple[str, int]] = {}  # user and bytes of ended containers
        self._condemned: dict[Path, ContainerDirectory] = {}
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread, if there is a limit."""
        if self._limits.application_mb or self._limits.user_mb:
            self._thread = threading.Thread(target=self._watch, name="disk-usage", daemon=True)
            self._thread.start()

    def close(self) -> None:
        self._closing.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _watch(self) -> None:
        pause_s = INTERVAL_S
        while not self._closing.wait(pause_s):
            began_s = time.monotonic()
            try:
                self.look()
            except FileNotFoundError:  # the directory was pruned meanwhile: measure again
                pass
            except OSError as error:
                _log.warning("what containers take of the disk cannot be seen: %s", cause(error))
            pause_s = max(INTERVAL_S, (_SHARE - 1) * (time.monotonic() - began_s))

    def look(self) -> None:
        """Measure once, and end containers above a limit. Raises OSError."""
        running = {container.directory.path: container for container in self._running()}
        # The work directories of containers that were ended for their size.
        for path, directory in list(self._condemned.items()):
            if directory.is_settled() or not path.exists():
                self._discard(directory.work)
                del self._condemned[path]
        sizes: dict[Path, int] = {}
        users: Counter[str] = Counter()
        applications: Counter[str] = Counter()
        owners: dict[str, str] = {}
        ended: dict[Path, tuple[str, int]] = {}
        for directory in self._state.all_containers():
            path = directory.path
            if path in self._condemned:  # it ends, and its directory goes: others must not suffer
                continue
            if path not in running and not directory.is_settled():
                continue  # it has just started: it could not be ended, so others would be
            usage = None if path in running else self._ended.get(path)
            if usage is None:
                user = running[path].user if path in running else _user_of(directory)
                scratch = directory.scratch(running[path].container) if path in running else None
                usage = (user, self._size_of(path) + (self._size_of(scratch) if scratch else 0))
            if directory.is_settled():
                ended[path] = usage
            user, sizes[path] = usage
            users[user] += sizes[path]
            applications[path.parent.name] += sizes[path]
            owners[path.parent.name] = user
        for application in self._state.shared_names():
            shared = self._size_of(self._state.shared(application))
            applications[application] += shared
            users[owners.get(application, "")] += shared
        self._ended = ended
        for path in sorted(running, key=lambda path: -sizes.get(path, 0)):
            container = running[path]
            reason = self._reason(path.parent.name, applications, container.user, users)
            if reason and sizes.get(path, 0):
                self._condemned[path] = container.directory
                applications[path.parent.name] -= sizes[path]
                users[container.user] -= sizes[path]
                self._stop(container.container, f"{reason}. It had {_mb(sizes[path])} of that")

    def _reason(
        self, application: str, applications: Counter[str], user: str, users: Counter[str]
    ) -> str:
        for taken, limit_mb, whose, setting in (
            (applications[application], self._limits.application_mb, "this application",
             "application_disk_mb"),
            (users[user], self._limits.user_mb, user, "user_disk_mb"),
        ):  # fmt: skip
            if 0 < limit_mb * _MB < taken:
                return (
                    f"killed: the containers of {whose} had {_mb(taken)} in their folders on the "
                    f"disk, and {limit_mb:,} MB are the limit; its work directory was deleted. "
                    "Write large files elsewhere, delete what is not needed while it runs, or have "
                    f"{setting} raised ([engine] of fairshare.toml)"
                )
        return ""

    def _size_of(self, path: Path) -> int:
        total = 0
        for count, size in enumerate(_sizes(path), 1):
            total += size
            if count % _STRETCH == 0 and self._closing.wait(_PAUSE_S):
                break
        return total


def _sizes(container: Path) -> Iterator[int]:
    """The disk usage, in bytes, of each entry in a container's directory.

    Deleted entries do not count, files with several hard links count once. The Python call does not
    count, since containers share it. Directories are opened from that above them and never through
    a link, as their user can put one there at any time.
    """
    seen: set[tuple[int, int]] = set()
    waiting: list[tuple[int, list[str]]] = []  # open directories, and those in them
    try:
        descriptor: int | None = os.open(container, _DIRECTORY)
    except OSError:  # it was deleted meanwhile
        return
    try:
        while True:
            if descriptor is not None:
                waiting.append((descriptor, []))
                yield from _listed(*waiting[-1], seen, shared=len(waiting) == 1)
            while waiting and (not waiting[-1][1] or len(waiting) > _DEEPEST):
                os.close(waiting.pop()[0])
            if not waiting:
                return
            parent, names = waiting[-1]
            try:
                descriptor = os.open(names.pop(), _DIRECTORY, dir_fd=parent)
            except OSError:  # it was deleted meanwhile, or is not accessible
                descriptor = None
    finally:
        for left, _ in waiting:
            os.close(left)


def _listed(
    descriptor: int, directories: list[str], seen: set[tuple[int, int]], *, shared: bool
) -> Iterator[int]:
    """The disk usage of each entry in a directory; adds the names of directories. `shared`: the
    Python call is among them."""
    with contextlib.suppress(OSError), os.scandir(descriptor) as entries:
        for entry in entries:
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if shared and entry.name == _SHARED:
                continue
            if stat.S_ISDIR(status.st_mode):
                directories.append(entry.name)
            elif status.st_nlink > 1:
                if (status.st_dev, status.st_ino) in seen:
                    continue
                seen.add((status.st_dev, status.st_ino))
            yield status.st_blocks * 512


def _user_of(directory: ContainerDirectory) -> str:
    launch = adoption.read_launch(directory)
    return "" if launch is None else launch.environment.get("FAIRSHARE_USER", "")


def _mb(amount: int) -> str:
    return f"{amount / _MB:,.1f} MB"
