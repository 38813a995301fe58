"""The lookup of a container's state in its directory and in /proc: by a new server on an old state
directory, and for supervisors that ended without a report; and the removal of containers of an
earlier journal.

With `run_as = "server"` a container can write into its own directory, so that no file there is
trusted to be valid: the log names invalid files, and their containers count as lost. A container's
end is judged by the facts that its supervisor saw.
"""

import contextlib
import logging
import os
import signal
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from fairshare.core.model.inputs import ContainerExited
from fairshare.documents.sizes import MEBIBYTE
from fairshare.engines.local import groups, processes
from fairshare.engines.local.directories import ContainerDirectory, read_json, write_atomically
from fairshare.engines.local.ending import end_all
from fairshare.engines.local.enforcement import cannot_leave_out, left_out, refusal
from fairshare.engines.local.launch import GroupPlan, Launch
from fairshare.engines.local.outcome import (
    ABORTED,
    DISK_FAILED,
    MEMORY_EXCEEDED,
    NOT_EXECUTABLE,
    NOT_FOUND,
    Ending,
    ending_of,
    exit_code_of,
    verdict,
    with_tail,
)
from fairshare.engines.local.state import GROUPS_PREFIX, StateDirectory
from fairshare.engines.protocol import LONG_AGO, Launched
from fairshare.errors import EngineError
from fairshare.wording import cause, ran_too_long

_UNUSABLE: Final = (125, NOT_EXECUTABLE, NOT_FOUND)
"""Exit codes of podman and docker: not the image, not its program, no such program."""


def exited(ending: Ending, launch: Launch, stderr: Path) -> ContainerExited:
    """The exit code and the diagnostics of a container that was ordered by `launch`."""
    code, words = _judgement(ending, launch, stderr)
    unusable = bool(launch.image) and not ending.cause and code in _UNUSABLE
    if unusable:
        program = launch.image_program
        words = with_tail(
            f"{program} cannot run this in the image {launch.image} (exit code {code})", stderr
        )
    return ContainerExited(
        container=ending.container,
        exit_code=code,
        diagnostics="\n".join(
            filter(None, (words, left_out(ending.dropped, launch.log_limit_bytes)))
        ),
        peak_memory_mb=_peak_mb(ending),
        cpu_ms=ending.cpu_ms,
        cannot_start=unusable,
        timed_out=ending.cause == "time",
    )


def _peak_mb(ending: Ending) -> int:
    return -(-ending.peak_bytes // MEBIBYTE)


def _judgement(ending: Ending, launch: Launch, stderr: Path) -> tuple[int, str]:
    code = exit_code_of(ending.status)
    if ending.over_memory:
        words = (
            f"killed: used {_peak_mb(ending)} MB, limit {launch.memory_mb} MB; out of memory: ask"
            f" for more (--memory {2 * launch.memory_mb}m, or memory-mb of its resources)"
        )
        return MEMORY_EXCEEDED, with_tail(words, stderr)
    if not ending.cause:
        words = ending_of(ending.status)
        return code, with_tail(words, stderr) if words else ""
    words = _reason(ending, launch, stderr)
    if ending.cause in ("logs", "no-pid"):
        return DISK_FAILED, words
    expected = [signal.SIGTERM, signal.SIGKILL, *([signal.SIGHUP] if launch.terminal else ())]
    if code - 128 not in expected:
        # Its own exit code does not count: it was ordered to end before it was done.
        name = signal.Signals(launch.signal or signal.SIGTERM).name
        words = f"{words}; it answered {name} with exit code {code}"
        code = 128 + signal.SIGTERM
    return code, with_tail(words, stderr)


def _reason(ending: Ending, launch: Launch, stderr: Path) -> str:
    match ending.cause:
        case "stop":
            return "stopped on request"
        case "time":
            return ran_too_long(launch.time_limit_ms or 0)
        case "idle":
            return (
                "ended: nothing was typed, printed or computed for"
                f" {launch.idle_ms / 1000:g} s (interactive_idle_s in [engine])"
            )
        case "detached":
            return (
                f"ended: no terminal was attached for {launch.detached_ms / 1000:g} s"
                " (interactive_detached_s in [engine])"
            )
        case "processes":
            return refusal(launch.process_limit)
        case "logs":
            return cannot_leave_out(launch.log_limit_bytes, ending.failure)
        case _:
            return f"cannot write {stderr.with_name('pid.json')}: {os.strerror(ending.failure)}"


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


def read_exit(
    directory: ContainerDirectory, launch: Launch | None = None
) -> ContainerExited | None:
    """How a container ended; None if it has not ended, or its file is invalid. Its order is read,
    too, unless it is given.

    Raises OSError if a file cannot be read now.
    """
    try:
        value = read_json(directory.exit)
        if value is None:
            return None
        if "status" not in value:
            # What `verdict` wrote, or the compiled supervisor.
            known = (*ContainerExited.__struct_fields__, "ended_at_ms")
            if not value.keys() <= set(known):
                raise ValueError(f"not only {', '.join(known)}")
            flags = {name: value.get(name, 0) != 0 for name in ("cannot_start", "node_failed")}
            return msgspec.convert({**value, **flags}, ContainerExited)
        launch = launch or _launch_as_written(directory)  # its groups say nothing of its end
        return None if launch is None else exited(Ending.decode(value), launch, directory.stderr)
    except (KeyError, TypeError, ValueError) as error:
        _warn(directory.exit, error)
        return None


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
    if exit_report := read_exit(directory):
        return Finished(exit_report)
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
    if exit_report := read_exit(directory):  # it ended between the two checks
        return Finished(exit_report)
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


_NAMED = 10


def is_of_this_life(directory: ContainerDirectory, launch: Launch | None, launched_ms: int) -> bool:
    """Whether the files of a container are those of the one that was launched at that time."""
    if launch is None:  # it may never have started
        return not (directory.pid.exists() or directory.exit.exists())
    return launched_ms in (LONG_AGO, launch.launched_ms)


def put_unknown_aside(state: StateDirectory, launched: Launched) -> None:
    """Move away every container that the state did not launch, before any adoption.

    They are of an earlier journal, which was lost or replaced by a backup. Their ids can be reused
    for other tenants and other work, so their running processes are killed, and their files are
    moved to a folder that is not searched for logs and results. Raises OSError if that is not
    possible: they must not stay in their old place.
    """
    moved: list[str] = []
    supervised: frozenset[str] | None = None
    for directory in state.all_containers():
        launched_ms = launched(directory.path.parent.name, directory.path.name)
        if launched_ms is not None:
            if directory.is_settled():
                continue
            if is_of_this_life(directory, read_launch(directory), launched_ms):
                continue
        if supervised is None:
            supervised = processes.supervised()
        runs = str(directory.path) in supervised or not directory.exit.exists()
        place = put_aside(state, directory, runs=runs)
        moved.append(place)
    if moved:
        more = f" and {len(moved) - _NAMED} more" if len(moved) > _NAMED else ""
        _log.warning(
            "containers that this journal does not know, so of another one, were ended and put"
            " aside (%d): %s%s",
            len(moved), ", ".join(moved[:_NAMED]), more,
        )  # fmt: skip


def put_aside(state: StateDirectory, directory: ContainerDirectory, *, runs: bool = True) -> str:
    """Kill the processes of a container, and move its files; returns their new location."""
    if runs:
        try:
            end_all(directory, read_launch(directory))
        except EngineError as error:
            _log.error("%s", error)
    return str(state.put_aside(directory))
