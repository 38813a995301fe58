"""The choice between the two supervisors: a compiled program, where there is one, or Python.

The program (`native/`) is built at installation, if the machine has a C compiler. It does what
`supervisor` does, and hands a container over to it before the container starts, if the order says
something that it does not know. Must stay light: the zygote uses it.
"""

import errno
import os
import signal
import socket
import struct
import sys
from pathlib import Path

PROGRAM = Path(__file__).with_name("native") / "fs-supervisor"
_CHANNEL, _LOCK, _ORDERS = 100, 101, 102
"""The descriptors of the starter and of supervisors; the zygote's own are lower."""
_PATIENCE = struct.pack("ll", 5, 0)
"""How long an answer of the starter may take, in seconds and microseconds: then it is stopped."""
_ANSWER = struct.Struct("ii")
_READY = _ANSWER.pack(-1, 1)
"""The first datagram of a starter, with the version of its orders and answers."""

_PYTHON = """\
import sys
sys.path.insert(0, sys.argv[1])
from fairshare.engines.local.zygote import take_over
take_over(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
"""


def exists() -> bool:
    """Whether this installation has the program."""
    return os.access(PROGRAM, os.X_OK)


class StarterLost(Exception):
    """The starter has ended, or does not answer: it may have started a supervisor, or not."""


class Starter:
    """A process of the program that forks a supervisor for each order, as a child of this process.

    `pid` is its own.
    """

    def __init__(self, channel: int, lock: int) -> None:
        """Start it, with the descriptors that supervisors have in common; raises OSError, also if
        it does not say that it is ready, as a program of another release.

        The signals that are blocked here are blocked in supervisors, too.
        """
        self._orders, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._orders.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _PATIENCE)
        source, directory = str(Path(__file__).parents[3]), f"@{_ORDERS}"
        python = (sys.executable, "-I", "-S", "-c", _PYTHON, source, directory)
        passed = {channel: _CHANNEL, lock: _LOCK, theirs.fileno(): _ORDERS}
        with theirs:
            self.pid = os.posix_spawn(
                PROGRAM,
                (PROGRAM, str(_CHANNEL), str(_LOCK), directory, *python, str(_CHANNEL), str(_LOCK)),
                os.environ,
                file_actions=[(os.POSIX_SPAWN_DUP2, own, its) for own, its in passed.items()],
            )
        ready = b""
        try:
            ready = self._orders.recv(_ANSWER.size)
        finally:
            if ready != _READY:
                self._orders.close()
                os.kill(self.pid, signal.SIGKILL)
        if ready != _READY:
            raise OSError(errno.ENOEXEC, os.strerror(errno.ENOEXEC))

    def start(self, path: bytes) -> int:
        """Start a supervisor for the container of a directory; returns its pid.

        Raises OSError if it cannot be forked, BrokenPipeError if the starter had ended before, and
        StarterLost if it did not answer.
        """
        self._orders.send(path)
        try:
            answer = self._orders.recv(_ANSWER.size)
        except OSError as error:
            raise StarterLost from error
        if len(answer) < _ANSWER.size:
            raise StarterLost
        pid, number = _ANSWER.unpack(answer)
        if number:
            raise OSError(number, os.strerror(number))
        return int(pid)

    def close(self) -> None:
        """Let it end; a supervisor that was started lives on."""
        self._orders.close()
