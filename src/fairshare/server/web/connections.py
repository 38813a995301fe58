"""The limits of one connection: the time to receive a request and to send an answer, the
connections per address, the memory for bodies and for large answers.

uvicorn reads requests and writes answers; this module adds the limits that it lacks. `[limits]` of
fairshare.toml sets the values.
"""

import asyncio
import contextlib
import socket
import struct
from collections import Counter
from typing import Any, ClassVar

from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Scope, Send
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.h11_impl import H11Protocol

from fairshare.server.access.proxies import Proxies
from fairshare.server.web.answers import refusal
from fairshare.server.web.limits import CROWDED, caller_of_scope
from fairshare.server.web.unix_socket import peer_address
from fairshare.server.web.websocket import SWITCHES
from fairshare.settings.limits import LimitSettings

PIECE_BYTES = 64 * 1024
"""The bytes of an answer that are written to the socket at once."""

BODY_BYTES_PER_S = 10_000
"""The least speed of a body: its time limit grows by a second for each of these."""

GRACE_S = 1.0
"""How long a new connection is not closed in favour of another, so that its request can arrive."""

RESERVE = 100
"""How many connections above the limit have that grace period; beyond them the oldest is closed at
once."""

SWITCHING = 101

ABANDON = "fairshare.abandon"
"""In the scope of a request: `Connection.abandon`."""

_AT_ONCE = struct.pack("ii", 1, 0)
_LATE = (
    b"HTTP/1.1 408 Request Timeout\r\ncontent-type: text/plain; charset=utf-8\r\n"
    b"connection: close\r\ncontent-length: 41\r\n\r\nthe headers of the request took too long\n"
)


class InMemory:
    """The bytes that each caller holds in memory, of one kind: at most `most_mb`, or a single
    larger item."""

    def __init__(self, most_mb: int) -> None:
        self._most = most_mb * 1024 * 1024
        self._bytes: Counter[str] = Counter()

    def reserve(self, caller: str, size: int, *, own: int = 0) -> bool:
        """Reserve further bytes; False if the caller holds too many. `own`: the bytes already
        reserved by the same request, which may have any size while it is the only one.

        >>> bodies = InMemory(1)
        >>> bodies.reserve("ann", 2_000_000), bodies.reserve("ann", 5, own=2_000_000)
        (True, True)
        >>> bodies.reserve("ann", 1), bodies.reserve("bob", 1)
        (False, True)
        """
        before = self._bytes[caller]
        if before > own and before + size > self._most:
            return False
        self._bytes[caller] += size
        return True

    def release(self, caller: str, size: int) -> None:
        """Release bytes."""
        self._bytes[caller] -= size
        if not self._bytes[caller]:
            del self._bytes[caller]


class Crowd:
    """The open connections of one server, and the bytes that their requests and answers hold.

    `most` is how many may be open in all, `settings.connections_per_address` of one address that
    is not a named proxy. `answers` are large ones that wait for their readers, `bodies` those of
    requests that are not answered yet.
    """

    def __init__(self, settings: LimitSettings, proxies: Proxies, most: int) -> None:
        self.settings = settings
        self._proxies = proxies
        self._most = most
        self._open: dict[str, dict[Connection, None]] = {}
        self._total = 0
        self.answers = InMemory(settings.answers_mb)
        self.bodies = InMemory(settings.bodies_mb)

    def enter(self, connection: "Connection") -> bool:
        """Count a connection. If it exceeds the limit, close the oldest idle one, of the same
        address or of the address with the most; False if none is idle."""
        address = connection.address
        mine = self._open.setdefault(address, {})
        mine[connection] = None
        self._total += 1
        per_address = self.settings.connections_per_address
        if len(mine) > per_address and not self._proxies.name(address):
            return self._make_room(mine, len(mine) > per_address + RESERVE)
        if self._total > self._most:
            largest = max(self._open.values(), key=len)
            return self._make_room(largest, self._total > self._most + RESERVE)
        return True

    def _make_room(self, connections: "dict[Connection, None]", at_once: bool) -> bool:
        for one in connections:
            if one.idle and (at_once or one.age_s > GRACE_S):
                one.cut()
                self.leave(one)
                return True
        return False

    def leave(self, connection: "Connection") -> None:
        """Stop counting a connection."""
        mine = self._open.get(connection.address, {})
        if connection in mine:
            del mine[connection]
            self._total -= 1
            if not mine:
                del self._open[connection.address]


class Connection(H11Protocol):
    """uvicorn's connection with limits on time and memory."""

    crowd: ClassVar[Crowd]
    identity_key: ClassVar[str]

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._inner = self.app
        self.app = self._answer
        self._timer: asyncio.TimerHandle | None = None
        self._began_s = self.loop.time()
        self._admitted = True
        self._switched = False

    @property
    def address(self) -> str:
        """Of the peer."""
        return self.client[0] if self.client else ""

    @property
    def age_s(self) -> float:
        """How long it is open."""
        return self.loop.time() - self._began_s

    @property
    def idle(self) -> bool:
        """Whether no request is being served."""
        return self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """As in uvicorn; also counts the connection and starts its timer."""
        super().connection_made(transport)
        peer = peer_address(transport)
        if peer:
            self.client = (peer, 0)
        self._admitted = self.crowd.enter(self)
        self._expect_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """As in uvicorn; also stops counting the connection."""
        self._expect_nothing()
        self._unset_keepalive_if_required()
        self.crowd.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """As in uvicorn; an incomplete request must become complete in time. After `switch` the
        bytes are the body of the request that asked for it."""
        if self._switched:
            self.cycle.body += data
            if len(self.cycle.body) > HIGH_WATER_LIMIT:
                self.flow.pause_reading()
            self.cycle.message_event.set()
            return
        super().data_received(data)
        if self.idle and self._timer is None and not self.transport.is_closing():
            self._expect_request()

    def timeout_keep_alive_handler(self) -> None:
        """As in uvicorn, but data without a reader is discarded."""
        if self.transport.get_write_buffer_size():
            self.cut()
        else:
            super().timeout_keep_alive_handler()

    def switch(self, start: Message) -> None:
        """Answer 101: from now on both sides send bytes of another protocol (RFC 9110, 7.8). The
        bodies of the answer are written as they are, and the connection ends with them."""
        lines = [b"HTTP/1.1 101 Switching Protocols"]
        lines += [name + b": " + value for name, value in start.get("headers", ())]
        self.transport.write(b"\r\n".join([*lines, b"", b""]))
        self._switched = self.cycle.response_started = True
        self.flow.resume_reading()
        if self.conn.trailing_data[0]:
            self.data_received(self.conn.trailing_data[0])

    async def write_switched(self, message: Message) -> None:
        """Write bytes of the other protocol, when the peer has taken earlier ones."""
        if self.flow.write_paused and not self.cycle.disconnected:
            await self.flow.drain()
        if self.cycle.disconnected:
            return
        self.transport.write(message.get("body", b""))
        if not message.get("more_body", False):
            self.cycle.response_complete = True
            self.transport.close()

    def _should_upgrade(self) -> bool:
        """Whether uvicorn hands the connection over: never, since a request for another protocol is
        answered like any other, with 101 if the application agrees."""
        return False

    def abandon(self) -> None:
        """Close the connection behind what was sent, where an answer cannot be completed."""
        self.cycle.disconnected = True
        self.transport.close()

    def cut(self) -> None:
        """Abort the connection, and discard what the peer has not read, also in the kernel's
        buffers."""
        found = self.transport.get_extra_info("socket")
        if found is not None:
            with contextlib.suppress(OSError):
                found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        self.transport.abort()

    def _expect_request(self) -> None:
        self._timer = self.loop.call_later(self.crowd.settings.header_s, self._too_late)

    def _expect_nothing(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_late(self) -> None:
        self._timer = None
        if not self.idle or self.transport.is_closing():
            return
        if self.conn.trailing_data[0] and not self.transport.get_write_buffer_size():
            self.transport.write(_LATE)
            self.transport.close()
        else:
            self.cut()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request within the limits."""
        self._expect_nothing()
        scope[CROWDED] = not self._admitted
        scope[ABANDON] = self.abandon
        cycle = self.cycle
        sender = _Sender(self, scope, send)
        caller, received = "", 0
        try:
            if is_ambiguous(scope):
                await _AMBIGUOUS(scope, receive, sender)
                return
            began_s = self.loop.time()

            async def receive_in_time() -> Message:
                nonlocal caller, received
                if not cycle.more_body or cycle.response_started:
                    return await receive()  # this waits for the end of the connection
                allowed_s = self.crowd.settings.body_s + received / BODY_BYTES_PER_S
                try:
                    async with asyncio.timeout_at(began_s + allowed_s):
                        message = await receive()
                except TimeoutError:
                    raise HTTPException(
                        408, "the body took too long", {"Connection": "close"}
                    ) from None
                caller = caller or caller_of_scope(scope, self.identity_key)
                size = len(message.get("body", b""))
                if size and not self.crowd.bodies.reserve(caller, size, own=received):
                    raise HTTPException(429, _TOO_MANY_BODIES, {"Retry-After": "1"})
                received += size
                return message

            await self._inner(scope, receive_in_time, sender)
        except asyncio.CancelledError:
            # The server ends. Whether the call was carried out is not known, which a connection
            # without an answer says; uvicorn would answer 500.
            self.abandon()
        finally:
            sender.finish()
            if received:
                self.crowd.bodies.release(caller, received)
            if self.transport.is_closing() and self.transport.get_write_buffer_size():
                # A closing connection waits for its reader, without limit unless it is aborted.
                self.loop.call_later(self.crowd.settings.send_s, self.cut)


class _Sender:
    """Sends one answer: in pieces, each within a time."""

    def __init__(self, connection: Connection, scope: Scope, send: Send) -> None:
        self._connection = connection
        self._crowd = connection.crowd
        self._scope = scope
        self._send = send
        self._held: Message | None = None
        self._refused = False
        self._caller = ""
        self._counted = 0
        self._switched = False

    async def __call__(self, message: Message) -> None:
        if self._refused:
            return
        if message["type"] == "http.response.start" and message["status"] == SWITCHING:
            if not self._scope.get(SWITCHES):
                self._refused = True
                await _UNASKED(self._scope, _nothing, self._in_time)
                return
            self._switched = True
            self._send = self._connection.write_switched
            self._connection.switch(message)
            return
        if self._switched:
            await self._in_time(message)
            return
        if message["type"] == "http.response.start":
            if _length(message) > PIECE_BYTES and self._scope["method"] != "HEAD":
                self._held = message
            else:
                await self._in_time(message)
            return
        body = message.get("body", b"")
        if self._held is not None:
            start, self._held = self._held, None
            if len(body) > PIECE_BYTES and not self._counts(len(body)):
                await _TOO_MUCH(self._scope, _nothing, self._in_time)
                self._refused = True
                return
            await self._in_time(start)
        if len(body) <= PIECE_BYTES or self._scope["method"] == "HEAD":
            await self._in_time(message)
            return
        more = message.get("more_body", False)
        view = memoryview(body)
        for at in range(0, len(body), PIECE_BYTES):
            last = at + PIECE_BYTES >= len(body)
            piece = bytes(view[at : at + PIECE_BYTES])
            await self._in_time({**message, "body": piece, "more_body": more or not last})

    def finish(self) -> None:
        """Release what the answer still holds."""
        if self._counted:
            self._crowd.answers.release(self._caller, self._counted)
            self._counted = 0

    def _counts(self, size: int) -> bool:
        self._caller = caller_of_scope(self._scope, self._connection.identity_key)
        if not self._crowd.answers.reserve(self._caller, size):
            return False
        self._counted = size
        return True

    async def _in_time(self, message: Message) -> None:
        connection = self._connection
        if not connection.flow.write_paused:
            await self._send(message)
            return
        try:
            async with asyncio.timeout(self._crowd.settings.send_s):
                await self._send(message)
        except TimeoutError:
            # The application sees a disconnected client.
            connection.cut()
            connection.cycle.disconnected = True
            connection.cycle.message_event.set()


def is_ambiguous(scope: Scope) -> bool:
    """Whether the headers state the length of the body in two ways, which a proxy in front of this
    server may interpret differently (RFC 9112, 6.1).

    >>> is_ambiguous({"headers": [(b"content-length", b"5"), (b"transfer-encoding", b"chunked")]})
    True
    """
    names = {name for name, _ in scope["headers"]}
    return b"content-length" in names and b"transfer-encoding" in names


def connection_class(crowd: Crowd, identity_key: str) -> type[asyncio.Protocol]:
    """The protocol class of a server's connections."""
    return type("_Connection", (Connection,), {"crowd": crowd, "identity_key": identity_key})


def _length(start: Message) -> int:
    for name, value in start.get("headers", ()):
        if name.lower() == b"content-length":
            return int(value)
    return 0


async def _nothing() -> Message:
    return {"type": "http.disconnect"}


_AMBIGUOUS = refusal(
    400,
    "bad-request",
    "a request has a Content-Length or a Transfer-Encoding, never both",
    {"Connection": "close"},
)
_TOO_MANY_BODIES = (
    "the bodies of your other requests are not settled yet: wait for their answers"
    " ([limits] in fairshare.toml says how much: bodies_mb)"
)
_UNASKED = refusal(502, "bad-answer", "what is passed on here asks for another protocol")
_TOO_MUCH = refusal(
    429,
    "too-much-in-flight",
    "you have not taken the answers to your earlier requests yet: read them first, or ask for less"
    " ([limits] in fairshare.toml says how much: answers_mb)",
    {"Retry-After": "1"},
)
