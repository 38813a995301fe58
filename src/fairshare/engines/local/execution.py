"""The steps between fork and exec that set up a container's first process.

Either the command runs, or `StartFailure` says why not. Must stay light: supervisors use it.
"""

import contextlib
import ctypes
import errno
import fcntl
import json
import os
import resource
import signal
import termios
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from fairshare.engines.local import groups
from fairshare.engines.local.directories import ContainerDirectory
from fairshare.engines.local.launch import DIRECTORY_VARIABLE, Launch
from fairshare.engines.local.outcome import (
    ABORTED,
    DISK_FAILED,
    NOT_EXECUTABLE,
    NOT_FOUND,
    StartFailure,
)
from fairshare.engines.log_files import describe, write_outputs
from fairshare.engines.rights import Rights, acting_as

_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_QUIET_S = 60.0
_QUIET_PAUSE_S = 0.02
_EXHAUSTED = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOMEM))
"""What the node has no more of; a command is not to blame, and can be tried again."""
_NODES_STAGES = ("process", "limit", "account")
"""Behind them a file system that the user has mounted, or the container's limit, may say so, too:
one user's task must not keep the node from those of others."""
_FULL = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EAGAIN))
"""The same of what may be the account's alone: its disk, its quotas, its number of processes."""
_LIBC = ctypes.CDLL(None, use_errno=True)

IGNORED_SIGNALS = (
    signal.SIGPIPE,
    signal.SIGXFSZ,
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGQUIT,  # shells ignore it in background processes
    signal.SIGTERM,
    signal.SIGCHLD,
)
"""Python ignores the first two, the zygote the others; ignored signals stay ignored across exec."""


def name_process(name: str) -> None:
    """Set the process name in `ps` and `top`, at most 15 bytes."""
    _LIBC.prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)


def adopt_orphans() -> None:
    """Become the subreaper: the parent of every descendant whose parent ends; raises OSError."""
    if _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def end_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent ends; ends it now if it has ended."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def start(launch: Launch, directory: ContainerDirectory, terminal: int | None = None) -> int:
    """Start the container's first process; returns its pid when the command runs. It gets its logs
    as outputs, or `terminal` as its terminal.

    Raises StartFailure; then no process is left.
    """
    try:
        outputs = [_open_log(directory.stdout, launch), _open_log(directory.stderr, launch)]
    except OSError as error:
        raise StartFailure(
            DISK_FAILED,
            f"cannot write the container's logs: {error.strerror} ({error.filename})",
            of_node=error.errno != errno.EDQUOT,  # which is the account's
        ) from error
    named = _become_private(launch, directory) if launch.private_tmp else None
    reader, writer = os.pipe2(os.O_CLOEXEC)
    supervisor = os.getpid()
    try:
        pid = os.fork()
        if pid == 0:
            _become(launch, outputs, writer, supervisor, terminal, named)
    except OSError as error:
        os.close(reader)
        raise StartFailure(ABORTED, f"cannot start a process: {error.strerror}") from error
    finally:
        for descriptor in (*outputs, *(named or {}).values(), writer):
            os.close(descriptor)
    with os.fdopen(reader, "rb") as file:
        messages = [json.loads(line) for line in file]  # until exec closes it
    failure = next((one for one in messages if isinstance(one, list)), None)
    if failure is None:
        for outputs_of in messages:
            with contextlib.suppress(OSError):  # without it only `logs` misses something
                write_outputs(directory.path, outputs_of)
        return pid
    os.waitpid(pid, 0)
    stage, number = failure
    # What is wrong with a path is what its account sees of it.
    rights = Rights(launch.uid, launch.gid, launch.supplementary) if launch.account else None
    with acting_as(rights):
        problem = _failure(launch, stage, number)
    raise problem


def run_quietly(launch: Launch, arguments: tuple[str, ...]) -> None:
    """Run a command beside a container with its account and environment, a minute at most. What it
    prints, and how it ends, does not count."""
    if not arguments:
        return
    supervisor = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            null = os.open(os.devnull, os.O_RDWR)
            for target in (0, 1, 2):
                os.dup2(null, target)
            for number in IGNORED_SIGNALS:
                signal.signal(number, signal.SIG_DFL)
            switch_account(launch, supervisor)
            os.chdir("/")
            os.execvpe(arguments[0], arguments, launch.environment)  # noqa: S606
        finally:
            os._exit(NOT_EXECUTABLE)
    end_s = time.monotonic() + _QUIET_S
    while os.waitpid(pid, os.WNOHANG)[0] == 0:
        if time.monotonic() > end_s:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return
        time.sleep(_QUIET_PAUSE_S)


def _open_log(path: Path, launch: Launch) -> int:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o640)
    if launch.account:
        # A program can reopen its output through /dev/stderr.
        os.fchown(descriptor, launch.uid, -1)
    return descriptor


def _become_private(launch: Launch, directory: ContainerDirectory) -> dict[int, int]:
    """Open the files that the user named, which may be in the machine's /tmp, and leave that for
    the container's. Returns their descriptors by stream; raises StartFailure."""
    from fairshare.engines.local import private_mounts  # few containers have them

    named: dict[int, int] = {}
    opened: dict[str, object] = {}
    rights = Rights(launch.uid, launch.gid, launch.supplementary) if launch.account else None
    stage = ""
    umask = os.umask(launch.umask if launch.umask >= 0 else 0o022)
    try:
        with acting_as(rights):
            for stage, target in _NAMED:
                if (descriptor := _open_named(launch, stage, target, opened)) is not None:
                    named[target] = descriptor
        if opened:
            with contextlib.suppress(OSError):  # without it only `logs` misses something
                write_outputs(directory.path, opened)
        stage = "private"
        private_mounts.enter_new(launch)
    except OSError as error:
        for descriptor in named.values():
            os.close(descriptor)
        with acting_as(rights):
            problem = _failure(launch, stage, error.errno or 0)
        raise problem from error
    finally:
        os.umask(umask)
    return named


def _become(
    launch: Launch,
    outputs: list[int],
    writer: int,
    supervisor: int,
    terminal: int | None,
    named: dict[int, int] | None,
) -> NoReturn:
    """In the new process: set it up and exec. Must not return, even after an error."""
    stage = "process"
    try:
        # A session of its own: signals to its group, or from a terminal, reach no other container.
        os.setsid()
        # Without its supervisor its limits would not be enforced, nor its outcome reported.
        end_with_parent(supervisor)
        null = os.open(os.devnull, os.O_RDONLY)
        if terminal is not None:
            fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
            null, outputs = terminal, [terminal, terminal]
        for source, target in zip((null, *outputs), (0, 1, 2), strict=True):
            os.dup2(source, target)
        for number in IGNORED_SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        stage = "limit"
        for group in launch.groups:
            groups.enter(group.path)
        use_processors(launch)
        if launch.niceness:
            os.nice(launch.niceness)  # added to the server's: only root can lower it
        stage = "account"
        switch_account(launch, supervisor)
        if launch.umask >= 0:
            os.umask(launch.umask)
        opened: dict[str, object] = {}
        for stage, target in _NAMED if named is None else ():
            if (descriptor := _open_named(launch, stage, target, opened)) is not None:
                os.dup2(descriptor, target)
        for target, descriptor in (named or {}).items():
            os.dup2(descriptor, target)
        if opened:
            os.write(writer, json.dumps(opened).encode() + b"\n")
        stage = "directory"
        enter_directory(launch)
        stage = "limits"
        set_limits(launch.limits)
        stage = "command"
        os.execvpe(launch.arguments[0], launch.arguments, launch.environment)  # noqa: S606
    except OSError as error:
        os.write(writer, json.dumps([stage, error.errno]).encode() + b"\n")
    except (ValueError, IndexError):
        # A null byte in an argument or variable, a "=" in a variable's name, or no arguments.
        os.write(writer, json.dumps(["argument", errno.EINVAL]).encode() + b"\n")
    finally:
        os._exit(NOT_EXECUTABLE)


def use_processors(launch: Launch) -> None:
    """Run on the container's processors, unless the machine has lost them meanwhile."""
    if launch.processors:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, launch.processors)


def switch_account(launch: Launch, supervisor: int) -> None:
    """Switch to the user's account, if it is not the server's, with all its groups and no other
    rights, and give up new ones, if that is ordered; raises OSError."""
    if launch.no_new_privileges and _LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    if not launch.account:
        return
    os.setgroups(launch.supplementary)
    os.setresgid(launch.gid, launch.gid, launch.gid)
    os.setresuid(launch.uid, launch.uid, launch.uid)
    os.umask(0o022)
    end_with_parent(supervisor)  # the kernel resets this setting when the user changes


_NAMED = (("input", 0), ("output", 1), ("error", 2))


def _open_named(launch: Launch, stage: str, target: int, opened: dict[str, object]) -> int | None:
    """Open the file that the user named for a stream, if any, with the rights of the account;
    raises OSError. Adds what `outputs.json` says of it."""
    path: str = getattr(launch, stage)
    if not path:
        return None
    # The account must be able to read its output: the server will, for this user. A pipe without
    # another end must not block.
    flags = os.O_RDONLY if target == 0 else os.O_RDWR | os.O_CREAT | os.O_APPEND
    descriptor = os.open(path, flags | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    os.set_blocking(descriptor, True)
    if target and (described := describe(path, descriptor)) is not None:
        opened["stdout" if target == 1 else "stderr"] = described
    return descriptor


def enter_directory(launch: Launch) -> None:
    """Change to the container's directory, or to the other one with a line in stderr; raises
    OSError."""
    try:
        os.chdir(launch.directory)
    except OSError as error:
        if not launch.other_directory:
            raise
        os.chdir(launch.other_directory)
        words = f"cannot enter {launch.directory}: {error.strerror}; running in a new directory"
        os.write(2, f"fairshare: {words}\n".encode(errors="surrogateescape"))


def set_limits(limits: Mapping[str, int]) -> None:
    """Set soft limits by name, at most the hard ones; raises OSError."""
    for name, limit in limits.items():
        which = getattr(resource, f"RLIMIT_{name.upper()}")
        hard = resource.getrlimit(which)[1]
        above = limit < 0 or limit > hard != resource.RLIM_INFINITY
        resource.setrlimit(which, (hard if above else limit, hard))


def _failure(launch: Launch, stage: str, number: int) -> StartFailure:
    command = repr(launch.arguments[0]) if launch.arguments else "the command"
    reason = os.strerror(number)
    if number in _EXHAUSTED and stage in _NODES_STAGES:
        return StartFailure(ABORTED, f"cannot run {command} now: {stage}: {reason}")
    if number in _FULL | _EXHAUSTED:
        return StartFailure(
            DISK_FAILED, f"cannot run {command} now: {stage}: {reason}", of_node=False
        )
    if stage == "directory":
        return StartFailure(
            NOT_EXECUTABLE,
            f"cannot run {command}: working directory {launch.directory!r}: {reason}",
        )
    if stage in ("input", "output", "error"):
        what = "read its input" if stage == "input" else f"write its {stage} to"
        path: str = getattr(launch, stage)
        return StartFailure(NOT_EXECUTABLE, f"cannot run {command}: cannot {what} {path}: {reason}")
    if stage == "limit":
        return StartFailure(ABORTED, f"cannot set the container's limits: {reason}")
    if stage == "limits":
        return StartFailure(
            NOT_EXECUTABLE, f"cannot set the limits {launch.limits} of {command}: {reason}"
        )
    if stage == "account":
        return StartFailure(
            NOT_EXECUTABLE, f"cannot run {command} under the account {launch.account}: {reason}"
        )
    if stage == "private":
        return StartFailure(ABORTED, f"cannot give the container its own /tmp: {reason}")
    if stage == "process":
        return StartFailure(ABORTED, f"cannot prepare a process for {command}: {reason}")
    if stage == "argument":
        if not launch.arguments or not launch.arguments[0]:
            return StartFailure(NOT_FOUND, "cannot run: the command is empty")
        return StartFailure(
            NOT_EXECUTABLE,
            f"cannot run {command}: an argument, variable or path holds a null byte, "
            "or the name of a variable an '='",
        )
    exists = _exists(launch, _working_directory(launch))
    in_path = "/" not in launch.arguments[0]
    if not exists and (number == errno.ENOENT or (in_path and number == errno.EACCES)):
        return StartFailure(NOT_FOUND, f"cannot run {command}: no such command{_where(launch)}")
    if number == errno.ENOENT:
        reason = "the interpreter that it names is missing"
    return StartFailure(NOT_EXECUTABLE, f"cannot run {command}: {reason}")


def _working_directory(launch: Launch) -> Path:
    entered = not launch.other_directory or os.path.isdir(launch.directory)  # noqa: PTH112
    return Path(launch.directory if entered else launch.other_directory)


def _exists(launch: Launch, directory: Path) -> bool:
    name = launch.arguments[0]
    places = [""] if "/" in name else _search_path(launch.environment).split(os.pathsep)
    return any(_is_seen(directory / place / name) for place in places)


def _is_seen(path: Path) -> bool:
    with contextlib.suppress(OSError):  # a directory that is not accessible
        return path.exists()
    return False


def _where(launch: Launch) -> str:
    """Where a missing command was looked for, and what may be meant."""
    name, directory = launch.arguments[0], _working_directory(launch)
    if "/" not in name:
        path = f" in PATH={_search_path(launch.environment)}"
        beside = _is_seen(directory / name)
        return path + (f"; write ./{name} for that of the working directory" if beside else "")
    if name.startswith("/"):
        return ""
    own = str(directory) == f"{launch.environment.get(DIRECTORY_VARIABLE)}/work"
    what = "a new directory of the container, --directory names another one" if own else ""
    return f": there is no {directory / name}" + (f" ({what})" if what else "")


def _search_path(environment: Mapping[str, str]) -> str:
    return environment.get("PATH", os.defpath)
