"""Owns the lookup of a container's state in its directory and in /proc.

Used by a new server on an old state directory, and for supervisors that ended without a report.
With `run_as = "server"` a container can write into its own directory, so that no file there is
trusted to be valid: the log names invalid files, and their containers count as lost.
"""

import contextlib
import logging
import os
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from fairshare.engines.local import groups, processes
from fairshare.engines.local.directories import ContainerDirectory, read_json, write_atomically
from fairshare.engines.local.ending import end_all
from fairshare.engines.local.judgement import exited
from fairshare.engines.local.launch import GroupPlan, Launch
from fairshare.engines.local.outcome import ABORTED, Ending, verdict
from fairshare.engines.local.state import GROUPS_PREFIX
from fairshare.errors import EngineError
from fairshare.model.inputs import ContainerExited
from fairshare.wording import cause

KILLED = "its supervisor ended without an exit status; was it killed?"

_log = logging.getLogger("fairshare.engine")


class Never(NamedTuple):
    """The container was not ordered, or never started."""


class Alive(NamedTuple):
    """The container's supervisor runs; the caller must close `pidfd`."""

    pidfd: int


class Finished(NamedTuple):
    """The container has ended, as its file says."""

    exited: ContainerExited


class Orphaned(NamedTuple):
    """The container's supervisor ended without writing the outcome."""

    reason: str


Fate = Never | Alive | Finished | Orphaned


def read_launch(directory: ContainerDirectory) -> Launch | None:
    """The order of a container; None if it is missing or invalid.

    Raises OSError if the file cannot be read now.
    """
    launch = _launch_as_written(directory)
    if launch is None:
        return None
    return launch._replace(groups=tuple(g for g in launch.groups if _is_own(g, directory)))


def _launch_as_written(directory: ContainerDirectory) -> Launch | None:
    try:
        value = read_json(directory.launch)
        return None if value is None else Launch.decode(value)
    except (KeyError, TypeError, ValueError) as error:
        _warn(directory.launch, error)
        return None


def read_exit(directory: ContainerDirectory) -> ContainerExited | None:
    """How a container ended; None if it has not ended, or its file is invalid.

    Raises OSError if the file cannot be read now.
    """
    try:
        value = read_json(directory.exit)
        if value is None:
            return None
        if "status" not in value:
            return _decoded(value)
        launch = _launch_as_written(directory)  # its groups say nothing of its end
        return None if launch is None else exited(Ending.decode(value), launch, directory.stderr)
    except (KeyError, TypeError, ValueError) as error:
        _warn(directory.exit, error)
        return None


def _decoded(value: dict[str, Any]) -> ContainerExited:
    """What `verdict` wrote, or a supervisor of an earlier release."""
    known = (*ContainerExited.__struct_fields__, "ended_at_ms")
    if not value.keys() <= set(known):
        raise ValueError(f"not only {', '.join(known)}")
    return msgspec.convert(
        {**value, "cannot_start": value.get("cannot_start", 0) != 0}, ContainerExited
    )


def _read_record(directory: ContainerDirectory) -> tuple[str, int, int] | None:
    """The machine's boot id, the supervisor's pid, and its start time; None: not started."""
    value: dict[str, Any] | None = read_json(directory.pid)
    if value is None:
        return None
    record = value["boot"], value["supervisor"], value["supervisor_start"]
    if tuple(map(type, record)) != (str, int, int) or record[1] <= 0:
        raise TypeError(f"boot, supervisor and supervisor_start are {record!r}")
    return record


def fate(directory: ContainerDirectory) -> Fate:
    """The state of a container. No zygote that could still start it may be left.

    Raises OSError if a file cannot be read now.
    """
    if found := read_exit(directory):
        return Finished(found)
    try:
        record = _read_record(directory)
    except (KeyError, TypeError, ValueError) as error:
        _warn(directory.pid, error)
        return Orphaned(f"{directory.pid.name} was changed, and cannot be understood")
    if record is None:
        if directory.exit.exists():
            return Orphaned(f"{directory.exit.name} was changed, and cannot be understood")
        return Never()
    boot, pid, start = record
    if boot != processes.boot_id():
        return Orphaned("the machine was restarted while it ran")
    try:
        pidfd = os.pidfd_open(pid)
    except (ProcessLookupError, OverflowError):
        pidfd = None
    if pidfd is not None:
        # The pidfd is opened first, so that the pid cannot be reused before the comparison.
        if processes.start_time(pid) == start and processes.is_supervisor(pid, directory.path):
            return Alive(pidfd)
        os.close(pidfd)
    if found := read_exit(directory):  # it ended between the two checks
        return Finished(found)
    return Orphaned(KILLED)


def conclude(
    directory: ContainerDirectory, container: int, launch: Launch, reason: str, code: int = ABORTED
) -> ContainerExited:
    """Kill the remaining processes of a container, and write how it ended instead of its
    supervisor."""
    words = f"aborted: {reason}"
    try:
        end_all(directory, launch)
    except (EngineError, OSError) as error:
        words = f"{words}; {cause(error)}"
    # It is reported even if the disk is full; the next server would come to the same end.
    with contextlib.suppress(OSError):
        write_atomically(directory.exit, verdict(container, code, words, cannot_start=False))
    return ContainerExited(container, code, words)


def remove_empty_bases(launch: Launch, bases: frozenset[str]) -> None:
    """Remove the parents of a container's groups if they are empty and not among `bases`.

    An earlier server may have run in another group, and therefore created its groups elsewhere.
    """
    for plan in launch.groups:
        parent = Path(plan.path).parent
        if str(parent) not in bases:
            groups.remove(str(parent), patience_ms=0)


def _is_own(group: GroupPlan, directory: ContainerDirectory) -> bool:
    """Whether the engine created a group for this container: it never touches another one."""
    path = Path(group.path)
    return path.name == directory.path.name and path.parent.name.startswith(GROUPS_PREFIX)


def _warn(path: Path, error: Exception) -> None:
    _log.warning("%s cannot be understood (%r): a container may have changed it", path, error)
