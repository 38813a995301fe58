"""The watch on the room of the disks of a state directory, and the reaction to full ones.

Room is bytes and inodes. Below a threshold nothing is admitted and nothing launched until there is
room again: running containers go on, and their completions must be recorded.
"""

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from fairshare.runtime.journal.files import Reserve
from fairshare.this_machine import full_disk

MB: Final = 1024**2
DEFAULT_FREE_MB: Final = 256
SHARE: Final = 20
"""By default a disk is full when less than this part of it is free, or DEFAULT_FREE_MB."""

DEFAULT_FREE_INODES: Final = 10_000
"""By default a disk has too few inodes when less than this number is free, or a part of SHARE."""

INTERVAL_S: Final = 1.0
LEAST_INTERVAL_S: Final = 0.1
"""How old a measurement may be when containers are launched."""

Room = tuple[int, int]
"""(free, all), in bytes or inodes."""

_log = logging.getLogger("fairshare.server")


def room_of(directory: Path) -> Room:
    """The bytes that this process may still write on the disk of a folder, and the disk's size.
    Raises OSError."""
    found = os.statvfs(directory)
    return found.f_frsize * found.f_bavail, found.f_frsize * found.f_blocks


def inodes_of(directory: Path) -> Room:
    """The inodes that this process may still use on the disk of a folder, and all of them; 0 of 0
    on a disk that does not count them. Raises OSError."""
    found = os.statvfs(directory)
    return found.f_favail, found.f_files


class Disk:
    """The disks of a state directory and of its containers. `problem` says why nothing is admitted
    or launched, and `shortage` in few words what is short; empty: all is well.

    `least_mb` and `least_inodes` must be free; None: the default. Once they are not, a tenth more
    must be. `on_change` is called with whether something is short.
    """

    def __init__(
        self,
        directory: Path,
        least_mb: int | None = None,
        probe: Callable[[Path], Room] = room_of,
        *,
        least_inodes: int | None = None,
        inodes: Callable[[Path], Room] = inodes_of,
    ) -> None:
        self.problem = self.shortage = ""
        self.on_change: Callable[[bool], None] = lambda short: None
        self._directory = directory
        self._least_mb, self._least_inodes = least_mb, least_inodes
        self._probe, self._inodes = probe, inodes
        self._reserve = Reserve(directory)
        self._looked_s = 0.0
        if full_disk(directory):
            self._reserve.give()  # for the small files of a server that starts

    def look(self) -> None:
        """Measure the free space, and log a change of the state."""
        self._looked_s = time.monotonic()
        before = self.problem
        try:
            problem = next(filter(None, map(self._problem_of, self._folders())), ("", ""))
        except OSError as error:
            _log.warning("how full the disk is cannot be seen: %s", error.strerror)
            return
        self.shortage, self.problem = problem
        if not self.problem:
            self._reserve.fill()
        if bool(before) != bool(self.problem):
            if before:
                free, _ = self._probe(self._directory)
                _log.info("the disk of %s has room again: %s are free", self._directory, _mb(free))
            else:
                _log.warning("%s", self.problem)
            self.on_change(bool(self.problem))

    def look_soon(self) -> None:
        """`look`, unless that was just done: a launch takes room long before the next interval."""
        if time.monotonic() - self._looked_s >= LEAST_INTERVAL_S:
            self.look()

    async def watch(self) -> None:
        """Check periodically until cancelled."""
        while True:
            self.look()
            await asyncio.sleep(INTERVAL_S)

    def _folders(self) -> Iterator[Path]:
        """The state directory, and that of the containers if it is on a disk of its own."""
        yield self._directory
        containers = self._directory / "containers"
        with contextlib.suppress(FileNotFoundError):
            if containers.stat().st_dev != self._directory.stat().st_dev:
                yield containers

    def _problem_of(self, folder: Path) -> tuple[str, str] | None:
        """The shortage of a folder's disk, in few words and in a message."""
        free, size = self._probe(folder)
        least = min(DEFAULT_FREE_MB * MB, size // SHARE)
        if self._least_mb is not None:
            least = self._least_mb * MB
        if free < self._enough(least):
            words = (
                f"is nearly full: {_mb(free)} are free, and with less than {_mb(least)}",
                "free_mb",
            )
            return "nearly full", self._message(folder, *words)
        free, count = self._inodes(folder)
        least = min(DEFAULT_FREE_INODES, count // SHARE)
        if self._least_inodes is not None:
            least = self._least_inodes
        if count and free < self._enough(least):
            words = (
                f"has nearly no inodes left: {free:,} of {count:,} are free, and with less than"
                f" {least:,}",
                "free_inodes",
            )
            return "nearly out of inodes", self._message(folder, *words)
        return None

    def _enough(self, least: int) -> int:
        return least * 11 // 10 if self.problem else least

    def _message(self, folder: Path, state: str, key: str) -> str:
        return (
            f"the disk of {folder} {state} nothing is admitted or launched. What runs goes on. Make"
            f" room there; all resumes by itself ([limits] {key} is the threshold)"
        )


def _mb(amount: int) -> str:
    return f"{amount / MB:,.1f} MB"
