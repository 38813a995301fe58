"""One port of Hadoop's RPC: what it serves, its logins, and what all connections share."""

import asyncio
import contextlib
import logging
import resource
import socket
import sys
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from google.protobuf.message import DecodeError
from msgspec import Struct

from fairshare.server.access.repeated_messages import INTERVAL_S, RepeatedMessages
from fairshare.yarn.rpc.wire import calls, tokens
from fairshare.yarn.rpc.wire.calls import Handler, Handlers, RpcError, TokenIdentity
from fairshare.yarn.rpc.wire.connection import Connection
from fairshare.yarn.rpc.wire.descriptors import METHODS
from fairshare.yarn.rpc.wire.messages import RequestHeaderProto

_MIB = 1024 * 1024


class RpcLimits(Struct, frozen=True):
    """`frame_bytes`: the longest call; a longer one is refused before it is received. Before the
    login `login_frame_bytes` apply instead.

    `unfinished_bytes`: what calls that are not wholly received may hold over all connections.
    `connections`: open at once. `calls`: of one connection that wait for their answers; the next
    are not read until one of them is answered. `login_s`: from connecting to the first call.
    `frame_s`: to receive one call, and to take one answer. `idle_s`: without a byte, while no call
    is waiting.
    """

    frame_bytes: int = 16 * _MIB
    login_frame_bytes: int = 64 * 1024
    unfinished_bytes: int = 256 * _MIB
    connections: int = 20_000
    calls: int = 100
    login_s: float = 20.0
    frame_s: float = 60.0
    idle_s: float = 120.0


_log = logging.getLogger("fairshare.yarn.rpc")

BACKLOG = 4096
"""Connections that may wait to be accepted: all nodes come at once after a restart."""

_SWEEP_S = 5.0
_MOST_ROUTES = 200
_STOP_S = 5.0


class Route(Struct, frozen=True):
    """What a call of one method needs."""

    name: str
    request: Any
    response: Any
    handler: Handler


class TokenLogins:
    """Logins with tokens of one kind: `key_of` gives the master key of an identifier.

    It takes the parsed identifier message, and returns None where the token is no longer valid.
    """

    def __init__(self, kind: str, key_of: Callable[[Any], bytes | None]) -> None:
        self.kind = kind
        self._key_of = key_of

    def identity(self, identifier: bytes) -> TokenIdentity:
        """The token that has these bytes. DecodeError: they are not an identifier."""
        content = tokens.IDENTIFIERS[self.kind].FromString(identifier)
        return TokenIdentity(self.kind, identifier, content)

    def password_of(self, identifier: bytes) -> bytes | None:
        """The password of a token; None if it is not valid."""
        try:
            key = self._key_of(self.identity(identifier).content)
        except DecodeError:
            return None
        return None if key is None else tokens.password(key, identifier)


class Activity:
    """What one port has done so far."""

    __slots__ = ("calls", "failed_logins", "failures", "logins", "received", "sent", "spent_s")

    def __init__(self) -> None:
        self.calls = self.failures = self.logins = self.failed_logins = 0
        self.received = self.sent = 0  # bytes
        self.spent_s = 0.0


class RpcServer:
    """Serves handlers on one port, in the event loop of `start`.

    With `logins` only clients that hold such a token are served, else the user is who the
    connection names (Hadoop's authentication `simple`).
    """

    def __init__(
        self,
        name: str,
        handlers: Handlers,
        logins: TokenLogins | None = None,
        limits: RpcLimits | None = None,
    ) -> None:
        self.name = name
        self.tokens = logins
        self.limits = limits or RpcLimits()
        self.now_s = time.monotonic
        self.activity = Activity()
        self._handlers = handlers
        self._protocols = {protocol for protocol, _ in handlers}
        self._routes: dict[bytes, Route] = {}
        self._connections: set[Connection] = set()
        self._without_login: dict[Connection, None] = {}  # without login, the oldest first
        self._tasks: set[asyncio.Task[None]] = set()
        self._unfinished_bytes = 0
        self.highest_file = _highest_file()
        self._listener: asyncio.Server | None = None
        self._sweeper: asyncio.Task[None] | None = None
        self._refusals = RepeatedMessages[str](self._log_refusal)

    async def start(self, listener: socket.socket) -> None:
        """Serve on a bound socket."""
        loop = asyncio.get_running_loop()
        self.highest_file = _highest_file()
        self._listener = await loop.create_server(
            lambda: Connection(self), sock=listener, backlog=BACKLOG
        )
        self._sweeper = loop.create_task(self._sweep())

    @property
    def port(self) -> int:
        """The port that is listened on."""
        assert self._listener is not None
        port: int = self._listener.sockets[0].getsockname()[1]
        return port

    def metrics(self) -> dict[str, float]:
        """The activity of the port by the names of Hadoop's RpcMetrics."""
        done = self.activity
        mean_ms = 1_000 * done.spent_s / done.calls if done.calls else 0.0
        return {
            "ReceivedBytes": done.received,
            "SentBytes": done.sent,
            "RpcAuthenticationFailures": done.failed_logins,
            "RpcAuthenticationSuccesses": done.logins,
            "RpcAuthorizationFailures": 0,
            "RpcAuthorizationSuccesses": done.logins,
            "RpcCallSuccesses": done.calls - done.failures,
            "RpcQueueTimeNumOps": done.calls,
            "RpcQueueTimeAvgTime": 0.0,
            "RpcProcessingTimeNumOps": done.calls,
            "RpcProcessingTimeAvgTime": mean_ms,
            "RpcSlowCalls": 0,
            "TotalRequests": done.calls,
            "NumOpenConnections": len(self._connections),
            "CallQueueLength": len(self._tasks),
            "NumDroppedConnections": 0,
        }

    async def stop(self) -> None:
        """Close the port; calls that wait are answered if they end soon, then all is closed."""
        if self._listener is not None:
            self._listener.close()
        if self._sweeper is not None:
            self._sweeper.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._sweeper
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_STOP_S)
        for task in self._tasks:
            task.cancel()
        for connection in list(self._connections):
            connection.abort("the server stops")
        self._refusals.flush()

    # -- for connections --------------------------------------------------------------------------

    def opened(self, connection: Connection, file: int) -> bool:
        """Count a connection; False if there are too many.

        The oldest one that has not logged in makes room for a new one. `file` is the number of its
        open file: numbers near the limit of this process are left for everything else.
        """
        if len(self._connections) >= self.limits.connections or file > self.highest_file:
            reason = f"{len(self._connections)} connections are open, and no more may be"
            self.refused("all", reason)
            if not self._without_login:
                return False
            oldest = next(iter(self._without_login))
            oldest.abort("too many connections")
            self.closed(oldest)
        self._connections.add(connection)
        self._without_login[connection] = None
        return True

    def admitted(self, connection: Connection) -> None:
        """A connection's client has logged in."""
        self._without_login.pop(connection, None)

    def closed(self, connection: Connection) -> None:
        """Forget a connection."""
        self._connections.discard(connection)
        self._without_login.pop(connection, None)

    def reserve(self, size: int) -> bool:
        """Reserve room for a large call that is being received; False if there is none."""
        if self._unfinished_bytes and self._unfinished_bytes + size > self.limits.unfinished_bytes:
            return False
        self._unfinished_bytes += size
        return True

    def release(self, size: int) -> None:
        """Release room for a large call."""
        self._unfinished_bytes -= size

    def refused(self, address: str, reason: str) -> None:
        """Log why a client was refused, without letting it fill the log."""
        self._refusals.add(address, reason)

    def run(self, call: Coroutine[Any, Any, None]) -> None:
        """Run a call that waits."""
        task = asyncio.get_running_loop().create_task(call)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def route(self, named: bytes) -> Route | None:
        """The route that these bytes (a RequestHeaderProto) have named before."""
        return self._routes.get(named)

    def find_route(self, naming: RequestHeaderProto, named: bytes) -> Route:
        """The route of a RequestHeaderProto. Raises RpcError if nothing serves it."""
        protocol, name = naming.declaringClassProtocolName, naming.methodName
        handler = self._handlers.get((protocol, name))
        if handler is None:
            if protocol not in self._protocols:
                raise RpcError(calls.NO_SUCH_PROTOCOL, f"Unknown protocol: {protocol[:200]}")
            raise RpcError(
                calls.NO_SUCH_METHOD,
                f"Unknown method {name[:200]} called on {protocol} protocol.",
            )
        method = METHODS[protocol, name]
        route = Route(name, method.request, method.response, handler)
        if len(self._routes) < _MOST_ROUTES and len(named) < 1024:
            self._routes[named] = route
        return route

    # -- time-outs --------------------------------------------------------------------------------

    async def _sweep(self) -> None:
        flushed_s = self.now_s()
        while True:
            await asyncio.sleep(min(_SWEEP_S, self.limits.login_s / 2, self.limits.idle_s / 2))
            now_s = self.now_s()
            for connection in list(self._connections):
                reason = connection.overdue(now_s)
                if reason:
                    connection.abort(reason)
            if now_s - flushed_s > INTERVAL_S:
                flushed_s = now_s
                self._refusals.flush()

    def _log_refusal(self, reason: str, repeated: int, address: str) -> None:
        more = f", and {repeated - 1} more" if repeated > 1 else ""
        _log.warning("%s: a connection of %s refused: %s%s", self.name, address, reason, more)


def _highest_file() -> int:
    """Nine tenths of the files that this process may have open."""
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if allowed == resource.RLIM_INFINITY else allowed * 9 // 10


def methods_of(protocol: str, handlers: Mapping[str, Handler]) -> dict[tuple[str, str], Handler]:
    """Handlers of one protocol, given by the methods' names, as RpcServer takes them.

    Raises KeyError for a method that the protocol does not have.
    """
    for name in handlers:
        METHODS[protocol, name]
    return {(protocol, name): handler for name, handler in handlers.items()}
