"""The process that holds one command beside a container, `fs-session`, from start to end: it reads
what a user wants to run strictly, and starts it inside the container, with its account, limits,
environment and directory.

It is the subreaper of all that the command starts, as a supervisor is: nothing outlives it. It ends
with the command, with the container, and when the connection of the user is lost. The limits of a
command are those of the container's cgroups; where there are none, its memory is watched. Must stay
light.
"""

import contextlib
import fcntl
import json
import os
import pty
import select
import signal
import socket
import sys
import termios
import time
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

from fairshare.api.frames import LOST, STDERR, STDOUT, Message
from fairshare.engines.local import execution, groups, private_mounts, processes
from fairshare.engines.local.execution import adopt_orphans, name_process
from fairshare.engines.local.launch import Launch
from fairshare.engines.local.outcome import NOT_EXECUTABLE, NOT_FOUND, exit_code_of
from fairshare.engines.local.sessions.relay import Peer, Relay, set_size

MOST_ARGUMENTS = 10_000
_TYPES = {"arguments": list, "terminal": bool, "term": str, "rows": int, "columns": int}


class Request(NamedTuple):
    """The vector of a command, and whether it gets a terminal, of which type (TERM) and size."""

    arguments: tuple[str, ...]
    terminal: bool = False
    term: str = ""
    rows: int = 24
    columns: int = 80

    @classmethod
    def read(cls, said: dict[str, Any]) -> "Request":
        """Read the message; raises ValueError with what is wrong."""
        for name, value in said.items():
            if name not in _TYPES:
                raise ValueError(f"there is no {name!r} in a request, only {', '.join(_TYPES)}")
            if type(value) is not _TYPES[name]:
                raise ValueError(f"{name} must be of the type {_TYPES[name].__name__}")
        arguments = said.get("arguments", [])
        if not arguments or not all(isinstance(one, str) for one in arguments):
            raise ValueError("arguments: the words of a command are needed")
        if not arguments[0]:
            raise ValueError("arguments: the first one names no program")
        if len(arguments) > MOST_ARGUMENTS:
            raise ValueError(f"arguments: at most {MOST_ARGUMENTS}")
        if any("\0" in text for text in (*arguments, said.get("term", ""))):
            raise ValueError("a text has a NUL character")
        return cls(**{**said, "arguments": tuple(arguments)})


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


def start(
    launch: Launch, request: Request, supervisor: int = 0, container: Sequence[int] = ()
) -> Joined:
    """Start a command in the container of `launch`, which has this supervisor and its pidfd first
    in `container`; raises NotStarted."""
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
            _become(launch, request, theirs, writer, parent, supervisor, container)
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
    launch: Launch,
    request: Request,
    theirs: tuple[int, int, int],
    writer: int,
    parent: int,
    supervisor: int,
    container: Sequence[int],
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
        execution.use_processors(launch)
        if launch.niceness:
            os.nice(launch.niceness)
        if launch.private_tmp and container:
            private_mounts.join(supervisor, container[0])
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


REQUEST_S = 10.0
"""How long a user may take to say what to run."""

END_S = 1.0
"""From SIGHUP to SIGKILL, for what the command leaves behind or if it is to end."""

_LAST_OUTPUT_S = 1.0
_LOOK_S = 1.0
_OVER_MEMORY = 137


def main(channel_descriptor: int, supervisor: int, *container: int) -> None:
    """Hold the command that the channel asks for. `supervisor` is the pid of the container's
    supervisor, `container` are pidfds of it and of the first process. The container's order comes
    from standard input. Without a container the command has the groups of the order to itself."""
    name_process("fs-session")
    for descriptor in (channel_descriptor, *container):  # they are not the command's
        os.set_inheritable(descriptor, False)
    with contextlib.suppress(OSError):
        adopt_orphans()
    launch = Launch.decode(json.load(sys.stdin))
    peer = Peer(socket.socket(fileno=channel_descriptor))
    first = _first_messages(peer)
    if not first:
        peer.end(END_S)
        return
    groups_to_remove = launch.groups if not container else ()
    try:
        for group in groups_to_remove:
            groups.create(group)
        request = Request.read(first[0].said or {})
        command = start(launch, request, supervisor, container)
    except ValueError as error:
        peer.say(problem=str(error), code=1)
    except OSError as error:
        peer.say(problem=f"cannot make a control group: {error.strerror}", code=1)
    except NotStarted as error:
        peer.say(problem=str(error), code=error.code)
    else:
        _Session(launch, peer, command, supervisor, container).run(first[1:])
    finally:
        for group in groups_to_remove:
            groups.remove(group.path)
    peer.end(END_S)


def _first_messages(peer: Peer) -> list[Message]:
    end_s = time.monotonic() + REQUEST_S
    while not peer.gone and (left_s := end_s - time.monotonic()) > 0:
        select.select([peer.channel], [], [], left_s)
        if messages := peer.receive():
            return messages
    return []


class _Session:
    """A command that runs."""

    def __init__(
        self,
        launch: Launch,
        peer: Peer,
        command: Joined,
        supervisor: int,
        container: Sequence[int],
    ) -> None:
        self._launch = launch
        self._supervisor = supervisor
        self._peer = peer
        self._pid = command.pid
        self._container = container
        self._status: int | None = None
        self._relay = Relay(command.outputs, command.input, terminal=command.terminal)
        self._relay.peer = peer
        self._wake, waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)

    def run(self, messages: Sequence[Message]) -> None:
        """Pass on until the command, the container or the connection ends."""
        for message in messages:
            self._relay.take(message)
        watched = bool(self._launch.memory_mb) and self._launch.memory_limit == "watch"
        pause_s = self._launch.watch_ms / 1000 if watched else _LOOK_S
        while self._reap() and self._status is None and not self._peer.gone:
            ready = self._relay.step(pause_s, (self._wake, *self._container))
            if self._wake in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._wake, 4096)
            if ready & set(self._container):
                self._peer.say(notice="the container has ended")
                break
            if watched and self._over_memory():
                self._end_processes(at_once=True)
                words = f"ended: with it the container uses more than {self._launch.memory_mb} MB"
                self._peer.say(problem=words, code=_OVER_MEMORY)
                return
        if self._status is not None:
            self._relay.drain(_LAST_OUTPUT_S)
        self._end_processes()
        self._relay.drain(0.1)
        self._peer.say(exit=LOST if self._status is None else exit_code_of(self._status))

    def _over_memory(self) -> bool:
        """Whether the container and this command use more than the container may."""
        both = (self._supervisor, os.getpid()) if self._container else (os.getpid(),)
        pids = [pid for one in both for pid in processes.descendants(one)]
        return processes.proportional_bytes(pids) > self._launch.memory_mb * 1024 * 1024

    def _reap(self) -> bool:
        """Reap every ended process; False when none is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self._pid:
                self._status = status

    def _end_processes(self, *, at_once: bool = False) -> None:
        """End what is left, with SIGHUP first."""
        kill_s = time.monotonic() + (0.0 if at_once else END_S)
        pids = processes.descendants(os.getpid())
        for number in (signal.SIGHUP, signal.SIGCONT, signal.SIGTERM):
            processes.send(pids, number)
        while self._reap():
            if time.monotonic() >= kill_s:
                if not self._container and self._launch.kill_group is not None:
                    groups.kill(self._launch.kill_group)  # it forks faster than it is found
                processes.send(processes.descendants(os.getpid()), signal.SIGKILL)
            self._relay.step(0.02)
