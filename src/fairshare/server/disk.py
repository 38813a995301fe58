"""Owns the watch on the free space of the state directory's disk, and the reaction to a full disk.

Below a threshold nothing is admitted until there is space again: running containers go on, and
their completions must be recorded. Knows neither HTTP nor what an application is.
"""

import asyncio
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from fairshare.journal.reserve import Reserve

MB: Final = 1024**2
DEFAULT_FREE_MB: Final = 256
SHARE: Final = 20
"""By default a disk is full when less than this part of it is free, or DEFAULT_FREE_MB."""

INTERVAL_S: Final = 1.0

Room = tuple[int, int]
"""(free, all), in bytes."""

_log = logging.getLogger("fairshare.server")


def room_of(directory: Path) -> Room:
    """The bytes that this process may still write on the disk of a folder, and the disk's size.
    Raises OSError."""
    found = os.statvfs(directory)
    return found.f_frsize * found.f_bavail, found.f_frsize * found.f_blocks


class Disk:
    """The disk of a state directory. `problem` says why nothing is admitted; empty: all is well.

    `least_mb` must be free; None: the default. Once it is not, a tenth more must be.
    """

    def __init__(
        self,
        directory: Path,
        least_mb: int | None = None,
        probe: Callable[[Path], Room] = room_of,
    ) -> None:
        self.problem = ""
        self._directory = directory
        self._least_mb = least_mb
        self._probe = probe
        self._reserve = Reserve(directory)

    def look(self) -> None:
        """Measure the free space, and log a change of the state."""
        try:
            free, size = self._probe(self._directory)
        except OSError as error:
            _log.warning("how full the disk is cannot be seen: %s", error.strerror)
            return
        least = self._least(size)
        before = self.problem
        if free < (least * 11 // 10 if before else least):
            self.problem = (
                f"the disk of {self._directory} is nearly full: {_mb(free)} are free, and with less"
                f" than {_mb(least)} nothing is admitted. What runs goes on. Make room there;"
                " admission then resumes by itself ([limits] free_mb is the threshold)"
            )
            if not before:
                _log.warning("%s", self.problem)
            return
        self.problem = ""
        if before:
            _log.info("the disk of %s has room again: %s are free", self._directory, _mb(free))
        self._reserve.fill()

    async def watch(self) -> None:
        """Check periodically until cancelled."""
        while True:
            self.look()
            await asyncio.sleep(INTERVAL_S)

    def _least(self, size: int) -> int:
        if self._least_mb is not None:
            return self._least_mb * MB
        return min(DEFAULT_FREE_MB * MB, size // SHARE)


def _mb(amount: int) -> str:
    return f"{amount / MB:,.1f} MB"
