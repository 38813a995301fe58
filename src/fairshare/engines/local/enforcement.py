"""The limits that a supervisor enforces on its container: memory, the number of processes, and the
size of its output. Must stay light: supervisors use it.

Memory is limited by a cgroup or by periodic checks; a holder reports that the limit was exceeded,
and the peak, and the supervisor acts on it.

The kernel refuses processes and threads above the limit of the cgroup controller `pids`, and counts
the refusals. A container with a refusal is ended, as programs rarely survive it. Version 2 of
cgroups notifies of a changed count; with version 1 it must be polled.

Of each output stream the beginning and the end are kept. The bytes in between are freed on disk
while the container continues to write. The file keeps its length, so that offsets stay valid;
`stdout.dropped` beside `stdout.log` names the removed range.
"""

import contextlib
import ctypes
import json
import os
import select
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from fairshare.engines.local import groups, processes
from fairshare.engines.local.directories import write_atomically
from fairshare.engines.local.launch import Launch

MEBIBYTE = 1024 * 1024  # not imported: each supervisor imports little
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


_INTERVAL_S = 5.0


def refusal(limit: int) -> str:
    """Why a container that wanted more processes than its limit was ended."""
    return (
        f"killed: it wanted more than {limit} processes and threads at once, the limit of a "
        "container: start fewer, or have process_limit raised ([engine] of fairshare.toml)"
    )


class ProcessLimit:
    """The process limit of one container; its group must exist. Does nothing without a limit."""

    def __init__(self, launch: Launch, poll: select.poll) -> None:
        self._limit = launch.process_limit
        self._poll = poll
        self._looked_at = 0.0
        self._events: int | None = None  # pids.events
        if self._limit and launch.process_group:
            path = f"{launch.process_group}/pids.events"
            with contextlib.suppress(OSError):  # a kernel before 4.8 does not count refusals
                self._events = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                poll.register(self._events, select.POLLPRI)

    @property
    def look_at(self) -> float | None:
        """When to call `look` at the latest (monotonic, in seconds)."""
        return None if self._events is None else self._looked_at + _INTERVAL_S

    def look(self, now: float) -> str:
        """Why the container must be ended, returned once; otherwise empty."""
        if self._events is None:
            return ""
        self._looked_at = now
        words = os.pread(self._events, 256, 0).split()  # the kernel notifies of later changes
        if words[:1] != [b"max"] or words[1:2] == [b"0"]:
            return ""
        self._poll.unregister(self._events)
        os.close(self._events)
        self._events = None
        return refusal(self._limit)


_LIBC = ctypes.CDLL(None, use_errno=True)
_KEEP_SIZE = 1
_PUNCH_HOLE = 2
_BLOCK_BYTES = 4096

_CALM_S = 1.0
_HURRIED_S = 0.1
"""Between two checks: a container that prints a quarter of its limit in one interval is checked
more often."""


class Kept:
    """One stream. A quarter of `limit_bytes` is for its beginning, the rest for its end.

    Up to a 32nd more may be kept, since the excess is removed in pieces.
    """

    def __init__(self, path: Path, limit_bytes: int) -> None:
        self._path = path
        self._limit_bytes = limit_bytes
        self._head_bytes = max(_BLOCK_BYTES, limit_bytes // 4 // _BLOCK_BYTES * _BLOCK_BYTES)
        self._tail_bytes = max(0, limit_bytes - self._head_bytes)
        self._slack_bytes = limit_bytes // 32
        self._size = 0
        self.dropped_to = self._head_bytes

    def look(self) -> bool:
        """Remove the excess; returns whether much was written since the last call. Raises OSError.

        With a limit of 100 MB, the first 25 and the last 75 of 200 MB are kept.
        """
        try:
            size = os.lstat(self._path).st_size
        except FileNotFoundError:
            return False
        grown, self._size = size - self._size, size
        kept_bytes = self._head_bytes + size - self.dropped_to
        if kept_bytes > self._limit_bytes + self._slack_bytes:
            end = (size - self._tail_bytes) // _BLOCK_BYTES * _BLOCK_BYTES
            # The range is written first, so that a reader never takes the gap for output.
            said = {"from": self._head_bytes, "to": end}
            write_atomically(self._path.with_suffix(".dropped"), json.dumps(said).encode())
            flags = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            descriptor = os.open(self._path, flags)
            try:
                if stat.S_ISREG(os.fstat(descriptor).st_mode):
                    _punch(descriptor, self.dropped_to, end - self.dropped_to)
            finally:
                os.close(descriptor)
            self.dropped_to = end
        return grown > self._limit_bytes // 4

    @property
    def dropped_bytes(self) -> int:
        """The number of removed bytes."""
        return self.dropped_to - self._head_bytes


def cannot_leave_out(limit_bytes: int, failure: int) -> str:
    """Why a container that printed more than its limit was ended; `failure` is an errno."""
    return (
        f"killed: it printed more than {limit_bytes // MEBIBYTE} MB, and nothing can be left out "
        f"of a file here: {os.strerror(failure)}"
    )


def left_out(dropped: Sequence[int], limit_bytes: int) -> str:
    """The message about the bytes removed from stdout and stderr; empty if both are complete."""
    return "; ".join(
        f"{name}: {dropped_bytes:,} bytes in the middle were left out (the limit is"
        f" {limit_bytes // MEBIBYTE} MB)"
        for name, dropped_bytes in zip(("stdout", "stderr"), dropped, strict=False)
        if dropped_bytes
    )


class LogLimit:
    """Both streams of a container. `limit_bytes` 0: no limit."""

    def __init__(self, paths: tuple[Path, ...], limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._streams = [Kept(path, limit_bytes) for path in paths] if limit_bytes else []
        self.failure = 0  # the errno of what `look` could not do
        self.look_at: float | None = 0.0 if limit_bytes else None

    def look(self, now: float) -> str:
        """Remove the excess, if a check is due. Returns why the container must end if that fails;
        otherwise empty."""
        if self.look_at is None or now < self.look_at:
            return ""
        try:
            hurried = [stream.look() for stream in self._streams]
        except OSError as error:
            self.look_at = None
            self.failure = error.errno or 0
            return cannot_leave_out(self._limit_bytes, self.failure)
        self.look_at = now + (_HURRIED_S if any(hurried) else _CALM_S)
        return ""

    @property
    def dropped(self) -> tuple[int, ...]:
        """The number of bytes removed from each stream."""
        return tuple(stream.dropped_bytes for stream in self._streams)


def _punch(descriptor: int, offset: int, length: int) -> None:
    mode = _KEEP_SIZE | _PUNCH_HOLE
    where = ctypes.c_longlong(offset), ctypes.c_longlong(length)
    if length > 0 and _LIBC.fallocate(descriptor, mode, *where) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
