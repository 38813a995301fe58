"""The passing of bytes between processes and the connection of a user, within bounds.

A user who does not read stops the processes, processes that do not read stop the user: nothing
grows. Must stay light: supervisors use it.
"""

import contextlib
import fcntl
import os
import select
import socket
import struct
import termios
import time
from collections.abc import Iterable, Mapping

from fairshare.api import frames
from fairshare.api.frames import Decoder, Malformed, Message

_MOST_WAITING_BYTES = 256 * 1024
"""Of each direction: above it the side that sends is not read."""

_MOST_ROWS = 10_000
_END_OF_INPUT = b"\x04"
"""What Ctrl-D sends to a terminal."""


class Peer:
    """The connection of a user. After an error or a long silence it is `gone`."""

    def __init__(self, channel: socket.socket) -> None:
        channel.setblocking(False)
        self.channel = channel
        self.gone = False
        self._decoder = Decoder(masked=True)
        self._waiting = bytearray()
        now_s = time.monotonic()
        self._heard_s = now_s
        self._pinged_s = now_s

    @property
    def full(self) -> bool:
        """Whether the user has not read so much that no more may be produced."""
        return len(self._waiting) > _MOST_WAITING_BYTES

    @property
    def sending(self) -> bool:
        """Whether something is still to be sent."""
        return bool(self._waiting) and not self.gone

    def receive(self) -> list[Message]:
        """What has come; pings are answered."""
        try:
            data = self.channel.recv(64 * 1024)
            messages = self._decoder.feed(data)
        except BlockingIOError:
            return []
        except (OSError, Malformed):
            self.gone = True
            return []
        self.gone = self.gone or not data or any(message.closed for message in messages)
        self._heard_s = time.monotonic()
        for message in messages:
            if message.ping is not None and not self.full:
                self._send(frames.pong_frame(message.ping))
        return messages

    def output(self, stream: int, data: bytes) -> None:
        self._send(frames.data_frame(bytes((stream,)) + data))

    def say(self, **said: object) -> None:
        self._send(frames.text_frame(said))

    def _send(self, frame: bytes) -> None:
        if not self.gone:
            self._waiting += frame
            self.flush()

    def flush(self) -> None:
        """Send as much as the connection takes."""
        try:
            while self._waiting and not self.gone:
                del self._waiting[: self.channel.send(self._waiting)]
        except BlockingIOError:
            pass
        except OSError:
            self.gone = True

    def look(self, now_s: float) -> None:
        """Ask whether the user is still there, and notice a loss."""
        if self._waiting:  # it does not read, for which the server has a limit of its own
            self._heard_s = now_s
        elif now_s - self._heard_s > frames.SILENT_S:
            self.gone = True
        elif now_s - self._pinged_s > frames.PING_S:
            self._pinged_s = now_s
            self._send(frames.ping_frame())

    def end(self, patience_s: float) -> None:
        """Send the rest and the end, within this time."""
        self._send(frames.close_frame())
        with contextlib.suppress(OSError, ValueError):
            self.channel.settimeout(patience_s)
            if self._waiting and not self.gone:
                self.channel.sendall(self._waiting)
        self.channel.close()
        self.gone = True


class Relay:
    """Processes with their outputs (a descriptor each, with the stream that it is), their `input`,
    and the peer, if there is one. With `terminal` all of them are that one."""

    def __init__(
        self, outputs: Mapping[int, int], input_: int | None, *, terminal: int | None = None
    ) -> None:
        self._outputs = dict(outputs)
        self._input = input_
        self._terminal = terminal
        self._to_input = bytearray()
        self._input_ends = False
        self.peer: Peer | None = None
        self.active_s = time.monotonic()
        for descriptor in {*outputs, *(() if input_ is None else (input_,))}:
            os.set_blocking(descriptor, False)

    def seen(self, data: bytes) -> None:
        """Output that has passed; for those who keep some of it."""

    def step(self, timeout_s: float, others: Iterable[int] = ()) -> set[int]:
        """Pass on what there is, waiting for `timeout_s` at most; returns those of `others` that
        can be read."""
        poll, others = select.poll(), set(others)
        for descriptor in others:
            poll.register(descriptor, select.POLLIN)
        wanted: dict[int, int] = {}
        peer = self.peer
        if peer is None or not peer.full:
            wanted = dict.fromkeys(self._outputs, select.POLLIN)
        if self._to_input and self._input is not None:
            wanted[self._input] = wanted.get(self._input, 0) | select.POLLOUT
        if peer is not None:
            events = select.POLLOUT if peer.sending else 0
            if len(self._to_input) < _MOST_WAITING_BYTES:
                events |= select.POLLIN
            wanted[peer.channel.fileno()] = events
        for descriptor, events in wanted.items():
            poll.register(descriptor, events)
        ready = dict(poll.poll(max(0.0, timeout_s) * 1000))
        if peer is not None:
            events = ready.get(peer.channel.fileno(), 0)
            peer.look(time.monotonic())
            if events & select.POLLOUT:
                peer.flush()
            if events & ~select.POLLOUT:
                for message in peer.receive():
                    self.take(message)
        for descriptor in [one for one in self._outputs if one in ready]:
            self._read(descriptor)
        self._write()
        return {descriptor for descriptor in others if descriptor in ready}

    def take(self, message: Message) -> None:
        """Carry out a message of the peer."""
        if message.data:
            self.active_s = time.monotonic()
            if self._input is not None and not self._input_ends:
                self._to_input += message.data
        if message.said is not None:
            if message.said.get("eof") is True and not self._input_ends:
                if self._terminal is None:
                    self._input_ends = True
                else:
                    self._to_input += _END_OF_INPUT
            if self._terminal is not None:
                set_size(self._terminal, message.said)

    def _read(self, descriptor: int) -> None:
        try:
            data = os.read(descriptor, frames.PIECE_BYTES)
        except BlockingIOError:
            return
        except OSError:  # of a terminal that no process has open any more
            data = b""
        if not data:
            del self._outputs[descriptor]
            return
        self.active_s = time.monotonic()
        self.seen(data)
        if self.peer is not None:
            self.peer.output(self._outputs[descriptor], data)

    def _write(self) -> None:
        if self._input is None:
            return
        try:
            while self._to_input:
                del self._to_input[: os.write(self._input, self._to_input[: frames.PIECE_BYTES])]
        except BlockingIOError:
            return
        except OSError:  # no process reads it
            self._to_input.clear()
            self._input_ends = True
        if self._input_ends and self._terminal is None:
            os.close(self._input)
            self._input = None

    def drain(self, patience_s: float) -> None:
        """Pass on what processes that have ended left behind, within this time."""
        end_s = time.monotonic() + patience_s
        while self._outputs and (left_s := end_s - time.monotonic()) > 0:
            self.step(min(left_s, 0.05))
            if self.peer is not None and self.peer.gone:
                return


def set_size(terminal: int, said: Mapping[str, object]) -> None:
    """Give a terminal the size that a message names, if it does."""
    rows, columns = said.get("rows"), said.get("columns")
    if type(rows) is not int or type(columns) is not int:
        return
    if 0 < rows < _MOST_ROWS and 0 < columns < _MOST_ROWS:
        with contextlib.suppress(OSError):
            fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
