"""The server's side of the zygote: its start, orders, answers, and its replacement if it ends.

Knows directories, not containers. Used by the engine's thread only.
"""

import contextlib
import fcntl
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import fairshare
from fairshare.engines.local import processes
from fairshare.engines.local.groups import GROUPS_VARIABLE, STATE_VARIABLE
from fairshare.engines.local.outcome import tail
from fairshare.engines.local.preparation import inherited
from fairshare.engines.local.state import StateDirectory
from fairshare.engines.local.zygote import IN_ORDER, MESSAGE_BYTES
from fairshare.errors import EngineError
from fairshare.this_machine import full_disk
from fairshare.wording import cause

_PROGRAM = """\
import sys
sys.path.insert(0, sys.argv[1])
from fairshare.engines.local.zygote import main
main(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "program")
"""
_PATIENCE_S = 20.0
_STOPPED_S = 3.0
SLOW_S = 2.0
"""Without an answer for longer than this, `trouble` reports it."""
SILENCE_S = 10.0
"""The maximum time for the zygote's next answer. A fork takes a millisecond."""


class Answer(NamedTuple):
    """The answer for a directory: `forked` (with a pidfd if it could be opened), `started`, or
    `failed` with the error number."""

    kind: str
    path: str
    pidfd: int | None = None
    error: int = 0


class ZygoteClient:
    """One zygote at a time.

    `file_limit` is the RLIMIT_NOFILE of containers; `group_paths` are the parents of their groups.
    `unanswered` has the ordered directories without an answer.
    """

    def __init__(
        self,
        state: StateDirectory,
        server_environment: Mapping[str, str],
        file_limit: tuple[int, int],
        group_paths: Iterable[str] = (),
        *,
        program: bool = False,
    ) -> None:
        self._state = state
        self._file_limit = file_limit
        self._program = program  # whether the compiled supervisor is used
        self._environment = inherited(server_environment)
        self._environment[STATE_VARIABLE] = str(state.path)
        self._environment[GROUPS_VARIABLE] = os.pathsep.join(sorted(group_paths))
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None
        self._backlog: deque[str] = deque()
        self.unanswered: dict[str, None] = {}  # an ordered set
        self._heard_s = 0.0  # the last instant of an answer, or without orders

    def await_silence(self) -> int:
        """Wait until no zygote of this state directory is left that could still fork.

        Returns the acquired lock, which the next zygote inherits. Supervisors hold it too, until
        their pid.json or exit.json is written. Raises EngineError after a timeout.
        """
        try:
            descriptor = os.open(self._state.zygote_lock, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise EngineError(f"cannot open {self._state.zygote_lock}: {error.strerror}") from error
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self._hurry(deadline - time.monotonic())
                if time.monotonic() >= deadline:
                    os.close(descriptor)
                    held = (
                        f"{self._state.zygote_lock} is still held by a process of an earlier server"
                    )
                    if full := full_disk(self._state.path):
                        words = f"{full}; {held}, which waits to write how a container ended"
                        raise EngineError(words) from None
                    raise EngineError(
                        f"{held}; end the process named fs-zygote or fs-starter that belongs to it"
                    ) from None
                time.sleep(0.002)
            else:
                return descriptor

    def _hurry(self, left_s: float) -> None:
        """Resume stopped holders of the lock, and finally kill them: a container can stop its
        supervisor."""
        if left_s > _PATIENCE_S - _STOPPED_S:
            return
        number = signal.SIGCONT if left_s > _STOPPED_S else signal.SIGKILL
        held = processes.marked(STATE_VARIABLE, str(self._state.path))
        processes.send(filter(processes.is_stopped, held), number)
        time.sleep(0.1)

    def start(self, lock: int) -> None:
        """Start a zygote with this lock, and wait until it is ready; raises EngineError."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self._process = self._spawn(theirs.fileno(), lock)
        except OSError as error:
            ours.close()
            raise EngineError(
                f"the process that starts containers cannot be started: {cause(error)}"
            ) from error
        finally:
            theirs.close()
            os.close(lock)
        ours.settimeout(_PATIENCE_S)
        try:
            ready = ours.recv(MESSAGE_BYTES)
        except OSError:
            ready = b""
        if ready != b"R":
            ours.close()
            self._process.kill()
            self._process.wait()
            self._process = None
            raise EngineError(
                "the process that starts containers did not come up; "
                f"{self._state.zygote_log} ends with:\n{tail(self._state.zygote_log)}"
            )
        ours.setblocking(False)
        self._channel = ours

    def _spawn(self, channel: int, lock: int) -> "subprocess.Popen[bytes]":
        source = Path(fairshare.__path__[0]).parent
        with self._state.zygote_log.open("ab") as log:
            process = subprocess.Popen(
                [
                    *(sys.executable, "-I", "-S", "-c", _PROGRAM),
                    *(
                        str(source),
                        str(channel),
                        str(lock),
                        "program" if self._program else "python",
                    ),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self._environment,
                pass_fds=(channel, lock),
                start_new_session=True,
            )
        # The server needs one open file per container, and may have raised its own limit.
        # Containers get the original limit, since a raised one slows down old programs.
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(process.pid, resource.RLIMIT_NOFILE, self._file_limit)
        return process

    @property
    def channel(self) -> socket.socket | None:
        """The channel of the zygote's answers; its end means that the zygote has ended."""
        return self._channel

    @property
    def blocked(self) -> bool:
        """Whether orders wait because the channel is full."""
        return bool(self._backlog)

    def order(self, path: str) -> None:
        """Order a supervisor for the container of a directory; an answer will follow."""
        if not self.unanswered:
            self._heard_s = time.monotonic()
        self.unanswered[path] = None
        self._backlog.append(path)
        self.flush()

    def flush(self) -> None:
        """Send as many waiting orders as the channel accepts."""
        while self._backlog and self._channel is not None:
            try:
                self._channel.send(os.fsencode(self._backlog[0]))
            except BlockingIOError:
                return
            except OSError:
                return  # the zygote has ended, which `receive` will notice
            self._backlog.popleft()

    def receive(self) -> tuple[list[Answer], bool]:
        """The available answers, and whether the zygote is alive."""
        answers: list[Answer] = []
        while self._channel is not None:
            try:
                data, pidfds, _, _ = socket.recv_fds(
                    self._channel, MESSAGE_BYTES, 1, socket.MSG_CMSG_CLOEXEC
                )
            except BlockingIOError:
                break
            except OSError:
                return answers, False
            if not data:
                return answers, False
            answers.append(self._answer(data, pidfds))
        return answers, self._channel is not None

    def is_silent(self) -> bool:
        """Whether the zygote has not answered an order for SILENCE_S."""
        return bool(self.unanswered) and time.monotonic() - self._heard_s > SILENCE_S

    def trouble(self) -> str:
        """Why no container can be started now; otherwise empty. Called from any thread."""
        if self._channel is None:
            return "the process that starts containers cannot be started"
        if self.unanswered and time.monotonic() - self._heard_s > SLOW_S:
            return "the process that starts containers does not answer"
        return ""

    def kill(self) -> None:
        """Kill the zygote, even if it is stopped; `receive` then notices its end."""
        self._heard_s = time.monotonic()
        if self._process is not None:
            self._process.kill()

    def _answer(self, data: bytes, pidfds: list[int]) -> Answer:
        letter, rest = data.split(b" ", 1)
        error = 0
        if letter == b"X":
            number, rest = rest.split(b" ", 1)
            error = int(number)
        path = os.fsdecode(rest)
        if letter != b"S":
            self._heard_s = time.monotonic()
            self.unanswered.pop(path, None)
        kind = {b"F": "forked", b"S": "started", b"X": "failed"}[letter]
        return Answer(kind, path, pidfds[0] if pidfds else None, error)

    def restart(self) -> list[str]:
        """Replace a zygote that ended; returns the directories without an answer, in order.

        Each of them either has a supervisor, and then its pid.json or exit.json exists now, or was
        never started. Raises EngineError.
        """
        lost = list(self.unanswered)
        self.unanswered.clear()
        self._backlog.clear()
        self.close(kill=True)
        self.start(self.await_silence())
        return lost

    def leave(self) -> None:
        """Let the zygote finish its orders, and stay as long as supervisors are alive."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        if self._process is not None:
            with contextlib.suppress(EngineError):
                os.close(self.await_silence())
            if self._process.poll() is None:
                self._process.returncode = 0  # so that Popen neither waits for it nor warns
            self._process = None

    def close(self, *, kill: bool = False) -> None:
        """Let the zygote finish its orders and end; no supervisor may be left."""
        if self._channel is not None:
            with contextlib.suppress(OSError):  # it has ended, or does not read
                self._channel.send(IN_ORDER, socket.MSG_DONTWAIT)
            self._channel.close()
            self._channel = None
        if self._process is not None:
            if kill:
                self._process.kill()
            try:
                self._process.wait(_PATIENCE_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
