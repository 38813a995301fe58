"""The client's side of a session in a container: the handshake of WebSocket, and its messages.

Proxies of the environment are not used.
"""

import base64
import contextlib
import os
import select
import socket
import ssl
from typing import Any, Literal
from urllib.parse import SplitResult, urlencode, urlsplit

import msgspec

from fairshare.api import frames
from fairshare.api.cluster import Refusal
from fairshare.api.frames import Decoder, Malformed, Message
from fairshare.api.routes import BASE
from fairshare.client.discovery import UNIX, Server
from fairshare.client.errors import START_ONE, AnswerNotUnderstood, Refused, ServerUnreachable
from fairshare.client.exchange import READ_TIMEOUT_S, OtherAccount, connected, http_address, segment
from fairshare.client.plain_http import Answers, Ended, Head, NotHttp, request_head
from fairshare.documents.ready import ready
from fairshare.wording import cause

_MOST_REFUSAL_BYTES = 64 * 1024
_LATER = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class Session:
    """A connection with a container. `lost`: it has ended without a last message."""

    def __init__(self, connection: socket.socket, early: bytes) -> None:
        connection.setblocking(False)
        self.lost = False
        self._connection = connection
        self._decoder = Decoder(masked=False)
        self._early = early
        self._waiting = bytearray()

    def close(self) -> None:
        """End the session."""
        self._connection.close()

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def fileno(self) -> int:
        """For select and poll."""
        return self._connection.fileno()

    @property
    def sending(self) -> bool:
        """Whether something waits to be sent."""
        return bool(self._waiting)

    def send(self, data: bytes) -> None:
        """Send input."""
        for at in range(0, len(data), frames.PIECE_BYTES):
            self._send(frames.data_frame(data[at : at + frames.PIECE_BYTES], os.urandom(4)))

    def say(self, **said: object) -> None:
        """Send a text."""
        self._send(frames.text_frame(said, os.urandom(4)))

    def _send(self, frame: bytes) -> None:
        self._waiting += frame
        self.flush()

    def flush(self) -> None:
        """Send as much as the connection takes."""
        try:
            while self._waiting:
                del self._waiting[: self._connection.send(self._waiting)]
        except _LATER:
            pass
        except OSError:
            self.lost = True

    def receive(self) -> list[Message]:
        """All that has come; pings are answered."""
        messages: list[Message] = []
        try:
            messages += self._decoder.feed(self._early)
            self._early = b""
            # TLS may hold decoded bytes, of which poll knows nothing: read until there are none.
            while data := self._connection.recv(64 * 1024):
                messages += self._decoder.feed(data)
                if not isinstance(self._connection, ssl.SSLSocket):
                    break
            self.lost = not data
        except _LATER:
            pass
        except OSError:
            self.lost = True
        except Malformed as error:
            raise AnswerNotUnderstood(f"the session was broken off: {error}") from error
        for message in messages:
            if message.ping is not None:
                self._send(frames.pong_frame(message.ping, os.urandom(4)))
        return messages

    def wait(self, others: "dict[int, int]", timeout_s: float | None = None) -> set[int]:
        """Wait until something can be read, or was sent; `others` are further descriptors with
        their events. Returns what is ready."""
        if self._early:
            return {self.fileno()}
        poll = select.poll()
        poll.register(self.fileno(), select.POLLIN | (select.POLLOUT if self._waiting else 0))
        for descriptor, events in others.items():
            poll.register(descriptor, events)
        return {one for one, _ in poll.poll(None if timeout_s is None else timeout_s * 1000)}


def open_session(server: Server, container: str, kind: Literal["exec", "terminal"]) -> Session:
    """Connect with a running container: with a new command in it, or with the terminal that it has.
    Raises Refused, ServerUnreachable and AnswerNotUnderstood."""
    url = urlsplit(http_address(server.url))
    key = base64.b64encode(os.urandom(16)).decode()
    with contextlib.ExitStack() as opened:
        try:
            connection = _connected(server.url, url, opened)
            connection.sendall(
                _handshake(server, url, f"/containers/{segment(container)}/{kind}", key)
            )
            answers = Answers(connection)
            head = _head(answers, server.url)
        except OtherAccount as error:
            raise ServerUnreachable(str(error), server.url) from error
        except (OSError, NotHttp) as error:
            raise ServerUnreachable(
                f"no session with {server.url} ({cause(error)}): {START_ONE}", server.url
            ) from error
        if head.status != 101:
            raise _refused(answers, head, server.url)
        if head.headers.get("sec-websocket-accept") != frames.accept_key(key.encode()).decode():
            raise AnswerNotUnderstood(f"what answers at {server.url} begins no session")
        opened.pop_all()
        return Session(connection, answers.rest)


def _connected(server: str, url: SplitResult, opened: contextlib.ExitStack) -> socket.socket:
    if server.startswith(UNIX):
        connection = socket.socket(socket.AF_UNIX)
        opened.callback(connection.close)
        connection.settimeout(READ_TIMEOUT_S)
        connection.connect(server.removeprefix(UNIX))
        return connection
    host, port = url.hostname or "", url.port or (443 if url.scheme == "https" else 80)
    connection = connected(host, port, server, checked=True)
    opened.callback(connection.close)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if url.scheme == "https":
        connection = _trusted().wrap_socket(connection, server_hostname=host)
        opened.callback(connection.close)
    connection.settimeout(READ_TIMEOUT_S)
    return connection


def _handshake(server: Server, url: SplitResult, path: str, key: str) -> bytes:
    user = server.user()
    query = f"?{urlencode({'user': user})}" if user else ""
    headers = {
        "Host": url.netloc,
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": key,
    }
    if server.token:
        headers["Authorization"] = f"Bearer {server.token}"
    return request_head("GET", f"{url.path}{BASE}{path}{query}", headers)


def _trusted() -> ssl.SSLContext:
    if os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR"):
        return ssl.create_default_context()
    import certifi  # as httpx

    return ssl.create_default_context(cafile=certifi.where())


def _head(answers: Answers, url: str) -> Head:
    try:
        return answers.head()
    except Ended:
        raise OSError("the connection was closed") from None
    except NotHttp as error:
        raise AnswerNotUnderstood(f"what answers at {url} does not speak HTTP") from error


def _refused(answers: Answers, head: Head, url: str) -> Exception:
    body = b""
    with contextlib.suppress(OSError, NotHttp):
        body = answers.body(head, "GET", _MOST_REFUSAL_BYTES)
    try:
        answer = msgspec.json.decode(body, type=ready(Refusal))
    except msgspec.DecodeError:
        return AnswerNotUnderstood(
            f"what answers at {url} begins no session (HTTP {head.status}): see whether it is a"
            " fairshare server, of the same version as this client"
        )
    return Refused(head.status, answer.code, answer.message)


def last_word(message: Message) -> dict[str, Any] | None:
    """What a message says of the end: the `exit` code, or a `problem` with its `code`."""
    said = message.said or {}
    return said if "exit" in said or "problem" in said else None
