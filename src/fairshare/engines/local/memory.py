"""Owns the enforcement of a container's memory limit, by a cgroup or by periodic checks.

A holder reports that the limit was exceeded, and the peak; the supervisor acts on it. Must stay
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
    """The interface for the supervisor."""

    @property
    def descriptor(self) -> int | None:
        """The descriptor that becomes readable when the limit may have been exceeded, or None."""

    @property
    def interval_ms(self) -> int | None:
        """The interval at which to call `exceeded`; it may change. None: not periodically."""

    def exceeded(self, pids: Sequence[int]) -> bool:
        """Whether the container exceeded its memory."""

    def peak_bytes(self) -> int:
        """The peak memory, 0 if it was not measured."""


def memory_holder(launch: Launch) -> MemoryHolder:
    """The holder for an order's method; the order's groups must exist. Raises OSError."""
    if launch.memory_limit == "cgroup-v1":
        return GroupV1Memory(launch.groups[0].path, launch.memory_mb * MEBIBYTE)
    if launch.memory_limit == "cgroup-v2":
        return GroupV2Memory(launch.groups[0].path)
    return WatchedMemory(launch.memory_mb * MEBIBYTE, launch.watch_ms)


class GroupV1Memory:
    """A cgroup of version 1: the kernel raises an event when it refuses memory.

    It then kills one process of the group, not necessarily the first, so that the event is needed
    to end the whole container. The event is also raised when an ancestor of the group is full, so
    that it counts only if a process of this group was killed and its own limit was reached.
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
        """Whether the kernel killed a process because of the limit (`pids` is not used)."""
        if self.descriptor is None:
            return False
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self.descriptor)
            self.interval_ms = _AFTER_EVENT_MS  # the event comes before the kernel acts on it
        if not groups.read_number(f"{self._path}/memory.oom_control", "oom_kill"):
            return False
        return self.peak_bytes() >= self._limit_bytes - MEBIBYTE

    def peak_bytes(self) -> int:
        """The peak of charged memory, including the page cache."""
        return groups.read_number(f"{self._path}/memory.max_usage_in_bytes") or 0


class GroupV2Memory:
    """A cgroup of version 2: the kernel kills all its processes (memory.oom.group) and counts.

    `oom` counts how often this limit was exceeded, `oom_kill` the killed processes; `oom_kill`
    alone can result from a full ancestor.
    """

    descriptor = None
    interval_ms = None

    def __init__(self, path: str) -> None:
        self._path = path

    def exceeded(self, pids: Sequence[int]) -> bool:
        """Whether the kernel killed processes because of the limit (`pids` is not used)."""
        events = f"{self._path}/memory.events"
        return bool(groups.read_number(events, "oom") and groups.read_number(events, "oom_kill"))

    def peak_bytes(self) -> int:
        """The peak of charged memory, including the page cache (from Linux 5.19 on)."""
        return groups.read_number(f"{self._path}/memory.peak") or 0


class WatchedMemory:
    """Periodic sums over all processes of the container, which can exceed the limit between checks.

    Resident memory counts a page once for each process that shares it. So a sum above the limit is
    computed again with shared pages divided, which costs more, before the container is killed. The
    next check is after `interval_ms`, or later if the free memory cannot be used up before: 4 GiB
    of free memory last a second (`_FASTEST_GROWTH`).
    """

    descriptor = None

    def __init__(self, limit_bytes: int, interval_ms: int) -> None:
        self._limit_bytes = limit_bytes
        self._peak_bytes = 0
        self._shortest_interval_ms = interval_ms
        self.interval_ms = interval_ms

    def exceeded(self, pids: Sequence[int]) -> bool:
        """Whether these processes use more than the limit now."""
        held = processes.resident_bytes(pids)
        if len(pids) > 1 and 0 < self._limit_bytes < held:
            held = processes.proportional_bytes(pids)
        self._peak_bytes = max(self._peak_bytes, held)
        safe_ms = (self._limit_bytes - held) // _FASTEST_GROWTH
        self.interval_ms = max(self._shortest_interval_ms, min(safe_ms, _LONGEST_INTERVAL_MS))
        return 0 < self._limit_bytes < held

    def peak_bytes(self) -> int:
        """The highest measured sum."""
        return self._peak_bytes
