"""Owns the engine's reports: that a container started, how it ended, and which still run.

Reports are made by the engine's thread (by `start` before it runs); `held` is asked from any.
"""

import contextlib
import threading
from collections.abc import Callable

from fairshare.engines.local.directories import ContainerDirectory
from fairshare.engines.local.outcome import Outcome
from fairshare.model.identifiers import ContainerId
from fairshare.model.inputs import ContainerExited, ContainerStarted, Input


class Reports:
    """The way from what was observed to inputs of the resource manager."""

    def __init__(self, report: Callable[[Input], None]) -> None:
        self._report = report
        self._lock = threading.Lock()
        self._held: set[ContainerId] = set()

    def hold(self, container: ContainerId) -> None:
        """Count a container as running until its exit was reported."""
        with self._lock:
            self._held.add(container)

    def held(self) -> frozenset[ContainerId]:
        """The containers that were ordered or adopted and whose exit was not reported yet."""
        with self._lock:
            return frozenset(self._held)

    def started(self, container: ContainerId) -> None:
        """Report that a container runs. Its end will be reported too, so its room is its own."""
        self._report(ContainerStarted(container, holds_room=True))

    def ended(self, outcome: Outcome) -> None:
        """Report how a container ended."""
        self._report(
            ContainerExited(
                container=outcome.container,
                exit_code=outcome.exit_code,
                diagnostics=outcome.diagnostics,
                peak_memory_mb=outcome.peak_memory_mb,
                cpu_ms=outcome.cpu_ms,
            )
        )
        with self._lock:
            self._held.discard(outcome.container)

    def settle(self, directory: ContainerDirectory, outcome: Outcome) -> None:
        """Report how a container ended, then mark it as reported: rather twice than never."""
        directory.tidy()  # first, since the receiver of the report may delete the directory
        self.ended(outcome)
        with contextlib.suppress(OSError):
            directory.settled.touch()
