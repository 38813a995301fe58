"""The server's part of sessions: it starts them, and gets a socket; and short commands beside the
containers, such as those of notices. Used by the server only.

The process that holds a session is in the control groups of its container from the start, so that
users who open many of them only use up what their containers have. A command beside the containers
has control groups of its own, which end with it, and leaves no process behind. What holds such a
command is what holds one in a container, without the container; `run` blocks.
"""

import contextlib
import os
import resource
import secrets
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from fairshare.api import frames
from fairshare.api.frames import STDERR, Decoder, Malformed
from fairshare.engines.local import groups, processes
from fairshare.engines.local.accounts import find_account
from fairshare.engines.local.adoption import Alive, fate, read_launch
from fairshare.engines.local.directories import ContainerDirectory, read_json
from fairshare.engines.local.launch import Launch
from fairshare.engines.local.limits import Limits
from fairshare.engines.local.machine import user_name
from fairshare.engines.local.outcome import StartFailure
from fairshare.engines.local.sessions.console import SOCKET
from fairshare.engines.protocol import Ended
from fairshare.errors import EngineError, InputError

_PATIENCE_S = 5.0
_CREDENTIALS = struct.Struct("3i")
_PYTHON = """\
import sys
sys.path.insert(0, sys.argv[1])
from fairshare.engines.local.sessions.command import main
main(*map(int, sys.argv[2:]))
"""


def open_command(
    directory: ContainerDirectory,
    log: Path,
    file_limit: tuple[int, int],
    ended: Callable[[], None],
) -> socket.socket:
    """A connection to a new process that runs the command of the first message in a container.

    `log` gets its errors; `file_limit` is the RLIMIT_NOFILE of containers; `ended` is called from
    another thread when no process of the session is left. Raises InputError (`not-running`,
    `no-session`), and EngineError if no process can be started; then `ended` is not called.
    """
    with contextlib.ExitStack() as opened:
        try:
            launch, supervisor, pidfds = _alive(directory, opened)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise _not_running(directory) from error
        if launch.image:
            raise InputError(
                "no-session",
                f"{launch.container_name} runs in the image {launch.image}, and commands can be run"
                " beside processes only",
            )
        process, ours = start_holder(log, supervisor, pidfds)
        try:
            for group in launch.groups:
                groups.enter(group.path, process.pid)
        except OSError as error:  # the container has ended meanwhile
            process.kill()
            process.communicate()
            ours.close()
            raise _not_running(directory) from error
        with contextlib.suppress(OSError):
            resource.prlimit(process.pid, resource.RLIMIT_NOFILE, file_limit)

        def accompany() -> None:
            process.communicate(launch.encode())  # no zombie is left
            ended()

        threading.Thread(target=accompany, daemon=True).start()
        return ours


def start_holder(
    log: Path, supervisor: int = 0, pidfds: Sequence[int] = ()
) -> "tuple[subprocess.Popen[bytes], socket.socket]":
    """The process that holds a session, which expects its order on its standard input, and the
    connection with it. `supervisor` and `pidfds` are of the container. Raises EngineError."""
    with contextlib.ExitStack() as opened:
        try:
            ours, theirs = socket.socketpair()
            opened.callback(theirs.close)
            opened.callback(ours.close)
            source = str(Path(__file__).parents[4])
            words = (source, str(theirs.fileno()), str(supervisor), *map(str, pidfds))
            with log.open("ab") as file:
                process = subprocess.Popen(
                    (sys.executable, "-I", "-S", "-c", _PYTHON, *words),
                    stdin=subprocess.PIPE,
                    stdout=file,
                    stderr=file,
                    pass_fds=(theirs.fileno(), *pidfds),
                    cwd="/",
                    env={},
                    start_new_session=True,
                )
        except OSError as error:
            raise EngineError(f"cannot start a process: {error.strerror}") from error
        opened.pop_all()
        theirs.close()
        return process, ours


def open_terminal(directory: ContainerDirectory) -> socket.socket:
    """A connection to the terminal of a container's first process.

    Raises InputError (`not-running`, `no-terminal`), and EngineError if it does not answer.
    """
    try:
        launch = read_launch(directory)
        folder = os.open(directory.path, os.O_PATH | os.O_DIRECTORY)
    except OSError as error:
        raise _not_running(directory) from error
    connection = socket.socket(socket.AF_UNIX)
    try:
        if launch is None or not launch.terminal:
            raise InputError(
                "no-terminal",
                f"{directory.path.name} has no terminal: `fairshare logs -f` shows what it prints,"
                " and `fairshare exec` runs a command beside it",
            )
        connection.settimeout(_PATIENCE_S)
        # Its own path may be too long for a socket.
        connection.connect(f"/proc/self/fd/{folder}/{SOCKET}")
        _, uid, _ = _CREDENTIALS.unpack(
            connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        )
        if uid != os.geteuid():
            raise EngineError("the terminal belongs to another account")
    except BaseException as error:
        connection.close()
        if isinstance(error, OSError):
            raise _not_running(directory) from error
        raise
    finally:
        os.close(folder)
    return connection


def _alive(
    directory: ContainerDirectory, opened: contextlib.ExitStack
) -> tuple[Launch, int, tuple[int, int]]:
    """The order of a container, the pid of its supervisor, and pidfds of it and of the first
    process. Raises an exception if it does not run."""
    known_fate, launch, record = fate(directory), read_launch(directory), read_json(directory.pid)
    if isinstance(known_fate, Alive):
        opened.callback(os.close, known_fate.pidfd)
    if not isinstance(known_fate, Alive) or launch is None or record is None:
        raise _not_running(directory)
    first = os.pidfd_open(record["pid"])
    opened.callback(os.close, first)
    if processes.start_time(record["pid"]) != record["start"]:
        raise _not_running(directory)
    return launch, record["supervisor"], (known_fate.pidfd, first)


def _not_running(directory: ContainerDirectory) -> InputError:
    return InputError("not-running", f"nothing runs in {directory.path.name} (any more, or yet)")


MEMORY_MB = 256
_TAIL_BYTES = 4096
_END_S = 10.0


class Aside:
    """One command. `user` has the account under which it runs, None: that of the server; `limits`
    None: the command is not limited. HOME, USER and LOGNAME are those of the account."""

    def __init__(
        self,
        arguments: tuple[str, ...],
        environment: dict[str, str],
        *,
        log: Path,
        user: str | None = None,
        limits: Limits | None = None,
        no_new_privileges: bool = False,
    ) -> None:
        self._arguments = arguments
        self._environment = environment
        self._log = log
        self._user = user
        self._limits = limits
        self._no_new_privileges = no_new_privileges
        self._connection: socket.socket | None = None
        self._closed = False

    def run(self, content: bytes, timeout_s: float) -> Ended:
        """Run the command with `content` on its stdin. Raises EngineError if no process can be
        started now, and TimeoutError if the command was ended for its time."""
        try:
            order = self._order().encode()
        except StartFailure as failure:
            if failure.is_final:
                return Ended(None, "", failure.diagnostics)
            raise
        process, self._connection = start_holder(self._log)
        try:
            assert process.stdin is not None
            with contextlib.suppress(OSError), process.stdin as file:
                file.write(order)
            return Ended(None, "") if self._closed else self._converse(content, timeout_s)
        finally:
            self._connection.close()
            with contextlib.suppress(Exception):
                process.wait(_END_S)  # it ends all that the command has started

    def _order(self) -> Launch:
        account = None if self._user is None else find_account(self._user)
        if account is None:
            home, user = os.environ.get("HOME", "/"), user_name()
        else:
            home, user = account.home, account.name
        name = f"aside-{secrets.token_hex(6)}"
        limits = None if self._limits is None else self._limits.container(name, MEMORY_MB, 1)
        return Launch(
            container=0,
            container_name=name,
            arguments=(),
            environment=self._environment | {"HOME": home, "USER": user, "LOGNAME": user},
            directory="/",
            memory_mb=0 if limits is None or not limits.memory_checked else MEMORY_MB,
            memory_limit="watch" if limits is None else limits.memory_limit,
            groups=() if limits is None else limits.groups,
            kill_group=None if limits is None else limits.kill_group,
            niceness=0 if limits is None else limits.niceness,
            account="" if account is None else account.name,
            uid=-1 if account is None else account.uid,
            gid=-1 if account is None else account.gid,
            supplementary=() if account is None else account.groups(),
            no_new_privileges=self._no_new_privileges,
        )

    def close(self) -> None:
        """End the command, from another thread."""
        self._closed = True
        if self._connection is not None:
            with contextlib.suppress(OSError):
                self._connection.shutdown(socket.SHUT_RDWR)

    def _converse(self, content: bytes, timeout_s: float) -> Ended:
        assert self._connection is not None
        connection, decoder, stderr = self._connection, Decoder(masked=False), b""
        end_s = time.monotonic() + timeout_s
        connection.settimeout(timeout_s)
        with contextlib.suppress(OSError):  # it has ended: the reason is read below
            connection.sendall(
                frames.text_frame({"arguments": self._arguments}, os.urandom(4))
                + b"".join(
                    frames.data_frame(content[at : at + frames.PIECE_BYTES], os.urandom(4))
                    for at in range(0, len(content), frames.PIECE_BYTES)
                )
                + frames.text_frame({"eof": True}, os.urandom(4))
            )
        while True:
            connection.settimeout(max(0.001, end_s - time.monotonic()))
            try:
                data = connection.recv(64 * 1024)
                messages = decoder.feed(data)
            except TimeoutError:
                raise
            except (OSError, Malformed):
                data, messages = b"", []
            for message in messages:
                if message.data[:1] == bytes((STDERR,)):
                    stderr = (stderr + message.data[1:])[-_TAIL_BYTES:]
                if message.ping is not None:
                    with contextlib.suppress(OSError):
                        connection.sendall(frames.pong_frame(message.ping, os.urandom(4)))
                said = message.said or {}
                if "exit" in said or "problem" in said:
                    words = stderr.decode(errors="replace")
                    return Ended(said.get("exit"), words, said.get("problem", ""))
            if not data:
                return Ended(None, stderr.decode(errors="replace"))
            if time.monotonic() >= end_s:
                raise TimeoutError
