"""What a tenant makes large costs him, and neither the server nor others."""

from pathlib import Path

SMALL = {"memory-mb": 64}


def highest_memory_kb(attacked):
    status = Path(f"/proc/{attacked.server.process.pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0])


def container_of(attacked, http, command):
    """The container of one task that has ended."""
    body = {"queue": "a", "tasks": [{"command": command, "resources": SMALL}]}
    name = http.post("/api/v1/applications", json=body).json()["id"]
    attacked.server.http.headers["Authorization"] = f"Bearer {attacked.token('ann')}"
    attacked.server.finished(name)
    (container,) = attacked.server.containers(name)
    return container["id"]


def test_a_result_that_is_too_large_is_not_sent(attacked):
    with attacked.client("ann") as http:
        container = container_of(attacked, http, "truncate -s 1G ../result.pickle")
        before_kb = highest_memory_kb(attacked)
        answer = http.get(f"/api/v1/containers/{container}/result")
        assert (answer.status_code, answer.json()["code"]) == (413, "result-too-large")
        assert "result_mb" in answer.json()["message"]
        container = container_of(attacked, http, "head -c 1000000 /dev/urandom >../result.pickle")
        answer = http.get(f"/api/v1/containers/{container}/result")
        assert (answer.status_code, len(answer.content)) == (200, 1_000_000)
    assert highest_memory_kb(attacked) - before_kb < 10_000


def test_unknown_paths_add_no_metrics(attacked):
    with attacked.client("root", "127.0.0.1", "--admin") as http:
        for path in ("/static/{}%0A", "/ws/v1/cluster/apps/{}%0A", "/api/v1/applications/{}%0A"):
            http.get(path.format("first"))
        before = http.get("/metrics").text.count("\n")
        for number in range(100):
            http.get(f"/static/{number}%0A")
            http.get(f"/ws/v1/cluster/apps/{number}%0A")
            http.get(f"/api/v1/applications/{number}%0A")
            http.request(f"M{number}", "/static/x")
        found = http.get("/metrics").text
    assert found.count("\n") < before + 100
    assert "%0A" not in found
