"""Owns the start of a command inside a running container: with its account, limits, environment and
directory.

The limits are those of its cgroups. Where there are none, `command` watches the memory. Must stay
light.
"""

import fcntl
import json
import os
import pty
import signal
import termios
from typing import NamedTuple, NoReturn

from fairshare.api.frames import STDERR, STDOUT
from fairshare.engines.local import execution, groups
from fairshare.engines.local.launch import Launch
from fairshare.engines.local.outcome import NOT_EXECUTABLE, NOT_FOUND
from fairshare.engines.local.sessions.relay import set_size
from fairshare.engines.local.sessions.request import Request


class Joined(NamedTuple):
    """A command that runs: its outputs with the stream of each, its input, and its terminal."""

    pid: int
    outputs: dict[int, int]
    input: int
    terminal: int | None


class NotStarted(Exception):
    """A command could not be started; `code` is the exit code that a shell would have."""

    def __init__(self, code: int, words: str) -> None:
        super().__init__(words)
        self.code = code


def start(launch: Launch, request: Request) -> Joined:
    """Start a command in the container of `launch`; raises NotStarted."""
    if request.terminal:
        master, slave = pty.openpty()
        set_size(master, {"rows": request.rows, "columns": request.columns})
        if launch.account:
            os.fchown(slave, launch.uid, -1)
        theirs, terminal = (slave, slave, slave), master
        outputs, input_ = {master: STDOUT}, master
    else:
        (out, out_of), (error, error_of) = os.pipe2(os.O_CLOEXEC), os.pipe2(os.O_CLOEXEC)
        source, input_ = os.pipe2(os.O_CLOEXEC)
        theirs, terminal = (source, out_of, error_of), None
        outputs = {out: STDOUT, error: STDERR}
    reader, writer = os.pipe2(os.O_CLOEXEC)
    parent = os.getpid()
    try:
        pid = os.fork()
        if pid == 0:
            _become(launch, request, theirs, writer, parent)
    except OSError as error:
        raise NotStarted(1, f"cannot start a process: {error.strerror}") from error
    finally:
        for descriptor in {*theirs, writer}:
            os.close(descriptor)
    with os.fdopen(reader, "rb") as file:
        failure = file.read()  # until exec closes it
    if not failure:
        return Joined(pid, outputs, input_, terminal)
    os.waitpid(pid, 0)
    raise _failure(launch, request, *json.loads(failure))


def _become(
    launch: Launch, request: Request, theirs: tuple[int, int, int], writer: int, parent: int
) -> NoReturn:
    """In the new process: enter the container and exec. Must not return, even after an error."""
    stage = "process"
    try:
        os.setsid()
        execution.end_with_parent(parent)
        if request.terminal:
            fcntl.ioctl(theirs[0], termios.TIOCSCTTY, 0)
        for source, target in zip(theirs, (0, 1, 2), strict=True):
            os.dup2(source, target)
        for number in execution.IGNORED_SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        stage = "limit"
        for group in launch.groups:
            groups.enter(group.path)
        if launch.niceness:
            os.nice(launch.niceness)
        if launch.account:
            stage = "account"
            execution.switch_account(launch, parent)
        if launch.umask >= 0:
            os.umask(launch.umask)
        stage = "directory"
        execution.enter_directory(launch)
        stage = "limits"
        execution.set_limits(launch.limits)
        stage = "command"
        environment = dict(launch.environment)
        if request.term:
            environment["TERM"] = request.term
        os.execvpe(request.arguments[0], request.arguments, environment)  # noqa: S606
    except OSError as error:
        os.write(writer, json.dumps([stage, error.errno or 0]).encode())
    finally:
        os._exit(NOT_EXECUTABLE)


def _failure(launch: Launch, request: Request, stage: str, number: int) -> NotStarted:
    command, reason = repr(request.arguments[0]), os.strerror(number)
    if stage == "command":
        code = NOT_FOUND if isinstance(OSError(number, ""), FileNotFoundError) else NOT_EXECUTABLE
        if code == NOT_FOUND and "/" not in request.arguments[0]:
            reason = f"no such command in {launch.environment.get('PATH', '')}"
        return NotStarted(code, f"cannot run {command}: {reason}")
    where = {
        "limit": "cannot enter the container's limits; has it ended",
        "account": f"cannot run {command} under the account {launch.account}",
        "directory": f"cannot run {command}: working directory {launch.directory!r}",
        "limits": f"cannot set the limits {launch.limits}",
    }.get(stage, f"cannot prepare a process for {command}")
    return NotStarted(NOT_EXECUTABLE, f"{where}: {reason}")
