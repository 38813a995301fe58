"""Both exchanges, the one of this machine and httpx's, with a server on a real socket."""

import socket
import threading
from contextlib import closing

import pytest

from fairshare.client.exchange import AnsweredTooLate, ExchangeFailed, NotConnected, Request
from fairshare.client.httpx_exchange import HttpxExchange
from fairshare.client.plain_http import LocalExchange

BEGIN = b"HTTP/1.1 200 OK\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
CLOSE = b"Connection: close\r\n"
OK = b"HTTP/1.1 200 OK\r\nX-Kind: a\r\nContent-Length: 2\r\n\r\nhi"


class Peer:
    """Takes connections, and gives each request the next of its answers; None closes."""

    def __init__(self, listener):
        self.listener = listener
        self.answers = []
        self.requests = []
        self.connections = 0
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            with connection:
                while self.answer_one(connection):
                    pass

    def answer_one(self, connection):
        data = b""
        while b"\r\n\r\n" not in data:
            part = connection.recv(65_536)
            if not part:
                return False
            data += part
        head, _, body = data.partition(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        answer = self.answers.pop(0) if self.answers else OK
        if answer != "early":
            while len(body) < int(fields.get(b"content-length", b"0")):
                body += connection.recv(65_536)
        self.requests.append((head.split(b" HTTP/")[0].decode(), fields, body))
        if answer is None:
            return False
        if answer == "early":
            connection.sendall(b"HTTP/1.1 413 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            while connection.recv(65_536):  # else the kernel may discard the answer
                pass
            return False
        connection.sendall(answer)
        return b"Connection: close" not in answer


@pytest.fixture
def peer():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield Peer(listener)
        listener.shutdown(socket.SHUT_RDWR)


def http_exchange(url, token):
    return HttpxExchange(url, token, None)


@pytest.fixture(params=[LocalExchange, http_exchange])
def exchange(request, peer):
    opened = request.param(f"http://127.0.0.1:{peer.listener.getsockname()[1]}", "secret")
    yield opened
    opened.close()


def test_a_reply_has_status_headers_in_lower_case_and_content(exchange):
    reply = exchange.send(Request("GET", "/apps"))
    assert (reply.status, reply.headers["x-kind"], reply.content) == (200, "a", b"hi")


def test_a_request_has_token_parameters_and_body(exchange, peer):
    exchange.send(Request("GET", "/apps", parameters={"tag": "a b&c", "limit": 5}))
    exchange.send(Request("POST", "/apps", content=b"{}", media_type="application/json"))
    (first, fields, _), (second, posted, body) = peer.requests
    assert first == "GET /api/v1/apps?tag=a+b%26c&limit=5"
    assert fields[b"authorization"] == b"bearer secret"
    assert (second, posted[b"content-type"], body) == (
        "POST /api/v1/apps",
        b"application/json",
        b"{}",
    )


def test_an_empty_post_says_that_it_is_empty(exchange, peer):
    exchange.send(Request("POST", "/apps", content=b""))
    assert peer.requests[0][1][b"content-length"] == b"0"


def test_a_connection_serves_many_requests(exchange, peer):
    for _ in range(5):
        exchange.send(Request("GET", "/apps"))
    assert peer.connections == 1


def test_a_connection_that_the_server_closed_is_not_used_again(exchange, peer):
    peer.answers = [OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")]
    exchange.send(Request("GET", "/apps"))
    assert exchange.send(Request("GET", "/apps")).status == 200
    assert peer.connections == 2


def test_a_server_that_closes_without_an_answer_breaks_the_exchange_off(exchange, peer):
    peer.answers = [None]
    with pytest.raises(ExchangeFailed) as caught:
        exchange.send(Request("POST", "/apps", content=b"{}"))
    assert not isinstance(caught.value, NotConnected | AnsweredTooLate)
    assert len(peer.requests) == 1  # it may have been carried out: it is not sent again


def test_a_silent_server_answers_too_late(exchange, peer):
    peer.answers = [b""]
    with pytest.raises(AnsweredTooLate):
        exchange.send(Request("GET", "/apps", read_s=0.05))


def test_an_answer_that_is_not_http_breaks_the_exchange_off(exchange, peer):
    peer.answers = [b"SSH-2.0-OpenSSH\r\n\r\n"]
    with pytest.raises(ExchangeFailed):
        exchange.send(Request("GET", "/apps"))


@pytest.mark.parametrize(
    ("answer", "content"),
    [
        (BEGIN + CHUNKED + b"\r\n1;a=b\r\nh\r\n1\r\ni\r\n0\r\nX: y\r\n\r\n", b"hi"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + OK, b"hi"),
        (BEGIN + CLOSE + b"\r\nhi", b"hi"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
        (BEGIN + b"Content-Length: 0\r\n\r\n", b""),
    ],
)
def test_the_content_is_as_long_as_the_answer_says(exchange, peer, answer, content):
    peer.answers = [answer, OK]
    assert exchange.send(Request("GET", "/apps")).content == content
    assert exchange.send(Request("GET", "/apps")).content == b"hi"


@pytest.mark.parametrize(
    "answer",
    [
        BEGIN + b"Content-Length: 9\r\n" + CLOSE + b"\r\nhi",
        BEGIN + CHUNKED + CLOSE + b"\r\n2\r\nhi\r\n",
        BEGIN + b"Content-Length: x\r\n" + CLOSE + b"\r\nhi",
        BEGIN + b"X-Kind: a\x00\r\n" + CLOSE + b"\r\nhi",
        BEGIN + CHUNKED + CLOSE + b"\r\n+2\r\nhi\r\n0\r\n\r\n",
    ],
)
def test_an_answer_cut_short_or_malformed_breaks_the_exchange_off(exchange, peer, answer):
    peer.answers = [answer, OK]
    with pytest.raises(ExchangeFailed):
        exchange.send(Request("GET", "/apps"))
    assert exchange.send(Request("GET", "/apps")).content == b"hi"


def test_a_body_refused_before_it_was_read_leaves_the_answer(exchange, peer):
    peer.answers = ["early"]
    assert exchange.send(Request("PUT", "/blobs", content=bytes(3_000_000))).status == 413


def test_nothing_is_sent_where_no_server_listens():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    for open_exchange in (LocalExchange, http_exchange):
        opened = open_exchange(f"http://127.0.0.1:{port}", None)
        with closing(opened), pytest.raises(NotConnected):
            opened.send(Request("GET", "/apps"))


@pytest.mark.parametrize("open_exchange", [LocalExchange, http_exchange])
def test_a_unix_socket_carries_requests(open_exchange, tmp_path):
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        peer = Peer(listener)
        opened = open_exchange(f"unix:{path}", None)
        assert opened.send(Request("GET", "/apps")).content == b"hi"
        assert peer.requests[0][1][b"host"] == b"localhost"
        opened.close()
        listener.shutdown(socket.SHUT_RDWR)
    with closing(LocalExchange(f"unix:{path}", None)) as opened, pytest.raises(NotConnected):
        opened.send(Request("GET", "/apps"))
