"""The engine's reports (starts and ends of containers, and the set of running ones), and how many
directories of ended containers are kept: each needs some inodes of the disk.

Of an application, and of a user, a limited number is kept, the latest; of a task that is tried
again and again only the last tries. Results of Python calls go last. The engine's thread makes the
reports and deletes directories (`start` does before the thread runs); any thread calls `held`.
"""

import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Final

from fairshare.core.model.identifiers import ContainerId
from fairshare.core.model.inputs import ContainerExited, ContainerStarted, Input
from fairshare.engines.local.directories import ContainerDirectory
from fairshare.engines.local.disk_usage import DiskLimits
from fairshare.engines.local.launch import Launch
from fairshare.engines.local.state import StateDirectory

KEPT_TRIES: Final = 10
"""The directories of a task's failures that are kept."""

_INODES: Final = 8  # of a container, at most, unless its command makes files
_APPLICATION_SHARE: Final = 16
_USER_SHARE: Final = 8
"""The directories of an application may use one part in this many of the disk's inodes."""

_LEAST: Final = 10
_AT_ONCE: Final = 16  # a part in this many is deleted at once, since a directory has to be listed


class KeptFiles:
    """Counts directories as containers end, and has the oldest ones deleted by `discard`."""

    def __init__(
        self, state: StateDirectory, limits: DiskLimits, discard: Callable[[Path], None]
    ) -> None:
        self._state = state
        self._limits = limits
        self._discard = discard
        self._kept: dict[str, dict[str, int]] = {}  # by user and application
        self._tries: dict[tuple[str, str, str], deque[Path]] = {}  # by application and task

    def adopt(self, directory: ContainerDirectory, launch: Launch | None) -> None:
        """Count a directory that an earlier server left. Its launch is only needed for the first
        one of an application."""
        application = directory.path.parent.name
        for counts in self._kept.values():
            if application in counts:
                counts[application] += 1
                return
        self._count(_user_of(launch), application)

    def knows(self, application: str) -> bool:
        """Whether the user of an application is known."""
        return any(application in counts for counts in self._kept.values())

    def settled(self, directory: ContainerDirectory, launch: Launch, exit_code: int) -> None:
        """A container has ended, and was reported."""
        application, user = directory.path.parent.name, _user_of(launch)
        self._count(user, application)
        if exit_code:
            self._limit_tries(directory, launch)
        # The largest number of directories of an application, and of a user.
        inodes = os.statvfs(self._state.containers).f_files or 2**62
        shares = (inodes // _INODES // _APPLICATION_SHARE, inodes // _INODES // _USER_SHARE)
        limits = (self._limits.application_containers, self._limits.user_containers)
        most_of_application, most_of_user = (
            max(_LEAST, min(limit or share, share))
            for limit, share in zip(limits, shares, strict=True)
        )
        counts = self._kept[user]
        if counts[application] > most_of_application:
            self._trim(user, application, most_of_application // _AT_ONCE + 1)
        excess = sum(counts.values()) - most_of_user
        if excess > 0:
            excess += most_of_user // _AT_ONCE
            for oldest in sorted(counts):
                excess -= self._trim(user, oldest, excess)
                if excess <= 0:
                    break

    def forget(self, application: str) -> None:
        """The directories of an application were deleted."""
        for counts in self._kept.values():
            counts.pop(application, None)
        self._kept = {user: counts for user, counts in self._kept.items() if counts}
        self._tries = {key: found for key, found in self._tries.items() if key[0] != application}

    def _count(self, user: str, application: str) -> None:
        counts = self._kept.setdefault(user, {})
        counts[application] = counts.get(application, 0) + 1

    def _limit_tries(self, directory: ContainerDirectory, launch: Launch) -> None:
        environment = launch.environment
        group = environment.get("FAIRSHARE_TASK_GROUP")
        if group is None:
            return
        index = environment.get("FAIRSHARE_TASK_INDEX", "")
        tries = self._tries.setdefault((directory.path.parent.name, group, index), deque())
        tries.append(directory.path)
        if len(tries) > KEPT_TRIES:
            self._delete(_user_of(launch), tries.popleft())

    def _trim(self, user: str, application: str, excess: int) -> int:
        """Delete the oldest directories of an application, and results last; returns how many."""
        folder = self._state.application(application)
        found = [folder / name for name in self._state.names(application)]
        ended = [path for path in found if ContainerDirectory(path).is_settled()]
        ended.sort(key=lambda path: ContainerDirectory(path).result.exists())  # stable: the oldest
        for path in ended[:excess]:
            self._delete(user, path)
        return min(excess, len(ended))

    def _delete(self, user: str, path: Path) -> None:
        self._discard(path)
        counts, application = self._kept.get(user, {}), path.parent.name
        if application in counts:
            counts[application] -= 1


def _user_of(launch: Launch | None) -> str:
    return "" if launch is None else launch.environment.get("FAIRSHARE_USER", "")


class Reports:
    """Converts observations to inputs of the resource manager."""

    def __init__(self, report: Callable[[Input], None], kept: KeptFiles | None = None) -> None:
        self._report = report
        self._kept = kept
        self._lock = threading.Lock()
        self._held: set[ContainerId] = set()

    def hold(self, container: ContainerId) -> None:
        """Count a container as running until its exit is reported."""
        with self._lock:
            self._held.add(container)

    def held(self) -> frozenset[ContainerId]:
        """The containers that were ordered or adopted and not yet reported as exited."""
        with self._lock:
            return frozenset(self._held)

    def started(self, container: ContainerId, gpus: tuple[str, ...] = ()) -> None:
        """Report that a container runs, with these GPUs. It holds its room until its end is
        reported."""
        self._report(ContainerStarted(container, holds_room=True, gpus=gpus))

    def ended(self, exited: ContainerExited) -> None:
        """Report how a container ended."""
        self._report(exited)
        with self._lock:
            self._held.discard(exited.container)

    def settle(
        self, directory: ContainerDirectory, exited: ContainerExited, launch: Launch
    ) -> None:
        """Report how a container ended, then mark it as reported: at least once. Older directories
        may go for this one."""
        self.ended(exited)
        directory.settle()  # its receiver may have deleted the directory
        with contextlib.suppress(OSError):
            if self._kept is not None:
                self._kept.settled(directory, launch, exited.exit_code)
