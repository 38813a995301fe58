"""The frames of a conversation with a terminal or a command: those of WebSocket (RFC 6455).

Pure: bytes in, messages out. Must stay light: supervisors use it.

A message is bytes or a text with a JSON object. To the container: bytes are input, and a text has
`rows` and `columns` of the terminal, or `eof`. From the container: the first byte is the stream
(`STDOUT`, `STDERR`), output follows; a text has a `notice` for the user, the `exit` code, or a
`problem`. A command begins with a text that says what to run (`engines.local.sessions.command`).
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

STDOUT, STDERR = 1, 2
"""The streams of output; a terminal has only the first one."""

MOST_BYTES = 256 * 1024
"""Of one frame: a command with its arguments is the largest."""

PIECE_BYTES = 16 * 1024
"""Of input and output in one frame."""

PING_S = 15.0
"""The interval at which the container's side asks whether the other one is still there."""

SILENT_S = 45.0
"""A connection without a byte for this time is lost."""

LOST = 129
"""The exit code of a command that ended with its container, or with the connection."""

_TEXT, _BINARY, _CLOSE, _PING, _PONG = 1, 2, 8, 9, 10
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Malformed(Exception):
    """The other side does not speak this protocol."""


class Message(NamedTuple):
    """A decoded frame: `data` of a stream, `said` (a JSON object), a `ping` to answer, or the
    end."""

    data: bytes = b""
    said: dict[str, Any] | None = None
    ping: bytes | None = None
    closed: bool = False


def accept_key(key: bytes) -> bytes:
    """The proof that a server has understood a handshake's Sec-WebSocket-Key (RFC 6455, 4.2.2).

    >>> accept_key(b"dGhlIHNhbXBsZSBub25jZQ==")
    b's3pPLMBiTxaQ9kYGzzhZRbK+xOo='
    """
    return base64.b64encode(hashlib.sha1(key + _GUID, usedforsecurity=False).digest())


def data_frame(data: bytes, mask: bytes = b"") -> bytes:
    """A frame with bytes; those of a client have a `mask` of four random bytes."""
    return _frame(_BINARY, data, mask)


def text_frame(said: Mapping[str, object], mask: bytes = b"") -> bytes:
    """A frame with a JSON object."""
    return _frame(_TEXT, json.dumps(said).encode(), mask)


def ping_frame(mask: bytes = b"") -> bytes:
    """A frame that the other side answers."""
    return _frame(_PING, b"", mask)


def pong_frame(ping: bytes, mask: bytes = b"") -> bytes:
    """The answer to a ping."""
    return _frame(_PONG, ping, mask)


def close_frame(mask: bytes = b"") -> bytes:
    """The last frame."""
    return _frame(_CLOSE, (1000).to_bytes(2, "big"), mask)


def _frame(kind: int, data: bytes, mask: bytes) -> bytes:
    sign = 0x80 if mask else 0
    if len(data) < 126:
        head = bytes((0x80 | kind, sign | len(data)))
    elif len(data) < 1 << 16:
        head = bytes((0x80 | kind, sign | 126)) + len(data).to_bytes(2, "big")
    else:
        head = bytes((0x80 | kind, sign | 127)) + len(data).to_bytes(8, "big")
    return head + mask + _masked(data, mask)


def _masked(data: bytes, mask: bytes) -> bytes:
    if not mask:
        return data
    times = -(-len(data) // 4)
    whole = int.from_bytes(data, "big") ^ int.from_bytes((mask * times)[: len(data)], "big")
    return whole.to_bytes(len(data), "big")


class Decoder:
    """Frames out of the bytes of one direction; `masked`: those of a client."""

    def __init__(self, *, masked: bool) -> None:
        self._masked = masked
        self._held = bytearray()
        self._of_bytes = False  # the message that goes on

    def feed(self, data: bytes) -> list[Message]:
        """The messages that are complete now; raises Malformed."""
        self._held += data
        found = []
        while (frame := self._next()) is not None:
            found.append(self._message(*frame))
        return found

    def _next(self) -> tuple[int, bool, bytes] | None:
        held = self._held
        if len(held) < 2:
            return None
        if held[0] & 0x70 or bool(held[1] & 0x80) != self._masked:
            raise Malformed("a frame has unknown bits, or the wrong mask")
        size, at = held[1] & 0x7F, 2
        if size > 125:
            at = 4 if size == 126 else 10
            if len(held) < at:
                return None
            size = int.from_bytes(held[2:at], "big")
        if size > MOST_BYTES:
            raise Malformed(f"a frame has {size} bytes, and at most {MOST_BYTES} are taken")
        mask_bytes = 4 if self._masked else 0
        if len(held) < at + mask_bytes + size:
            return None
        mask = bytes(held[at : at + mask_bytes])
        content = _masked(bytes(held[at + mask_bytes : at + mask_bytes + size]), mask)
        whole, kind = bool(held[0] & 0x80), held[0] & 0x0F
        del held[: at + mask_bytes + size]
        return kind, whole, content

    def _message(self, kind: int, whole: bool, content: bytes) -> Message:
        if kind == 0 and self._of_bytes:
            self._of_bytes = not whole
            return Message(data=content)
        if kind == _BINARY:
            self._of_bytes = not whole
            return Message(data=content)
        if kind == _CLOSE:
            return Message(closed=True)
        if kind == _PING:
            return Message(ping=content)
        if kind == _PONG:
            return Message()
        if kind != _TEXT or not whole:
            raise Malformed("a frame is of an unknown kind, or a text in several parts")
        try:
            said = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise Malformed("a text is not JSON") from error
        if not isinstance(said, dict):
            raise Malformed("a text is not a JSON object")
        return Message(said=said)
