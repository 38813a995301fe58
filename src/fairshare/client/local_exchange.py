"""Owns exchanges with a server of this machine: plain HTTP on loopback, or a Unix socket.

Python's own `http.client` does them: its import takes a quarter of the time of httpx's, which was
half of what a short command cost (decision 16). TLS and proxies are `httpx_exchange`'s.
"""

import contextlib
import http.client
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
from fairshare.wording import cause

MOST_IDLE = 20
"""The maximum of connections that are kept for later requests, as many as httpx keeps."""


def is_local(url: str) -> bool:
    """Whether a server can be reached without TLS and without a proxy."""
    return is_loopback(url) and not url.startswith("https:")


class LocalExchange:
    """Carries requests to one server. Each thread that sends has a connection meanwhile."""

    def __init__(self, url: str, token: str | None) -> None:
        self._socket_path = url.removeprefix(UNIX) if url.startswith(UNIX) else None
        address = urlsplit(http_address(url))
        self._host = address.hostname or "localhost"
        self._port = address.port or http.client.HTTP_PORT
        self._base = address.path.rstrip("/") + BASE
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._idle: list[http.client.HTTPConnection] = []
        self._lock = threading.Lock()

    def send(self, request: Request) -> Reply:
        """The answer to a request; raises ExchangeFailed."""
        connection = self._connection()
        try:
            reply = self._exchanged(connection, request)
        except TimeoutError as error:
            raise AnsweredTooLate(cause(error)) from error
        except (http.client.HTTPException, OSError, ValueError) as error:
            raise ExchangeFailed(cause(error) or type(error).__name__) from error
        with self._lock:
            keep = connection.sock is not None and len(self._idle) < MOST_IDLE
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

    def _connection(self) -> http.client.HTTPConnection:
        """An idle connection, or a new one. One that the server has closed has its end to read."""
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return self._connected()
            if not select.select([connection.sock], [], [], 0)[0]:
                return connection
            connection.close()

    def _connected(self) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection(self._host, self._port, timeout=CONNECT_TIMEOUT_S)
        try:
            if self._socket_path is None:
                connection.connect()
            else:
                connection.sock = _unix_socket(self._socket_path)
        except OSError as error:
            connection.close()
            raise NotConnected(cause(error)) from error
        return connection

    def _exchanged(self, connection: http.client.HTTPConnection, request: Request) -> Reply:
        connection.sock.settimeout(request.read_s)
        headers = dict(self._headers)
        if request.media_type:
            headers["Content-Type"] = request.media_type
        query = f"?{urlencode(request.parameters)}" if request.parameters else ""
        answered = False
        try:
            # A server that refuses a large body answers before it has read all of it.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.request(
                    request.method, f"{self._base}{request.path}{query}", request.content, headers
                )
            response = connection.getresponse()
            content = response.read()
            answered = True
        finally:
            if not answered:
                connection.close()
        found = {name.lower(): value for name, value in response.getheaders()}
        return Reply(response.status, found, content)


def _unix_socket(path: str) -> socket.socket:
    connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connected.settimeout(CONNECT_TIMEOUT_S)
    try:
        connected.connect(path)
    except OSError:
        connected.close()
        raise
    return connected
