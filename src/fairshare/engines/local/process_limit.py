"""Owns the watch over how many processes a container has, where the kernel holds it to a number.

The kernel refuses a process or thread too many (cgroup controller `pids`), and counts that it did.
A container that was refused one is ended, as programs seldom survive it. The second version of
cgroups wakes who waits for the count; in the first one it has to be looked at. Must stay light:
supervisors use it.
"""

import contextlib
import os
import select

from fairshare.engines.local.launch import Launch

_INTERVAL_S = 5.0


class ProcessLimit:
    """Of one container; its group must exist. Without a limit nothing is ever looked at."""

    def __init__(self, launch: Launch, poll: select.poll) -> None:
        self._limit = launch.process_limit
        self._poll = poll
        self._looked_at = 0.0
        self._events: int | None = None  # pids.events
        if self._limit and launch.process_group:
            path = f"{launch.process_group}/pids.events"
            with contextlib.suppress(OSError):  # a kernel before 4.8 refuses, and does not count
                self._events = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                poll.register(self._events, select.POLLPRI)

    @property
    def look_at(self) -> float | None:
        """When to ask at the latest (monotonic, in seconds)."""
        return None if self._events is None else self._looked_at + _INTERVAL_S

    def look(self, now: float) -> str:
        """Why the container must be ended; empty if it need not. It is said once."""
        if self._events is None:
            return ""
        self._looked_at = now
        words = os.pread(self._events, 256, 0).split()  # the kernel wakes us for what is newer
        if words[:1] != [b"max"] or words[1:2] == [b"0"]:
            return ""
        self._poll.unregister(self._events)
        os.close(self._events)
        self._events = None
        return (
            f"killed: it wanted more than {self._limit} processes and threads at once, the limit "
            "of a container: start fewer, or have process_limit raised ([engine] of fairshare.toml)"
        )
