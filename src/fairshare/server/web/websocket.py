"""WebSockets (RFC 6455) as far as this server uses them: an answer that sends texts until they end
or the client goes.

What a client sends is not read, apart from pings and its goodbye.py`.
"""

import asyncio
import base64
import binascii
import contextlib
import logging
import struct
from collections.abc import AsyncIterator, Iterator
from typing import Final

from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from fairshare.api.frames import accept_key
from fairshare.errors import FairshareError
from fairshare.server.web.answers import refusal

TEXT, CLOSE, PING, PONG = 0x1, 0x8, 0x9, 0xA
NORMAL, PROTOCOL_ERROR = 1000, 1002

SWITCHES: Final = "fairshare.switches"
"""Key in the scope of a request whose answer may be 101: no other answer switches the protocol,
such as one of a master's page that is passed on."""

PING_INTERVAL_S = 20.0
"""How often a silent stream is pinged, so that no proxy takes it for dead."""
GOODBYE_S = 5.0
"""How long the client's goodbye is awaited."""
MOST_INBOUND_BYTES = 64 * 1024

_log = logging.getLogger("fairshare.access")


class TextStream:
    """An answer, as Starlette calls it: one message for each text; empty texts are left out.

    `texts` yields at least once a second, so that a client that has gone is noticed.
    """

    def __init__(self, texts: AsyncIterator[str]) -> None:
        self._texts = texts
        self._gone = asyncio.Event()
        self._inbound = Inbound()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        key = asked_key(scope)
        if not key:
            needed = {"Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
            message = "this path speaks WebSocket, version 13: ask for it with Upgrade: websocket"
            await refusal(426, "upgrade-required", message, needed)(scope, receive, send)
            return
        headers = [
            (b"upgrade", b"websocket"),
            (b"connection", b"Upgrade"),
            (b"sec-websocket-accept", accept_key(key)),
        ]
        scope[SWITCHES] = True
        await send({"type": "http.response.start", "status": 101, "headers": headers})
        reading = asyncio.create_task(self._read(receive, send))
        try:
            if not await self._send_texts(send):
                return  # without a goodbye, from which the client sees that there was more
            await _send(send, frame(CLOSE, struct.pack(">H", NORMAL)))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(GOODBYE_S):
                    await self._gone.wait()
        finally:
            reading.cancel()
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send_texts(self, send: Send) -> bool:
        """Send all texts, or until the client has gone; False if there is an error among them."""
        loop = asyncio.get_running_loop()
        last_s = loop.time()
        try:
            async for text in self._texts:
                if self._gone.is_set():
                    break
                if text:
                    await _send(send, frame(TEXT, text.encode()))
                elif loop.time() - last_s < PING_INTERVAL_S:
                    continue
                else:
                    await _send(send, frame(PING, b""))
                last_s = loop.time()
        except FairshareError as error:
            _log.info("a stream ended: %s", error)
            await _send(send, frame(TEXT, f"fairshare: {error}\n".encode()))
            return False
        return True

    async def _read(self, receive: Receive, send: Send) -> None:
        """Answer pings, until the client has said goodbye or gone."""
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                break
            try:
                frames = list(self._inbound.feed(message.get("body", b"")))
            except ValueError as error:
                reason = struct.pack(">H", PROTOCOL_ERROR) + str(error).encode()
                await _send(send, frame(CLOSE, reason))
                break
            for kind, payload in frames:
                if kind == PING:
                    await _send(send, frame(PONG, payload))
            if any(kind == CLOSE for kind, _ in frames):
                break
        self._gone.set()


class Inbound:
    """Takes apart what a client sends."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """The kinds and contents of the frames that are complete now; raises ValueError for what
        no client may send, or that is larger than anything that is expected here."""
        self._buffer += data
        while (found := self._next()) is not None:
            yield found

    def _next(self) -> tuple[int, bytes] | None:
        buffer = self._buffer
        if len(buffer) < 2:
            return None
        if not buffer[1] & 0x80:
            raise ValueError("a frame of a client is masked")
        length, start = buffer[1] & 0x7F, 2
        if length == 126:
            length, start = int.from_bytes(buffer[2:4], "big"), 4
        elif length == 127:
            length, start = int.from_bytes(buffer[2:10], "big"), 10
        if len(buffer) < start:
            return None
        if length > MOST_INBOUND_BYTES:
            raise ValueError("a frame is too large")
        end = start + 4 + length
        if len(buffer) < end:
            return None
        kind, mask = buffer[0] & 0x0F, bytes(buffer[start : start + 4])
        masked = bytes(buffer[start + 4 : end])
        del buffer[:end]
        return kind, bytes(byte ^ mask[at % 4] for at, byte in enumerate(masked))


def asked_key(scope: Scope) -> bytes:
    """The key of a request for a WebSocket; empty for any other request."""
    headers = Headers(scope=scope)
    key = headers.get("sec-websocket-key", "").encode("latin-1")
    if (
        scope["method"] != "GET"
        or headers.get("upgrade", "").lower() != "websocket"
        or headers.get("sec-websocket-version") != "13"
    ):
        return b""
    try:
        return key if len(base64.b64decode(key, validate=True)) == 16 else b""
    except binascii.Error:
        return b""


def frame(kind: int, payload: bytes) -> bytes:
    """One whole message as a server sends it.

    >>> frame(TEXT, b"Hello")
    b'\\x81\\x05Hello'
    """
    length = len(payload)
    if length < 126:
        head = struct.pack(">BB", 0x80 | kind, length)
    elif length < 1 << 16:
        head = struct.pack(">BBH", 0x80 | kind, 126, length)
    else:
        head = struct.pack(">BBQ", 0x80 | kind, 127, length)
    return head + payload


async def _send(send: Send, content: bytes) -> None:
    await send({"type": "http.response.body", "body": content, "more_body": True})
