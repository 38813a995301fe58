"""Owns the disk usage of the containers' folders, and the enforcement of its limits.

A thread of its own looks at them again and again: never for more than a tenth of the time, and with
a pause behind each stretch of a walk. What has ended is measured once. Where an application or all
containers of a user take more than their limit, the largest one that runs is ended, and its work
directory is deleted, so that others have room again. What a container writes elsewhere is not seen.
"""

import logging
import os
import stat
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from fairshare.engines.local import adoption
from fairshare.engines.local.directories import ContainerDirectory
from fairshare.engines.local.state import StateDirectory, remove_tree
from fairshare.model.identifiers import ContainerId
from fairshare.wording import cause

INTERVAL_S = 5.0
_SHARE = 10  # of the time, one part is for looking
_STRETCH = 1_000  # entries between two pauses
_PAUSE_S = 0.005
_DEEPEST = 200  # folders within folders
_SHARED = "call.pickle"
_MB = 1024 * 1024

_log = logging.getLogger("fairshare.engine")


class DiskLimits(NamedTuple):
    """What the folders of all containers of one application, and of one user, may take; 0: all."""

    application_mb: int = 0
    user_mb: int = 0


UNLIMITED = DiskLimits()


class Running(NamedTuple):
    """A container that runs."""

    container: ContainerId
    directory: ContainerDirectory
    user: str


class DiskUsage:
    """The watch over the disk. `running` says what runs now, `stop` ends a container with a reason;
    both are called from the thread of `start`."""

    def __init__(
        self,
        state: StateDirectory,
        limits: DiskLimits,
        running: Callable[[], list[Running]],
        stop: Callable[[ContainerId, str], None],
    ) -> None:
        self._state = state
        self._limits = limits
        self._running = running
        self._stop = stop
        self._ended: dict[Path, tuple[str, int]] = {}  # user and bytes of what has ended
        self._condemned: dict[Path, ContainerDirectory] = {}
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to watch, if there is a limit."""
        if any(self._limits):
            self._thread = threading.Thread(target=self._watch, name="disk-usage", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Watch no more."""
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
            except FileNotFoundError:  # it was pruned meanwhile: look again
                pass
            except OSError as error:
                _log.warning("what containers take of the disk cannot be seen: %s", cause(error))
            pause_s = max(INTERVAL_S, (_SHARE - 1) * (time.monotonic() - began_s))

    def look(self) -> None:
        """Measure once, and end what is above a limit. Raises OSError."""
        running = {one.directory.path: one for one in self._running()}
        self._clear()
        sizes: dict[Path, int] = {}
        users: Counter[str] = Counter()
        applications: Counter[str] = Counter()
        known: dict[Path, tuple[str, int]] = {}
        for directory in self._state.all_containers():
            path = directory.path
            found = None if path in running else self._ended.get(path)
            if found is None:
                user = running[path].user if path in running else _user_of(directory)
                found = (user, self._size_of(path))
            if directory.settled.exists() and path not in self._condemned:
                known[path] = found
            user, sizes[path] = found
            users[user] += sizes[path]
            applications[path.parent.name] += sizes[path]
        self._ended = known
        for path in sorted(running, key=lambda path: -sizes.get(path, 0)):
            one = running[path]
            reason = self._reason(path.parent.name, applications, one.user, users)
            if reason and sizes.get(path, 0):
                self._condemned[path] = one.directory
                applications[path.parent.name] -= sizes[path]
                users[one.user] -= sizes[path]
                self._stop(one.container, f"{reason}. It had {_mb(sizes[path])} of that")

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

    def _clear(self) -> None:
        """Delete the work directories of what was ended for its size and is over now."""
        for path, directory in list(self._condemned.items()):
            if directory.settled.exists() or not path.exists():
                try:
                    remove_tree(directory.work)
                except OSError as error:
                    _log.warning("%s cannot be deleted: %s", directory.work, cause(error))
                del self._condemned[path]

    def _size_of(self, path: Path) -> int:
        total = 0
        for count, size in enumerate(_sizes(path), 1):
            total += size
            if count % _STRETCH == 0 and self._closing.wait(_PAUSE_S):
                break
        return total


def _sizes(container: Path) -> Iterator[int]:
    """The bytes that each thing in the folder of a container takes of the disk.

    What is gone takes none, what has several names counts once. The call of Python is not the
    container's own: others share it.
    """
    seen: set[tuple[int, int]] = set()
    waiting = [(str(container), 0)]
    while waiting:
        place, depth = waiting.pop()
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    found = _stat(entry)
                    if found is None or (depth == 0 and entry.name == _SHARED):
                        continue
                    if stat.S_ISDIR(found.st_mode):
                        if depth < _DEEPEST:
                            waiting.append((entry.path, depth + 1))
                    elif found.st_nlink > 1:
                        if (found.st_dev, found.st_ino) in seen:
                            continue
                        seen.add((found.st_dev, found.st_ino))
                    yield found.st_blocks * 512
        except OSError:  # it has gone meanwhile, or is closed to us
            continue


def _stat(entry: os.DirEntry[str]) -> os.stat_result | None:
    try:
        return entry.stat(follow_symlinks=False)
    except OSError:
        return None


def _user_of(directory: ContainerDirectory) -> str:
    launch = adoption.read_launch(directory)
    return "" if launch is None else launch.environment.get("FAIRSHARE_USER", "")


def _mb(amount: int) -> str:
    return f"{amount / _MB:,.1f} MB"
