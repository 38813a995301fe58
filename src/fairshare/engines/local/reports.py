"""Owns the engine's reports: starts and ends of containers, and the set of running ones.

The engine's thread makes the reports (`start` does before the thread runs); any thread calls
`held`.
"""

import contextlib
import threading
from collections.abc import Callable

from fairshare.core.model.identifiers import ContainerId
from fairshare.core.model.inputs import ContainerExited, ContainerStarted, Input
from fairshare.engines.local.directories import ContainerDirectory
from fairshare.engines.local.kept import KeptFiles
from fairshare.engines.local.launch import Launch


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
        directory.tidy()  # first, because the receiver of the report may delete the directory
        self.ended(exited)
        with contextlib.suppress(OSError):
            directory.settled.touch()
            if self._kept is not None:
                self._kept.settled(directory, launch, exited.exit_code)
