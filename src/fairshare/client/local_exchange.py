"""Owns exchanges with a server of this machine: plain HTTP on loopback, or a Unix socket.

`plain_http` reads and writes: the import of Python's `http.client` was a tenth of what a
short command costs, that of httpx half of it (decision 16). TLS and proxies are `httpx_exchange`'s.
"""

import select
import socket
import threading
from urllib.parse import urlencode, urlsplit

from fairshare.client.discovery import UNIX, is_loopback
from fairshare.client.exchange import (
    BASE,
    CONNECT_TIMEOUT_S,
    AnsweredTooLate,
    ExchangeFailed,
    NotConnected,
    Reply,
    Request,
    http_address,
)
from fairshare.client.plain_http import NotHttp, PlainConnection
from fairshare.client.server_account import check_account, connected
from fairshare.wording import cause

HTTP_PORT = 80

MOST_IDLE = 20
"""The maximum of connections that are kept for later requests, as many as httpx keeps."""


def is_local(url: str) -> bool:
    """Whether a server can be reached without TLS and without a proxy."""
    return is_loopback(url) and not url.startswith("https:")


class LocalExchange:
    """Carries requests to one server. Each thread that sends has a connection meanwhile."""

    def __init__(self, url: str, token: str | None) -> None:
        self._url, self._has_token = url, bool(token)
        self._socket_path = url.removeprefix(UNIX) if url.startswith(UNIX) else None
        address = urlsplit(http_address(url))
        self._host = address.hostname or "localhost"
        self._port = address.port or HTTP_PORT
        self._base = address.path.rstrip("/") + BASE
        host = f"[{self._host}]" if ":" in self._host else self._host
        self._headers = {
            "Host": host if self._port == HTTP_PORT else f"{host}:{self._port}",
            "Accept-Encoding": "identity",
        }
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._idle: list[PlainConnection] = []
        self._lock = threading.Lock()

    def send(self, request: Request) -> Reply:
        """The answer to a request; raises ExchangeFailed."""
        connection = self._connection()
        try:
            if request.guarded and self._socket_path is None:
                check_account(connection.channel, self._url)
            reply = self._exchanged(connection, request)
        except TimeoutError as error:
            raise AnsweredTooLate(cause(error)) from error
        except (NotHttp, OSError) as error:
            raise ExchangeFailed(cause(error) or type(error).__name__) from error
        finally:
            with self._lock:
                keep = connection.usable and len(self._idle) < MOST_IDLE
                if keep:
                    self._idle.append(connection)
            if not keep:
                connection.close()
        return reply

    def close(self) -> None:
        """Close the sockets."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _connection(self) -> PlainConnection:
        """An idle connection, or a new one. One that the server has closed has its end to read."""
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return self._connected()
            if not _is_readable(connection):
                return connection
            connection.close()

    def _connected(self) -> PlainConnection:
        try:
            if self._socket_path is not None:
                return PlainConnection(_unix_socket(self._socket_path))
            made = connected(self._host, self._port, self._url, checked=self._has_token)
        except OSError as error:
            raise NotConnected(cause(error)) from error
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return PlainConnection(made)

    def _exchanged(self, connection: PlainConnection, request: Request) -> Reply:
        headers = dict(self._headers)
        if request.media_type:
            headers["Content-Type"] = request.media_type
        query = f"?{urlencode(request.parameters)}" if request.parameters else ""
        target = f"{self._base}{request.path}{query}"
        head, body = connection.exchange(
            request.method, target, headers, request.content, request.read_s
        )
        return Reply(head.status, head.headers, body)


def _is_readable(connection: PlainConnection) -> bool:
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))


def _unix_socket(path: str) -> socket.socket:
    connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connected.settimeout(CONNECT_TIMEOUT_S)
    try:
        connected.connect(path)
    except OSError:
        connected.close()
        raise
    return connected
