"""Owns the reaction to the kernel's limit on the number of a container's processes.

The kernel refuses processes and threads above the limit (cgroup controller `pids`), and counts the
refusals. A container with a refusal is ended, as programs rarely survive it. Version 2 of cgroups
notifies of a changed count; with version 1 it must be polled. Must stay light: supervisors use it.
"""

import contextlib
import os
import select

from fairshare.engines.local.launch import Launch

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
