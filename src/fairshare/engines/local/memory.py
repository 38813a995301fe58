"""Owns how a running container is held to its memory: by a cgroup, or by looking at it.

A holder reports when the limit was hit, and the peak. The supervisor acts on it. Must stay
light: supervisors use it.
"""

import contextlib
import os
from collections.abc import Sequence
from typing import Protocol

from fairshare.engines.local import groups, processes
from fairshare.engines.local.launch import Launch

MEBIBYTE = 1024 * 1024
_AFTER_EVENT_MS = 20
_FASTEST_GROWTH = 4 * MEBIBYTE  # bytes in a millisecond
_LONGEST_INTERVAL_MS = 1000


class MemoryHolder(Protocol):
    """What the supervisor asks."""

    @property
    def descriptor(self) -> int | None:
        """What becomes readable when the limit may have been hit."""

    @property
    def interval_ms(self) -> int | None:
        """How often `exceeded` wants to be asked; it may change."""

    def exceeded(self, pids: Sequence[int]) -> bool:
        """Whether the container wanted more than it was granted."""

    def peak_bytes(self) -> int:
        """The most that it held, 0 if that was not measured."""


def memory_holder(launch: Launch) -> MemoryHolder:
    """The holder that the order names; its groups must exist. Raises OSError."""
    if launch.memory_limit == "cgroup-v1":
        return GroupV1Memory(launch.groups[0].path, launch.memory_mb * MEBIBYTE)
    if launch.memory_limit == "cgroup-v2":
        return GroupV2Memory(launch.groups[0].path)
    return WatchedMemory(launch.memory_mb * MEBIBYTE, launch.watch_ms)


class GroupV1Memory:
    """A group of the first version: the kernel raises an event when it refuses memory.

    It then ends one process of the group, perhaps not the first: so the event is needed to end
    the container as a whole. The event also comes when a group above ours is full, so it counts
    only with a process ended here, and our own limit reached.
    """

    def __init__(self, path: str, limit_bytes: int) -> None:
        self._path = path
        self._limit_bytes = limit_bytes
        self.interval_ms: int | None = None
        self.descriptor: int | None = None
        if limit_bytes > 0:
            self.descriptor = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
            control = os.open(f"{path}/memory.oom_control", os.O_RDONLY)
            try:
                groups.write(f"{path}/cgroup.event_control", f"{self.descriptor} {control}")
            finally:
                os.close(control)

    def exceeded(self, pids: Sequence[int]) -> bool:
        """Whether the kernel ended a process for want of memory (`pids` are not needed)."""
        if self.descriptor is None:
            return False
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self.descriptor)
            self.interval_ms = _AFTER_EVENT_MS  # the event comes before the kernel acts on it
        if not groups.read_number(f"{self._path}/memory.oom_control", "oom_kill"):
            return False
        return self.peak_bytes() >= self._limit_bytes - MEBIBYTE

    def peak_bytes(self) -> int:
        """The most that was charged, with the page cache of its files."""
        return groups.read_number(f"{self._path}/memory.max_usage_in_bytes") or 0


class GroupV2Memory:
    """A group of the second version: the kernel ends all of it (memory.oom.group) and counts.

    `oom` counts that this limit was hit, `oom_kill` that processes were ended for it; the latter
    alone can come from a full group above ours.
    """

    descriptor = None
    interval_ms = None

    def __init__(self, path: str) -> None:
        self._path = path

    def exceeded(self, pids: Sequence[int]) -> bool:
        """Whether the kernel ended processes for want of memory (`pids` are not needed)."""
        events = f"{self._path}/memory.events"
        return bool(groups.read_number(events, "oom") and groups.read_number(events, "oom_kill"))

    def peak_bytes(self) -> int:
        """The most that was charged, with the page cache of its files (Linux 5.19 on)."""
        return groups.read_number(f"{self._path}/memory.peak") or 0


class WatchedMemory:
    """A sum over all processes of the container, now and then: it can overshoot between two looks.

    Resident memory counts a page once for each process that shares it. So a sum above the limit is
    taken again with shared pages divided, which costs more, before the container is killed for it.

    The next check is after `interval_ms`, or later if the free memory cannot be filled before: 4
    GiB of free memory last a second (`_FASTEST_GROWTH`).
    """

    descriptor = None

    def __init__(self, limit_bytes: int, interval_ms: int) -> None:
        self._limit_bytes = limit_bytes
        self._peak_bytes = 0
        self._shortest_interval_ms = interval_ms
        self.interval_ms = interval_ms

    def exceeded(self, pids: Sequence[int]) -> bool:
        """Whether these processes hold more than the limit now."""
        held = processes.resident_bytes(pids)
        if len(pids) > 1 and 0 < self._limit_bytes < held:
            held = processes.proportional_bytes(pids)
        self._peak_bytes = max(self._peak_bytes, held)
        safe_ms = (self._limit_bytes - held) // _FASTEST_GROWTH
        self.interval_ms = max(self._shortest_interval_ms, min(safe_ms, _LONGEST_INTERVAL_MS))
        return 0 < self._limit_bytes < held

    def peak_bytes(self) -> int:
        """The most that was seen."""
        return self._peak_bytes
