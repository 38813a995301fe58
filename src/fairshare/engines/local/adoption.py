"""Owns the question what became of a container, asked of its directory and of /proc.

For a new server on an old state directory, and for supervisors that ended without a word.
"""

import contextlib
import os
import signal
import time
from pathlib import Path
from typing import NamedTuple

from fairshare.engines.local import groups, processes
from fairshare.engines.local.directories import ContainerDirectory, read_json, write_atomically
from fairshare.engines.local.launch import DIRECTORY_VARIABLE, Launch
from fairshare.engines.local.outcome import ABORTED, Outcome
from fairshare.errors import EngineError

_PATIENCE_S = 5.0


class Never(NamedTuple):
    """It was not ordered, or nobody began with it."""


class Alive(NamedTuple):
    """Its supervisor runs; `pidfd` is the caller's to close."""

    pidfd: int


class Finished(NamedTuple):
    """It has ended, and how is in its file."""

    outcome: Outcome


class Orphaned(NamedTuple):
    """Its supervisor is gone without having said how it ended."""

    reason: str


Fate = Never | Alive | Finished | Orphaned


def read_launch(directory: ContainerDirectory) -> Launch | None:
    """The order of a container; None if there is none, or none that was written to its end."""
    value = read_json(directory.launch)
    try:
        return None if value is None else Launch.decode(value)
    except (KeyError, TypeError, ValueError):
        return None


def read_outcome(directory: ContainerDirectory) -> Outcome | None:
    """How a container ended; None if it has not."""
    value = read_json(directory.exit)
    try:
        return None if value is None else Outcome.decode(value)
    except TypeError:
        return None


def fate(directory: ContainerDirectory) -> Fate:
    """What became of a container. No zygote that could still begin it may be left."""
    if outcome := read_outcome(directory):
        return Finished(outcome)
    record = read_json(directory.pid)
    if record is None:
        return Never()
    if record["boot"] != processes.boot_id():
        return Orphaned("the machine was restarted while it ran")
    pid = record["supervisor"]
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        pidfd = None
    if pidfd is not None:
        # Opened first and compared then: the number cannot become another's in between.
        if processes.start_time(pid) == record["supervisor_start"]:
            return Alive(pidfd)
        os.close(pidfd)
    if outcome := read_outcome(directory):  # it ended between the two looks
        return Finished(outcome)
    return Orphaned("its supervisor ended without an exit status; was it killed?")


def conclude(directory: ContainerDirectory, container: int, reason: str) -> Outcome:
    """End what is left of a container without a supervisor, and write its outcome for it."""
    words = f"aborted: {reason}"
    try:
        end_all(directory)
    except EngineError as error:
        words = f"{words}; {error}"
    ended_at_ms = time.time_ns() // 1_000_000
    outcome = Outcome(container, ABORTED, words, ended_at_ms=ended_at_ms)
    # A full disk is no reason not to report it; the next server would find out the same.
    with contextlib.suppress(OSError):
        write_atomically(directory.exit, outcome.encode())
    return outcome


def end_all(directory: ContainerDirectory) -> None:
    """Kill every process that belongs to a container, and remove its groups.

    Without a supervisor they are found by their groups and by the environment that they were
    started with. Raises EngineError if some live on.
    """
    launch = read_launch(directory)
    paths = [plan.path for plan in launch.groups] if launch else []
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        for path in paths:
            groups.kill(path)
        left = [pid for path in paths for pid in groups.processes(path)]
        left += processes.marked(DIRECTORY_VARIABLE, str(directory.path))
        if not left:
            break
        if time.monotonic() >= deadline:
            raise EngineError(
                f"processes of {directory.path} cannot be ended: {sorted(set(left))}; "
                "they may wait for a device"
            )
        processes.send(left, signal.SIGKILL)
        time.sleep(0.005)
    for path in paths:
        groups.remove(path)


def remove_empty_bases(launch: Launch, bases: frozenset[str]) -> None:
    """Remove the groups above a container's own if they are empty and not among `bases`.

    An earlier server may have been in another group, and so made its own elsewhere.
    """
    for plan in launch.groups:
        parent = Path(plan.path).parent
        if str(parent) not in bases:
            groups.remove(str(parent), patience_ms=0)
