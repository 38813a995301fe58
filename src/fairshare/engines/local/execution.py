"""Owns the steps between fork and exec that set up a container's first process.

Either the command runs, or `StartFailure` says why not. Must stay light: supervisors use it.
"""

import contextlib
import ctypes
import errno
import json
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from fairshare.engines.local import groups
from fairshare.engines.local.directories import ContainerDirectory
from fairshare.engines.local.launch import Launch
from fairshare.engines.local.outcome import (
    ABORTED,
    DISK_FAILED,
    NOT_EXECUTABLE,
    NOT_FOUND,
    StartFailure,
)

_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36
_LIBC = ctypes.CDLL(None, use_errno=True)

# Python ignores the first two, the zygote the others; ignored signals stay ignored across exec.
_SIGNALS = (
    signal.SIGPIPE,
    signal.SIGXFSZ,
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGQUIT,  # shells ignore it in background processes
    signal.SIGTERM,
    signal.SIGCHLD,
)


def name_process(name: str) -> None:
    """Set the process name in `ps` and `top`, at most 15 bytes."""
    _LIBC.prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)


def adopt_orphans() -> None:
    """Become the subreaper: the parent of every descendant whose parent ends; raises OSError."""
    if _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def start(launch: Launch, directory: ContainerDirectory) -> int:
    """Start the container's first process; returns its pid when the command runs.

    Raises StartFailure; then no process is left.
    """
    try:
        outputs = [_open_log(directory.stdout, launch), _open_log(directory.stderr, launch)]
    except OSError as error:
        raise StartFailure(
            DISK_FAILED, f"cannot write the container's logs: {error.strerror} ({error.filename})"
        ) from error
    reader, writer = os.pipe2(os.O_CLOEXEC)
    supervisor = os.getpid()
    try:
        pid = os.fork()
        if pid == 0:
            _become(launch, outputs, writer, supervisor)
    except OSError as error:
        os.close(reader)
        raise StartFailure(ABORTED, f"cannot start a process: {error.strerror}") from error
    finally:
        for descriptor in (*outputs, writer):
            os.close(descriptor)
    with os.fdopen(reader, "rb") as file:
        failure = file.read()
    if not failure:  # exec has closed it
        return pid
    os.waitpid(pid, 0)
    stage, number = json.loads(failure)
    raise _failure(launch, stage, number)


def _open_log(path: Path, launch: Launch) -> int:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o640)
    if launch.account:
        # A program can reopen its output through /dev/stderr.
        os.fchown(descriptor, launch.uid, -1)
    return descriptor


def _become(launch: Launch, outputs: list[int], writer: int, supervisor: int) -> NoReturn:
    """In the new process: set it up and exec. Must not return, even after an error."""
    stage = "process"
    try:
        # A session of its own: signals to its group, or from a terminal, reach no other container.
        os.setsid()
        # Without its supervisor its limits would not be enforced, nor its outcome reported.
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != supervisor:
            os._exit(1)
        null = os.open(os.devnull, os.O_RDONLY)
        for source, target in zip((null, *outputs), (0, 1, 2), strict=True):
            os.dup2(source, target)
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        stage = "limit"
        for group in launch.groups:
            groups.enter(group.path)
        if launch.niceness:
            os.nice(launch.niceness)  # added to the server's: only root can lower it
        if launch.account:
            stage = "account"
            _switch(launch, supervisor)
        stage = "directory"
        os.chdir(launch.directory)
        stage = "command"
        os.execvpe(launch.arguments[0], launch.arguments, launch.environment)  # noqa: S606
    except OSError as error:
        os.write(writer, json.dumps([stage, error.errno]).encode())
    except (ValueError, IndexError):
        # A null byte in an argument or variable, a "=" in a variable's name, or no arguments.
        os.write(writer, json.dumps(["argument", errno.EINVAL]).encode())
    finally:
        os._exit(NOT_EXECUTABLE)


def _switch(launch: Launch, supervisor: int) -> None:
    """Switch to the user's account, with all its groups and no other rights; raises OSError."""
    os.initgroups(launch.account, launch.gid)
    os.setresgid(launch.gid, launch.gid, launch.gid)
    os.setresuid(launch.uid, launch.uid, launch.uid)
    os.umask(0o022)
    # The kernel resets this setting when the user changes.
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != supervisor:
        os._exit(1)


def _failure(launch: Launch, stage: str, number: int) -> StartFailure:
    command = repr(launch.arguments[0]) if launch.arguments else "the command"
    reason = os.strerror(number)
    if stage == "directory":
        return StartFailure(
            NOT_EXECUTABLE,
            f"cannot run {command}: working directory {launch.directory!r}: {reason}",
        )
    if stage == "limit":
        return StartFailure(ABORTED, f"cannot set the container's limits: {reason}")
    if stage == "account":
        return StartFailure(
            NOT_EXECUTABLE, f"cannot run {command} under the account {launch.account}: {reason}"
        )
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
    exists = _exists(launch)
    if not exists and number in (errno.ENOENT, errno.EACCES):  # EACCES: a directory in PATH
        return StartFailure(NOT_FOUND, f"cannot run {command}: no such command{_where(launch)}")
    if number == errno.ENOENT:
        reason = "the interpreter that it names is missing"
    return StartFailure(NOT_EXECUTABLE, f"cannot run {command}: {reason}")


def _exists(launch: Launch) -> bool:
    name = launch.arguments[0]
    places = [""] if "/" in name else _search_path(launch.environment).split(os.pathsep)
    for place in places:
        with contextlib.suppress(OSError):  # a directory that is not accessible
            if (Path(launch.directory) / place / name).exists():
                return True
    return False


def _where(launch: Launch) -> str:
    if "/" in launch.arguments[0]:
        return ""
    return f" in PATH={_search_path(launch.environment)}"


def _search_path(environment: Mapping[str, str]) -> str:
    return environment.get("PATH", os.defpath)
