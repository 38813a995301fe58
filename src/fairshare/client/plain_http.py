"""HTTP/1.1 over a socket of this machine, which carries requests to a local server.

An answer that is not exactly HTTP, or whose length could be read in two ways, is rejected. Python's
`http.client` could do the same, but its import is a tenth of what a short command costs
(decision 16).
"""

import contextlib
import io
import select
import socket
import threading
from collections.abc import Mapping
from urllib.parse import urlencode, urlsplit

import msgspec

from fairshare.api.routes import BASE
from fairshare.client.discovery import UNIX, is_loopback
from fairshare.client.exchange import (
    CONNECT_TIMEOUT_S,
    AnsweredTooLate,
    ExchangeFailed,
    NotConnected,
    Reply,
    Request,
    check_account,
    connected,
    http_address,
)
from fairshare.wording import cause

LONGEST_HEAD = 64 * 1024
"""The maximum number of bytes before a body: status and headers, also of interim answers."""

LONGEST_CHUNK_LINE = 4096
"""The maximum number of bytes of the line before a chunk of a body."""

_SWITCHING_PROTOCOLS = 101
_BODILESS = (204, 304)
_PIECE_BYTES = 64 * 1024
_MOST_AT_ONCE = 1024 * 1024
_LONGEST_LENGTH = 18
"""The maximum number of digits of a length."""

_HEXADECIMAL = b"0123456789abcdefABCDEF"
_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_NAME = b"!#$%&'*+-.^_`|~0123456789" + _LETTERS
"""The characters of the name of a header."""
_CONTROLS = bytes({*range(0x20), 0x7F} - {0x09})
"""The control characters, which no header contains. The tab is not one of them."""


class NotHttp(Exception):
    """What came, or what is to be sent, is not HTTP; the message is the reason."""


class Ended(ConnectionError):
    """The server closed the connection before it had answered."""


class Head(msgspec.Struct, frozen=True, gc=False):
    """The beginning of an answer. Names of headers are in lower case; of several with one name the
    last one counts. `persistent`: the server keeps the connection for another request."""

    status: int
    headers: dict[str, str]
    persistent: bool


class Answers:
    """Reads the answers that come over a connection."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._held = bytearray()

    @property
    def rest(self) -> bytes:
        """The bytes that have come, but are not a part of what was read."""
        return bytes(self._held)

    def head(self) -> Head:
        """The head of the next answer that is not an interim one. Raises NotHttp, and OSError as
        the connection does; Ended at the end of the connection."""
        room = LONGEST_HEAD
        while True:
            block = self._block(room)
            head = _parsed(block)
            if head.status >= 200 or head.status == _SWITCHING_PROTOCOLS:
                return head
            room -= len(block)

    def body(self, head: Head, method: str, most: int | None = None) -> bytes:
        """The body of the answer to a request of this method, read to its end. Raises as `head`
        does; NotHttp also for a body of more than `most` bytes."""
        if method == "HEAD" or head.status in _BODILESS:
            return b""
        if "transfer-encoding" in head.headers:
            return self._chunks(most)
        if "content-length" in head.headers:
            length = int(head.headers["content-length"])
            _check_room(length, most)
            return self._taken(length)
        while True:
            _check_room(len(self._held), most)
            try:
                self._receive()
            except Ended:
                return self._taken(len(self._held))

    def _block(self, room: int) -> bytes:
        """The lines up to an empty one, without it."""
        while (end := self._held.find(b"\r\n\r\n")) < 0:
            if not self._held.startswith(b"HTTP/1."[: len(self._held)]):
                break
            if len(self._held) > room:
                raise NotHttp("the headers of the answer are too long")
            try:
                self._receive()
            except Ended:
                if self._held:
                    raise
                raise Ended("Remote end closed connection without response") from None
        if end > room:
            raise NotHttp("the headers of the answer are too long")
        block = bytes(self._held[: max(0, end)])
        if not block.startswith(b"HTTP/1."):
            raise NotHttp(f"it does not answer as HTTP does: {bytes(self._held[:60])!r}")
        del self._held[: end + 4]
        return block

    def _chunks(self, most: int | None) -> bytes:
        body = io.BytesIO()
        while True:
            # What follows a semicolon are extensions, which no client needs.
            size = self._line(LONGEST_CHUNK_LINE).partition(b";")[0].rstrip(b" \t")
            if not size or size.strip(_HEXADECIMAL) or len(size) > _LONGEST_LENGTH:
                raise NotHttp(f"a chunk of the answer has the size {size[:60]!r}")
            length = int(size, 16)
            if not length:
                break
            _check_room(body.tell() + length, most)
            body.write(self._taken(length))
            if self._taken(2) != b"\r\n":
                raise NotHttp("a chunk of the answer is longer than its size")
        room = LONGEST_HEAD
        while trailer := self._line(room):
            _header(trailer)
            room -= len(trailer) + 2
        return body.getvalue()

    def _line(self, longest: int) -> bytes:
        while (end := self._held.find(b"\r\n")) < 0:
            if len(self._held) > longest:
                break
            self._receive()
        if not 0 <= end <= longest:
            raise NotHttp("a line in the body of the answer is too long")
        line = bytes(self._held[:end])
        del self._held[: end + 2]
        _check_characters(line)
        return line

    def _taken(self, length: int) -> bytes:
        # A large answer is in memory once: BytesIO gives away its buffer without copying it.
        taken = io.BytesIO()
        while missing := length - taken.tell():
            if self._held:
                taken.write(memoryview(self._held)[:missing])
                del self._held[:missing]
            elif missing < _PIECE_BYTES:
                self._receive()  # what follows may come with it
            else:
                taken.write(self._received(min(missing, _MOST_AT_ONCE)))
        return taken.getvalue()

    def _receive(self) -> None:
        self._held += self._received(_PIECE_BYTES)

    def _received(self, most: int) -> bytes:
        data = self._connection.recv(most)
        if not data:
            raise Ended("the connection was closed in the middle of the answer")
        return data


class PlainConnection:
    """A connection that carries one request after the other. `usable`: it can carry another."""

    def __init__(self, connection: socket.socket) -> None:
        self.usable = True
        self._connection = connection
        self._answers = Answers(connection)

    def fileno(self) -> int:
        """For select and poll."""
        return self._connection.fileno()

    @property
    def channel(self) -> socket.socket:
        """The socket."""
        return self._connection

    def close(self) -> None:
        """Close the socket."""
        self.usable = False
        self._connection.close()

    def exchange(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        content: bytes | None,
        silence_s: float,
    ) -> tuple[Head, bytes]:
        """The answer to a request, head and body; the server may be silent for `silence_s`.

        Raises NotHttp, and OSError as the socket does, TimeoutError for a silent server. After
        these the connection is not usable.
        """
        self.usable = False
        head = request_head(method, target, headers, content)
        self._connection.settimeout(silence_s)
        sent = False
        # A server that refuses a large body answers before it has read all of it.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._connection.sendall(head)
            if content:
                self._connection.sendall(content)
            sent = True
        answer = self._answers.head()
        if answer.status == _SWITCHING_PROTOCOLS:
            raise NotHttp("it switches to a protocol that no request was for")
        body = self._answers.body(answer, method)
        self.usable = sent and answer.persistent and not self._answers.rest
        return answer, body


def request_head(
    method: str, target: str, headers: Mapping[str, str], content: bytes | None = None
) -> bytes:
    """The bytes of a request before its content; raises NotHttp for characters that would end a
    line or a word.

    >>> request_head("GET", "/apps", {"Host": "localhost"})
    b'GET /apps HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n'
    """
    if " " in target:
        raise NotHttp(f"a path cannot contain a blank: {target!r}")
    fields = dict(headers)
    if content is not None or method in ("POST", "PUT"):
        fields["Content-Length"] = str(len(content or b""))
    for name, text in (("the path", target), *fields.items()):
        if not text.isascii() or not text.isprintable():
            raise NotHttp(f"a request can contain only ASCII characters, unlike {name}")
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {text}" for name, text in fields.items())]
    return "\r\n".join((*lines, "", "")).encode("ascii")


def _parsed(block: bytes) -> Head:
    first, *lines = block.split(b"\r\n")
    _check_characters(first)
    version, digits, after = first[:9], first[9:12], first[12:13]
    if version not in (b"HTTP/1.1 ", b"HTTP/1.0 ") or after not in (b"", b" "):
        raise NotHttp(f"the answer begins with {first[:60]!r}")
    if not digits.isdigit() or len(digits) != 3 or digits < b"100":
        raise NotHttp(f"the answer has the status {digits!r}")
    headers: dict[str, str] = {}
    for line in lines:
        name, text = _header(line)
        if name in ("content-length", "transfer-encoding") and headers.get(name, text) != text:
            raise NotHttp(f"the answer has two different headers {name}")
        headers[name] = text
    # The length of the body can be read in one way only.
    length, coding = headers.get("content-length"), headers.get("transfer-encoding")
    if coding is None:
        readable = length is None or (length.isascii() and length.isdigit())
        if not readable or len(length or "") > _LONGEST_LENGTH:
            raise NotHttp(f"the answer has the length {length!r}")
    elif coding.lower() != "chunked" or length is not None or version != b"HTTP/1.1 ":
        raise NotHttp(f"the answer has the transfer encoding {coding!r}")
    options = [option.strip() for option in headers.get("connection", "").lower().split(",")]
    delimited = length is not None or coding is not None
    bodiless = int(digits) in _BODILESS
    persistent = version == b"HTTP/1.1 " and "close" not in options and (delimited or bodiless)
    return Head(int(digits), headers, persistent)


def _header(line: bytes) -> tuple[str, str]:
    _check_characters(line)
    name, colon, text = line.partition(b":")
    if not name or not colon or name.strip(_NAME):
        raise NotHttp(f"the answer has the header {line[:60]!r}")
    return name.decode("ascii").lower(), text.strip(b" \t").decode("latin-1")


def _check_characters(line: bytes) -> None:
    if len(line.translate(None, _CONTROLS)) != len(line):
        raise NotHttp(f"the answer has control characters: {line[:60]!r}")


def _check_room(length: int, most: int | None) -> None:
    if most is not None and length > most:
        raise NotHttp("the answer is too long")


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
            poll = select.poll()
            poll.register(connection.fileno(), select.POLLIN)
            if not poll.poll(0):
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


def _unix_socket(path: str) -> socket.socket:
    connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connected.settimeout(CONNECT_TIMEOUT_S)
    try:
        connected.connect(path)
    except OSError:
        connected.close()
        raise
    return connected
