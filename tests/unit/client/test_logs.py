import httpx
import pytest

from fairshare.client import logs
from fairshare.client.errors import ServerUnreachable


@pytest.fixture
def connection(client, script):
    def serve(log: bytes, *, complete: bool = True):
        def part(request: httpx.Request) -> httpx.Response:
            offset = int(request.url.params["offset"])
            data = log[offset : offset + int(request.url.params["limit"])]
            over = complete and offset + len(data) >= len(log)
            headers = {"X-Fairshare-Complete": "true" if over else "false"}
            return httpx.Response(200, content=data, headers=headers)

        script.answers["/containers/c1/logs/stdout"] = part
        return client.connection

    return serve


def test_a_whole_log_is_read_without_a_call_too_many(client, connection, script):
    connection(b"one\ntwo\n")
    assert client.log("c1") == b"one\ntwo\n"
    assert len(script.calls) == 1


def test_a_log_that_still_grows_is_read_up_to_its_end(client, connection):
    connection(b"one\n", complete=False)
    assert client.log("c1") == b"one\n"


def test_following_ends_with_the_container(client, script):
    def part(data: bytes, complete: str) -> httpx.Response:
        return httpx.Response(200, content=data, headers={"X-Fairshare-Complete": complete})

    script.answers["/containers/c1/logs/stderr"] = [
        part(b"a", "false"),
        part(b"b", "false"),
        part(b"", "true"),
    ]
    assert list(client.follow_log("c1", "stderr")) == [b"a", b"b"]


def test_what_the_server_left_out_is_said_where_it_is_missing(client, script):
    def part(data: bytes, complete: str, skipped: int = 0) -> httpx.Response:
        headers = {"X-Fairshare-Complete": complete, "X-Fairshare-Skipped": str(skipped)}
        return httpx.Response(200, content=data, headers=headers)

    script.answers["/containers/c1/logs/stdout"] = [
        part(b"first", "false"),
        part(b"last", "true", 12_345),
    ]
    said = b"first\n[... 12,345 bytes were left out: the server limits logs ...]\nlast"
    assert client.log("c1") == said
    assert [given["offset"] for _, _, given in script.calls] == ["0", "5"]


def test_following_outlives_a_restart_of_the_server(client, script):
    def part(data: bytes, complete: str) -> httpx.Response:
        return httpx.Response(200, content=data, headers={"X-Fairshare-Complete": complete})

    script.answers["/containers/c1/logs/stdout"] = [
        part(b"a", "false"),
        httpx.ConnectError("refused"),
        httpx.Response(503, json={"code": "stopping", "message": "soon"}),
        part(b"b", "true"),
    ]
    assert b"".join(client.connection.follow(logs.growing("c1", "stdout", 0.01))) == b"ab"


def test_following_gives_up_a_server_that_never_answered_or_stays_away(client, script):
    script.answers["/containers/c1/logs/stdout"] = httpx.ConnectError("refused")
    with pytest.raises(ServerUnreachable):
        next(client.connection.follow(logs.growing("c1", "stdout", 0.01)))
    answers = [httpx.Response(200, content=b"a")] + [httpx.ConnectError("refused")] * 9
    script.answers["/containers/c1/logs/stdout"] = answers
    with pytest.raises(ServerUnreachable):
        list(client.connection.follow(logs.growing("c1", "stdout", 0.02, patience_s=0.05)))


@pytest.mark.parametrize("size", [0, 1, 1000, 65_535, 65_536, 65_537, 200_000, 5_000_000])
def test_the_last_lines_are_found_at_the_end_of_a_log_of_any_size(connection, script, size):
    lines = [f"line {number:06}" for number in range(size // 12)]
    log = "\n".join(lines).encode()
    found = connection(log).converse(logs.last_lines("c1", "stdout", 10))
    assert found.splitlines() == lines[-10:]
    assert len(script.calls) < 25
    assert sum(int(given["limit"]) for _, _, given in script.calls) < 70_000


def test_the_end_of_one_very_long_line_is_its_end(connection):
    found = connection(b"x" * 300_000 + b"end").converse(logs.last_lines("c1", "stdout", 10))
    assert found.endswith("xend")
    assert len(found) <= logs.TAIL_BYTES


def test_bytes_that_are_not_text_are_replaced(connection):
    assert connection(b"\xff\xfe\n").converse(logs.last_lines("c1", "stdout", 1)) == "\ufffd\ufffd"
