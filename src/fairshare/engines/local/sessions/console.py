"""The terminal of a container's first process, and the user who is attached to it.

Runs as a thread of the container's supervisor. It listens at the Unix socket `terminal` in the
container's directory. The last output is kept, and shown to a user who attaches; a second user
replaces the first one. Must stay light.
"""

import contextlib
import os
import pty
import queue
import resource
import socket
import threading
import time
from pathlib import Path

from fairshare.api.frames import PIECE_BYTES, STDOUT
from fairshare.engines.local import processes
from fairshare.engines.local.launch import Launch
from fairshare.engines.local.outcome import Cause, exit_code_of
from fairshare.engines.local.sessions.relay import Peer, Relay

SOCKET = "terminal"
_KEPT_BYTES = 32 * 1024
_LOOK_S = 10.0
_WARNING_S = 60.0
_BUSY = 0.01
"""Processes that use so much of a processor are not idle."""
_LAST_OUTPUT_S = 1.0
_END_S = 2.0


class Console:
    """The terminal. `slave` is for the first process; `over` says why the container is to end, once
    it is: then `waker` gets a byte. Raises OSError."""

    def __init__(self, launch: Launch, directory: Path, waker: int) -> None:
        self.over: Cause = ""
        self._launch = launch
        self._waker = waker
        self._path = directory / SOCKET
        master, self.slave = pty.openpty()
        if launch.account:
            os.fchown(self.slave, launch.uid, -1)
        self._relay = _Kept({master: STDOUT}, master, terminal=master)
        self._listener = socket.socket(socket.AF_UNIX)
        self._path.unlink(missing_ok=True)
        # The path itself may be too long for a socket: it is the supervisor's working directory.
        self._listener.bind(SOCKET)
        self._path.chmod(0o600)
        self._listener.listen(8)
        self._listener.setblocking(False)
        self._news: queue.SimpleQueue[tuple[str, int | None]] = queue.SimpleQueue()
        self._wake, self._own_waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._thread = threading.Thread(target=self._run, name="terminal", daemon=True)
        now_s = time.monotonic()
        self._detached_s: float | None = now_s
        self._computed_s = now_s  # when processes were last seen to compute
        self._look_s = now_s
        self._ticks = 0
        self._warned = False

    def start(self) -> None:
        """Serve users; the first process has the terminal now."""
        os.close(self.slave)
        self._thread.start()

    def say(self, words: str) -> None:
        """Tell the user who is attached something."""
        self._post(words, None)

    def close(self, status: int) -> None:
        """The first process has ended with this wait status, and no other is left."""
        self._post("", status)
        self._thread.join(_LAST_OUTPUT_S + 2 * _END_S)
        with contextlib.suppress(OSError):
            self._path.unlink()

    def _post(self, words: str, status: int | None) -> None:
        self._news.put((words, status))
        with contextlib.suppress(BlockingIOError):
            os.write(self._own_waker, b"\0")

    def _run(self) -> None:
        relay = self._relay
        while True:
            ready = relay.step(self._pause_s(), (self._listener.fileno(), self._wake))
            if self._listener.fileno() in ready:
                self._accept()
            if relay.peer is not None and relay.peer.gone:
                relay.peer.channel.close()
                relay.peer, self._detached_s = None, time.monotonic()
            if self._wake in ready:
                os.read(self._wake, 4096)
            while not self._news.empty():
                words, status = self._news.get()
                if status is not None:
                    relay.drain(_LAST_OUTPUT_S)
                    if relay.peer is not None:
                        relay.peer.say(exit=exit_code_of(status))
                        relay.peer.end(_END_S)
                    return
                if relay.peer is not None:
                    relay.peer.say(notice=words)
            if not self.over:
                self._judge(time.monotonic())

    def _pause_s(self) -> float:
        """The time until something may be due."""
        times = [_LOOK_S]
        if self._launch.idle_ms:
            times.append(self._launch.idle_ms / 4000)
        if self._detached_s is not None and self._launch.detached_ms:
            times.append(self._launch.detached_ms / 1000)
        return min(times) if not self.over else _LOOK_S

    def _accept(self) -> None:
        relay = self._relay
        try:
            channel, _ = self._listener.accept()
        except OSError:
            return
        if relay.peer is not None:
            relay.peer.say(problem="another terminal is attached now", code=1)
            relay.peer.end(0.1)
        relay.peer, self._detached_s = Peer(channel), None
        relay.active_s = time.monotonic()
        kept = bytes(relay.kept)
        for at in range(0, len(kept), PIECE_BYTES):
            relay.peer.output(STDOUT, kept[at : at + PIECE_BYTES])

    def _judge(self, now_s: float) -> None:
        """Whether the container is to end since no user is there."""
        launch = self._launch
        alone_s = 0.0 if self._detached_s is None else now_s - self._detached_s
        if launch.detached_ms and alone_s >= launch.detached_ms / 1000:
            self._end("detached")
            return
        if not launch.idle_ms:
            return
        idle_s = launch.idle_ms / 1000
        self._look_at_processes(now_s, min(_LOOK_S, idle_s / 4))
        silent_s = now_s - max(self._relay.active_s, self._computed_s)
        if silent_s >= idle_s:
            self._end("idle")
        elif silent_s >= idle_s - min(_WARNING_S, idle_s / 2):
            if not self._warned and self._relay.peer is not None:
                left_s = max(1, round(idle_s - silent_s))
                self._relay.peer.say(
                    notice=f"idle: this ends in {left_s} s unless a key is pressed"
                )
            self._warned = True
        else:
            self._warned = False

    def _look_at_processes(self, now_s: float, interval_s: float) -> None:
        elapsed_s = now_s - self._look_s
        if elapsed_s < interval_s:
            return
        ticks = processes.processor_ticks(processes.descendants(os.getpid()))
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        ticks += round((usage.ru_utime + usage.ru_stime) * processes.TICKS_PER_S)
        if abs(ticks - self._ticks) > _BUSY * elapsed_s * processes.TICKS_PER_S:
            self._computed_s = now_s
        self._ticks, self._look_s = ticks, now_s

    def _end(self, why: Cause) -> None:
        self.over = why
        with contextlib.suppress(BlockingIOError):
            os.write(self._waker, b"\0")


class _Kept(Relay):
    """A relay that keeps the last output."""

    kept = b""

    def seen(self, data: bytes) -> None:
        """Keep it."""
        self.kept = (self.kept + data)[-_KEPT_BYTES:]
