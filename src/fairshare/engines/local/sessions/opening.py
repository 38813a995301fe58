"""Owns the server's part of sessions: it starts them, and gets a socket.

The process that holds a session is in the control groups of its container from the start, so that
users who open many of them only use up what their containers have. Used by the server only.
"""

import contextlib
import os
import resource
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from fairshare.engines.local import groups, processes
from fairshare.engines.local.adoption import Alive, fate, read_launch
from fairshare.engines.local.directories import ContainerDirectory, read_json
from fairshare.engines.local.launch import Launch
from fairshare.engines.local.sessions.console import SOCKET
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
    found, launch, record = fate(directory), read_launch(directory), read_json(directory.pid)
    if isinstance(found, Alive):
        opened.callback(os.close, found.pidfd)
    if not isinstance(found, Alive) or launch is None or record is None:
        raise _not_running(directory)
    first = os.pidfd_open(record["pid"])
    opened.callback(os.close, first)
    if processes.start_time(record["pid"]) != record["start"]:
        raise _not_running(directory)
    return launch, record["supervisor"], (found.pidfd, first)


def _not_running(directory: ContainerDirectory) -> InputError:
    return InputError("not-running", f"nothing runs in {directory.path.name} (any more, or yet)")
