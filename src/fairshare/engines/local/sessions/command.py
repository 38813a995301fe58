"""Owns the process that holds one command beside a container, `fs-session`, from start to end.

It is the subreaper of all that the command starts, as a supervisor is: nothing outlives it. It ends
with the command, with the container, and when the connection of the user is lost. Must stay light.
"""

import contextlib
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Sequence

from fairshare.api.frames import Message
from fairshare.engines.local import processes
from fairshare.engines.local.execution import adopt_orphans, name_process
from fairshare.engines.local.launch import Launch
from fairshare.engines.local.outcome import exit_code_of
from fairshare.engines.local.sessions import joined
from fairshare.engines.local.sessions.relay import Peer, Relay
from fairshare.engines.local.sessions.request import Request

REQUEST_S = 10.0
"""How long a user may take to say what to run."""

END_S = 1.0
"""From SIGHUP to SIGKILL, for what the command leaves behind or if it is to end."""

_LAST_OUTPUT_S = 1.0
_LOOK_S = 1.0
_OVER_MEMORY = 137
_LOST = 129


def main(channel_descriptor: int, supervisor: int, *container: int) -> None:
    """Hold the command that the channel asks for. `supervisor` is the pid of the container's
    supervisor, `container` are pidfds of it and of the first process. The container's order comes
    from standard input."""
    name_process("fs-session")
    with contextlib.suppress(OSError):
        adopt_orphans()
    launch = Launch.decode(json.load(sys.stdin))
    peer = Peer(socket.socket(fileno=channel_descriptor))
    first = _first_messages(peer)
    if not first:
        peer.end(END_S)
        return
    try:
        request = Request.read(first[0].said or {})
        command = joined.start(launch, request)
    except ValueError as error:
        peer.say(problem=str(error), code=1)
    except joined.NotStarted as error:
        peer.say(problem=str(error), code=error.code)
    else:
        _Session(launch, peer, command, supervisor, container).run(first[1:])
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
        command: joined.Joined,
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
        self._peer.say(exit=_LOST if self._status is None else exit_code_of(self._status))

    def _over_memory(self) -> bool:
        """Whether the container and this command use more than the container may."""
        both = (self._supervisor, os.getpid())
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
                processes.send(processes.descendants(os.getpid()), signal.SIGKILL)
            self._relay.step(0.02)
