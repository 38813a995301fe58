"""Who is refused leaves a trace, and however often he is refused, not more than that."""

from .conftest import read_to_end


def test_clients_without_a_token_cannot_fill_the_logs(attacked):
    files = [attacked.state / "audit.log", attacked.state / "server.log"]
    with attacked.client(address="127.0.0.9") as http:
        http.get("/api/v1/first")
        before = [file.stat().st_size for file in files]
        for number in range(300):
            http.get(f"/api/v1/{number}/{'x' * 400}")
            http.post(f"/cluster/{number}")
        with attacked.sockets(40, address="127.0.0.9") as some:
            for one in some:
                one.sendall(b"NONSENSE\r\n\r\n")
                assert read_to_end(one).startswith(b"HTTP/1.1 400")
    after = [file.stat().st_size for file in files]
    assert [more - less < 20_000 for less, more in zip(before, after, strict=True)] == [True, True]
    reported = attacked.audited(lambda line: line["address"] == "127.0.0.9")
    assert reported["code"] == "no-token"
