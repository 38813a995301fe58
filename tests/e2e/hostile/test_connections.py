"""Connections that say nothing, or never end, take nothing from others for long."""

import resource
import select

from tests.served import until

from fairshare.server.web.listener import most_connections

from .conftest import PROXY, read_to_end, resident_kb


def test_silent_connections_block_no_client_and_are_cut(attacked):
    with attacked.sockets(120) as silent:
        for address in ("127.0.0.1", PROXY, "127.0.0.3"):
            with attacked.client(address=address) as http:
                assert http.get("/healthz").status_code == 200
                assert http.get("/api/v1/cluster").status_code == 401
        assert [read_to_end(one) for one in silent] == [b""] * 120


def test_half_a_header_is_refused_after_a_while(attacked):
    with attacked.sockets(1) as (one,):
        one.sendall(b"GET /healthz HTTP/1.1\r\nHost: ")
        assert read_to_end(one).startswith(b"HTTP/1.1 408")


def test_a_body_that_does_not_come_is_refused_after_a_while(attacked):
    with attacked.sockets(1) as (one,):
        one.sendall(
            attacked.head("/api/v1/applications", "ann", "POST", Content_Length=1000) + b"{"
        )
        found = read_to_end(one)
    assert found.startswith(b"HTTP/1.1 408")
    assert b"the body took too long" in found


def test_a_caller_that_leaves_amid_its_body_adds_no_traceback_to_the_log(attacked):
    head = attacked.head("/api/v1/applications", "ann", "POST", Content_Length=999)
    with attacked.sockets(1, address="127.0.0.10") as (one,):
        one.sendall(head + b"{")
    assert attacked.audited(lambda line: line["address"] == "127.0.0.10")["status"] == 400
    assert "Traceback" not in (attacked.state / "server.log").read_text()


def test_unfinished_bodies_take_little_memory_and_their_callers_alone_wait(attacked):
    begun = b"{" + b" " * 100_000
    length = len(begun) + 1
    with attacked.sockets(20) as unfinished:
        for one in unfinished:
            one.sendall(
                attacked.head("/api/v1/applications", "ann", "POST", Content_Length=length) + begun
            )
        with attacked.client("bob") as http:
            answer = http.post("/api/v1/applications", content=begun + b"}")
            assert (answer.status_code, answer.json()["code"]) == (400, "bad-request")
        refused = set()
        while len(refused) < 10:  # one megabyte holds the bodies of the others
            readable, _, _ = select.select([*set(unfinished) - refused], [], [], 30)
            assert readable
            refused.update(readable)
        found = [read_to_end(one) for one in refused]
    assert [one.split(b"\r\n")[0] for one in found] == [b"HTTP/1.1 429 Too Many Requests"] * 10
    assert all(b"bodies_mb" in one for one in found)


def test_when_all_connections_are_in_use_health_and_administrators_get_through(attacked):
    waiting = attacked.head("/api/v1/changes?since=99999999&timeout=50", "ann")
    with attacked.sockets(41) as used:
        for one in used[:40]:
            one.sendall(waiting)

        def refused():  # once the server has read what the others wait for
            with attacked.client("ann") as http:
                answer = http.get("/api/v1/cluster")
            return answer if answer.status_code == 503 else None

        assert until(refused).json()["code"] == "too-many-connections"
        with attacked.client("root", "127.0.0.1", "--admin") as http:
            assert http.get("/api/v1/cluster").status_code == 200
        with attacked.client() as http:
            assert http.get("/healthz").status_code == 200
        with attacked.client(address="127.0.0.4") as http:
            assert http.get("/api/v1/cluster").status_code == 401


def test_a_request_with_two_lengths_is_refused_and_nothing_follows(attacked):
    with attacked.sockets(1) as (one,):
        smuggled = attacked.head("/healthz")
        one.sendall(
            attacked.head(
                *("/api/v1/applications", "ann", "POST"),
                Content_Length=len(smuggled) + 5,
                Transfer_Encoding="chunked",
            )
            + b"0\r\n\r\n"
            + smuggled
        )
        found = read_to_end(one)
    assert found.startswith(b"HTTP/1.1 400")
    assert found.count(b"HTTP/1.1") == 1


def test_an_unread_answer_is_dropped_and_its_memory_freed(attacked):
    with attacked.client("ann") as http:
        task = {"command": "head -c 16777216 /dev/zero", "resources": {"memory-mb": 64}}
        body = {"queue": "a", "tasks": [task]}
        name = http.post("/api/v1/applications", json=body).json()["id"]
        headers = {"Authorization": f"Bearer {attacked.token('ann')}"}
        attacked.server.http.headers.update(headers)
        attacked.server.finished(name)
        (container,) = attacked.server.containers(name)
        path = f"/api/v1/containers/{container['id']}/logs/stdout?limit=16777216"
        whole = http.get(path)
        assert (len(whole.content), whole.headers["X-Fairshare-Complete"]) == (2**24, "true")
    before_kb = resident_kb(attacked.server)
    with attacked.sockets(30, receive_bytes=4096) as lazy:
        for one in lazy:
            one.sendall(attacked.head(path, "ann"))
        assert all(len(read_after_the_cut(one)) < 2**23 for one in lazy)
    assert resident_kb(attacked.server) - before_kb < 30_000


def read_after_the_cut(one):
    """What is there when the server has given up: it closes without the rest."""
    poll = select.poll()
    poll.register(one, select.POLLRDHUP | select.POLLERR | select.POLLHUP)
    assert poll.poll(30_000)
    return read_to_end(one)


def test_the_system_may_allow_fewer_connections_than_the_configuration():
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert most_connections(10) == 10
    if allowed != resource.RLIM_INFINITY:
        assert most_connections(allowed) == max(10, allowed * 3 // 4)
