"""What a client reads as HTTP, however it arrives, and what it rejects."""

import socket
import tracemalloc

import pytest

from fairshare.client.plain_http import (
    LONGEST_HEAD,
    Answers,
    Ended,
    NotHttp,
    PlainConnection,
    request_head,
)


class Pieces:
    """A connection from which a client receives pieces, and then its end."""

    def __init__(self, *pieces):
        self.pieces = list(pieces)

    def recv(self, most):
        piece = self.pieces.pop(0) if self.pieces else b""
        assert len(piece) <= most
        return piece


def read(*pieces, method="GET", most=None):
    """Status, headers and body of the answer, whether the connection persists, and what remains."""
    answers = Answers(Pieces(*pieces))
    head = answers.head()
    body = answers.body(head, method, most)
    return head.status, head.headers, body, head.persistent, answers.rest


def answer(*headers, status="200 OK", version="HTTP/1.1", body=b""):
    lines = (f"{version} {status}", *headers, "", "")
    return "\r\n".join(lines).encode("latin-1") + body


SIZED = answer("Content-Length: 5", body=b"hello")
CHUNKED = answer(
    "Transfer-Encoding: chunked",
    body=b"3\r\nhel\r\n00002 ;name=value;other\r\nlo\r\n0\r\nX-Sum: 1\r\nX-More: 2\r\n\r\n",
)
INTERIM = answer("X-A: b", status="100 Continue") + answer(status="103 Early Hints")


@pytest.mark.parametrize("whole", [SIZED, CHUNKED, INTERIM + SIZED, INTERIM + CHUNKED])
def test_an_answer_is_read_alike_wherever_it_is_split(whole):
    for at in range(1, len(whole)):
        status, _, body, persistent, rest = read(whole[:at], whole[at:])
        assert (status, body, persistent, rest) == (200, b"hello", True, b"")
    single = (whole[at : at + 1] for at in range(len(whole)))
    assert read(*single)[2:] == (b"hello", True, b"")


@pytest.mark.parametrize("whole", [SIZED, CHUNKED, INTERIM + SIZED, INTERIM + CHUNKED])
def test_an_answer_that_ends_early_is_never_taken_for_a_whole_one(whole):
    for at in range(len(whole)):
        with pytest.raises(Ended):
            read(whole[:at])


def test_a_server_that_says_nothing_is_reported_in_the_words_of_http_client():
    with pytest.raises(Ended) as caught:
        read()
    assert str(caught.value) == "Remote end closed connection without response"


def test_bytes_behind_an_answer_remain():
    assert read(SIZED + b"HTTP")[4] == read(CHUNKED + b"HTTP")[4] == b"HTTP"


def test_headers_have_names_in_lower_case_and_values_without_blanks_around_them():
    headers = read(answer("X-Kind:\t a, b ", "EMPTY:", "X-e: größe"))[1]
    assert headers == {"x-kind": "a, b", "empty": "", "x-e": "größe"}


def test_an_answer_without_a_length_lasts_until_the_connection_ends():
    status, _, body, persistent, _ = read(answer(), b"hel", b"lo")
    assert (status, body, persistent) == (200, b"hello", False)


@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified", "204"])
def test_some_statuses_have_no_body(status):
    found = read(answer("Content-Length: 9", status=status) + b"rest")
    assert found[2:] == (b"", True, b"rest")


def test_the_answer_to_head_has_no_body():
    assert read(answer("Content-Length: 9") + b"rest", method="HEAD")[2:] == (b"", True, b"rest")


def test_an_answer_that_switches_protocols_is_not_an_interim_one():
    answers = Answers(Pieces(INTERIM + answer("Upgrade: websocket", status="101 X") + b"\x81\x00"))
    assert (answers.head().status, answers.rest) == (101, b"\x81\x00")


@pytest.mark.parametrize(
    ("headers", "version", "persistent"),
    [
        (["Connection: close"], "HTTP/1.1", False),
        (["Connection: Upgrade, Close"], "HTTP/1.1", False),
        (["Connection: keep-alive"], "HTTP/1.1", True),
        (["Connection: keep-alive"], "HTTP/1.0", False),
    ],
)
def test_a_connection_persists_unless_the_server_closes_it(headers, version, persistent):
    assert read(answer("Content-Length: 0", *headers, version=version))[3] is persistent


@pytest.mark.parametrize(
    "malformed",
    [
        b"SSH-2.0-OpenSSH\r\n",
        b"\r\n\r\n",
        b"<html>",
        b"HTTP/2",
        answer(version="HTTP/1.2"),
        answer(version="http/1.1"),
        answer(version="HTTP/1.1 "),
        answer(status="20 OK"),
        answer(status="2000 OK"),
        answer(status="099 OK"),
        answer(status="+20 OK"),
        answer(status="20\xb2 OK"),
        answer(status="200\tOK"),
        answer(status="200 O\x00K"),
        answer("X-Kind"),
        answer(": a"),
        answer("X Kind: a"),
        answer("X-Kind : a"),
        answer("X-Kind: a", " folded: b"),
        answer("X-\xe9: a"),
        answer("X-Kind: a\x00"),
        answer("X-Kind: a\nX-Other: b"),
        answer("X-Kind: a\rX-Other: b"),
        answer("Content-Length: 1", "Content-Length: 2"),
        answer("Content-Length: 5, 5"),
        answer("Content-Length: +5"),
        answer("Content-Length: -5"),
        answer("Content-Length: 0x5"),
        answer("Content-Length: 5_0"),
        answer("Content-Length: \xb2"),
        answer("Content-Length:"),
        answer(f"Content-Length: {'9' * 19}"),
        answer("Content-Length: 5", "Transfer-Encoding: chunked"),
        answer("Transfer-Encoding: gzip, chunked"),
        answer("Transfer-Encoding: identity"),
        answer("Transfer-Encoding: chunked", "Transfer-Encoding: gzip"),
        answer("Transfer-Encoding: chunked", version="HTTP/1.0"),
    ],
)
def test_what_is_not_exactly_http_is_rejected_without_waiting_for_more(malformed):
    with pytest.raises(NotHttp):
        read(malformed, b"5\r\nhello\r\n0\r\n\r\n")


@pytest.mark.parametrize(
    "body",
    [
        b"\r\n",
        b"x\r\n",
        b"+1\r\na\r\n0\r\n\r\n",
        b"-1\r\na\r\n0\r\n\r\n",
        b"0x1\r\na\r\n0\r\n\r\n",
        b"1_0\r\n0123456789abcdef\r\n0\r\n\r\n",
        b" 1\r\na\r\n0\r\n\r\n",
        b"1\n;\r\na\r\n0\r\n\r\n",
        b";name\r\n",
        b"f" * 19 + b"\r\n",
        b"1\r\nab\r\n0\r\n\r\n",
        b"2\r\na\r\n0\r\n\r\n",
        b"1;" + b"x" * 5_000 + b"\r\na\r\n0\r\n\r\n",
        b"1;" + b"x" * 50_000,
        b"0\r\nX-Kind\r\n\r\n",
        b"0\r\n folded: a\r\n\r\n",
        b"0\r\n" + b"X-A: b\r\n" * 10_000 + b"\r\n",
    ],
)
def test_chunks_that_are_not_exact_are_rejected(body):
    with pytest.raises(NotHttp):
        read(
            answer("Transfer-Encoding: chunked"),
            *(body[at : at + 50_000] for at in range(0, len(body), 50_000)),
        )


def test_a_head_has_a_limit_with_or_without_its_end():
    filler = f"X-Kind: {'a' * LONGEST_HEAD}"
    for whole in (answer(filler), answer(filler)[:-4]):
        with pytest.raises(NotHttp, match="too long"):
            read(*(whole[at : at + 4_096] for at in range(0, len(whole), 4_096)))
    nearly = answer(f"X-Kind: {'a' * (LONGEST_HEAD - 100)}", "Content-Length: 0")
    assert read(*(nearly[at : at + 4_096] for at in range(0, len(nearly), 4_096)))[0] == 200


def test_interim_answers_count_for_the_limit_of_the_head():
    interim = answer(f"X-Kind: {'a' * 1_000}", status="100 Continue")
    with pytest.raises(NotHttp, match="too long"):
        read(*[interim] * 100, SIZED)


@pytest.mark.parametrize("whole", [SIZED, CHUNKED, answer() + b"hello"])
def test_a_body_can_have_a_limit(whole):
    assert read(whole, most=5)[2] == b"hello"
    with pytest.raises(NotHttp, match="too long"):
        read(whole, most=4)


def test_a_large_body_arrives_whole():
    body = bytes(range(256)) * 10_000
    whole = answer(f"Content-Length: {len(body)}") + body
    assert read(*(whole[at : at + 60_000] for at in range(0, len(whole), 60_000)))[2] == body


def test_a_request_states_the_length_of_its_content():
    assert request_head("POST", "/a", {"Host": "x"}, b"abc") == (
        b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n"
    )
    assert b"Content-Length: 0\r\n" in request_head("POST", "/a", {})
    assert b"Content-Length" not in request_head("GET", "/a", {})


@pytest.mark.parametrize("target", ["/a b", "/a\r\nX: y", "/größe", "/a\x7f"])
def test_a_path_cannot_become_something_else(target):
    with pytest.raises(NotHttp):
        request_head("GET", target, {})


@pytest.mark.parametrize("secret", ["abc\r\nX: y", "ab\x00c", "größe"])
def test_a_header_cannot_become_another_one_and_is_not_shown(secret):
    with pytest.raises(NotHttp) as caught:
        request_head("GET", "/a", {"Authorization": secret})
    assert secret not in str(caught.value)


@pytest.fixture
def ends():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield PlainConnection(ours), theirs


def exchange(connection, method="GET", content=None, silence_s=10):
    return connection.exchange(method, "/a", {"Host": "x"}, content, silence_s)


def test_a_connection_carries_requests_one_after_the_other(ends):
    connection, server = ends
    for whole in (SIZED, CHUNKED):
        server.sendall(whole)
        assert exchange(connection)[1] == b"hello"
        assert connection.usable


@pytest.mark.parametrize(
    "whole",
    [
        answer("Content-Length: 5", "Connection: close", body=b"hello"),
        SIZED + b"H",
    ],
)
def test_a_connection_with_an_uncertain_end_is_not_used_again(ends, whole):
    connection, server = ends
    server.sendall(whole)
    assert exchange(connection)[1] == b"hello"
    assert not connection.usable


def test_a_connection_that_failed_is_not_used_again(ends):
    connection, server = ends
    server.sendall(b"HTTP/1.1 101 Switching Protocols\r\n\r\n")
    with pytest.raises(NotHttp):
        exchange(connection)
    assert not connection.usable


def test_a_silent_server_is_not_waited_for_longer_than_asked(ends):
    connection, server = ends
    server.sendall(SIZED[:-1])
    with pytest.raises(TimeoutError):
        exchange(connection, silence_s=0.05)
    assert not connection.usable


def test_an_answer_to_a_part_of_a_body_is_read_and_ends_the_connection(ends):
    connection, server = ends
    server.sendall(answer("Content-Length: 2", status="413 No", body=b"no"))
    server.shutdown(socket.SHUT_RD)  # the pipe is broken for what the client sends
    head, body = exchange(connection, "PUT", bytes(3_000_000))
    assert (head.status, body, connection.usable) == (413, b"no", False)


@pytest.mark.parametrize("chunked", [False, True])
def test_a_large_answer_is_in_memory_once(chunked):
    size, piece = 8 << 20, 1 << 16
    one = b"%x\r\n%s\r\n" % (piece - 10, b"x" * (piece - 10))
    body = [one] * (size // piece) + [b"0\r\n\r\n"] if chunked else [b"x" * piece] * (size // piece)
    header = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {size}"
    answers = Answers(Pieces(answer(header), *body))
    head = answers.head()
    tracemalloc.start()
    try:
        content = answers.body(head, "GET")
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(content) > size * 0.99
    assert most < 1.4 * size
