"""A cluster that is only a table of answers, and the command line in front of it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner, Result

from fairshare.cli.verbs import fairshare
from fairshare.client import Client

EPOCH_MS = 1_700_000_000_000
NOW_MS = EPOCH_MS + 3_600_000
URL = "http://127.0.0.1:8188"
UNLIMITED = 2**63 - 1

Answer = tuple[int, Any, dict[str, str]]


def amounts(memory_mb: int, vcores: int) -> dict[str, int]:
    return {"memory-mb": memory_mb, "vcores": vcores}


def application_name(number: int) -> str:
    return f"application_{EPOCH_MS}_{number:04d}"


def container_name(application: int, number: int) -> str:
    return f"container_{EPOCH_MS}_{application:04d}_01_{number:06d}"


def queue(name: str, used: int, fair: int, **fields: Any) -> dict[str, Any]:
    return {
        "name": name,
        "parent": name.rpartition(".")[0],
        "children": [],
        "leaf": True,
        "dynamic": False,
        "policy": "fair",
        "weight": 1.0,
        "used": amounts(used * 1024, used),
        "demand": amounts(used * 2048, used * 2),
        "min_share": amounts(0, 0),
        "max_share": amounts(UNLIMITED, UNLIMITED),
        "fair_share": amounts(fair * 1024, fair),
        "steady_fair_share": amounts(fair * 512, fair // 2),
        "running_applications": 1,
        "pending_applications": 0,
        "max_running_applications": None,
        "containers": used,
        "preempted": 0,
        **fields,
    }


def application(number: int, state: str, **fields: Any) -> dict[str, Any]:
    over = state not in ("PENDING", "RUNNING")
    return {
        "id": application_name(number),
        "name": f"job {number}",
        "user": "ann",
        "queue": "root.research.ads",
        "state": state,
        "kind": "tasks",
        "priority": 0,
        "attempt": 1,
        "runnable": True,
        "submitted_ms": NOW_MS - number * 61_000,
        "started_ms": NOW_MS - number * 60_000,
        "began_ms": NOW_MS - number * 60_000,
        "finished_ms": NOW_MS - 30_000 if over else None,
        "containers": 0 if over else 2,
        "used": amounts(0, 0) if over else amounts(1024, 2),
        "pending": amounts(512, 1),
        "demand": amounts(1536, 3),
        "fair_share": amounts(0, 0) if over else amounts(2048, 2),
        "headroom": amounts(8192, 8),
        "preempted": 0,
        "diagnostics": "",
        "progress": {"total": 10, "succeeded": 6, "running": 2, "waiting": 2, "failed": 0},
        **fields,
    }


def container(number: int, **fields: Any) -> dict[str, Any]:
    return {
        "id": container_name(7, number),
        "node": "node-1",
        "resources": amounts(512, 1),
        "state": "RUNNING",
        "group": "map",
        "task": number - 1,
        "exit_code": None,
        "diagnostics": "",
        "peak_memory_mb": 100,
        "cpu_ms": 10,
        "allocated_ms": NOW_MS - 5_000,
        "finished_ms": None,
        "master": False,
        **fields,
    }


def groups(succeeded: int) -> list[dict[str, Any]]:
    return [
        {
            "name": "map",
            "count": 8,
            "succeeded": succeeded,
            "running": 8 - succeeded,
            "waiting": 0,
            "failed": 0,
        },
        {"name": "reduce", "count": 2, "succeeded": 0, "running": 0, "waiting": 2, "failed": 0},
    ]


class FakeCluster:
    """Answers by path; a test changes `answers`, or reads `calls`.

    An answer is data for JSON, bytes, an `httpx.Response`, an exception, or a list of these: then
    each call takes the next, and the last one stays.
    """

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, Any]] = []
        self.answers: dict[str, Any] = {
            "/cluster": {
                "name": "fairshare",
                "version": "1.0.0",
                "scheduler": "fair",
                "engine": "local",
                "state_directory": "/var/lib/fairshare",
                "epoch_ms": EPOCH_MS,
                "started_ms": EPOCH_MS,
                "now_ms": NOW_MS,
                "total": amounts(16384, 16),
                "used": amounts(12288, 12),
                "available": amounts(4096, 4),
                "pending": amounts(2048, 2),
                "nodes": 2,
                "containers": 12,
                "applications": {"RUNNING": 2, "PENDING": 1, "FINISHED": 5, "FAILED": 0},
            },
            "/queues": {
                "queues": [
                    queue("root", 12, 16, running_applications=2, pending_applications=1),
                    queue("root.research", 8, 10, leaf=False, policy="drf"),
                    queue("root.default", 4, 2, min_share=amounts(2048, 2), weight=0.5),
                    queue("root.research.ads", 8, 10, max_share=amounts(12288, 12)),
                    queue("root.research.search", 0, 0, running_applications=0),
                ]
            },
            "/nodes": {
                "nodes": [
                    {
                        "name": "node-1",
                        "rack": "/default-rack",
                        "total": amounts(8192, 8),
                        "used": amounts(8192, 6),
                        "available": amounts(0, 2),
                        "containers": 8,
                        "reserved_for": application_name(9),
                        "attributes": {"memory-limit": "cgroup"},
                    },
                    {
                        "name": "node-2",
                        "rack": "/default-rack",
                        "total": amounts(8192, 8),
                        "used": amounts(4096, 4),
                        "available": amounts(4096, 4),
                        "containers": 4,
                        "reserved_for": None,
                        "attributes": {},
                    },
                ]
            },
            "/applications": {
                "applications": [
                    application(9, "PENDING", name="held back", runnable=False),
                    application(7, "RUNNING", queue="root.research.search"),
                    application(3, "RUNNING", kind="driver", progress=None, user="bob"),
                ]
            },
            f"/applications/{application_name(7)}": application(
                7, "RUNNING", groups=groups(6), containers=[container(7), container(8)]
            ),
            f"/applications/{application_name(7)}/containers": {
                "containers": [container(7), container(8)]
            },
            "/changes": {"version": 4},
            "/configuration": {
                "file": "/etc/fairshare/fair-scheduler.xml",
                "loaded_ms": EPOCH_MS,
                "version": 1,
                "changed": False,
                "problems": [],
                "error": None,
            },
        }

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix("/api/v1")
        body = json.loads(request.content) if request.content else dict(request.url.params)
        self.calls.append((request.method, path, body))
        answer = self.answers.get(f"{request.method} {path}", self.answers.get(path))
        if isinstance(answer, list):
            answer = answer.pop(0) if len(answer) > 1 else answer[0]
        if isinstance(answer, BaseException):
            raise answer
        if callable(answer):
            answer = answer(request)
        if isinstance(answer, httpx.Response):
            return answer
        if isinstance(answer, bytes):
            return log_part(request, answer)
        if answer is None:
            return refusal(404, "unknown-application", f"there is nothing at {path}")
        return httpx.Response(200, json=answer)

    def posted(self) -> list[tuple[str, Any]]:
        return [(path, body) for method, path, body in self.calls if method == "POST"]


def log_part(request: httpx.Request, log: bytes) -> httpx.Response:
    offset, limit = int(request.url.params["offset"]), int(request.url.params["limit"])
    part = log[offset : offset + limit]
    complete = offset + len(part) >= len(log)
    return httpx.Response(
        200, content=part, headers={"X-Fairshare-Complete": "true" if complete else "false"}
    )


def refusal(status: int, code: str, message: str) -> httpx.Response:
    return httpx.Response(status, json={"code": code, "message": message})


Run = Callable[..., Result]


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster()


@pytest.fixture
def run(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Calls a verb as a user would; the width is that of the terminal, None that of a pipe."""
    for name in ("FAIRSHARE_URL", "FAIRSHARE_STATE", "FAIRSHARE_TOKEN", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FAIRSHARE_USER", "ann")

    def open_client(url: str | None) -> Client:
        client = Client(url or URL, transport=httpx.MockTransport(cluster))
        client.pace_s = 0.0
        return client

    def call(*arguments: str, width: int | None = 120, typed: str | None = None) -> Result:
        monkeypatch.setenv("COLUMNS", "" if width is None else str(width))
        return CliRunner().invoke(fairshare, list(arguments), obj=open_client, input=typed)

    return call


@pytest.fixture
def same_as_drawn() -> Callable[[str, str], None]:
    """Compares an output with a file beside the tests; a missing file is written, and fails once.

    To draw a table anew, delete its file.
    """

    def compare(name: str, output: str) -> None:
        file = Path(__file__).parent / "tables" / f"{name}.txt"
        drawn = "\n".join(line.rstrip() for line in output.splitlines()) + "\n"
        if not file.exists():
            file.write_text(drawn)
            pytest.fail(f"{file} is new: look at it, and run the test again")
        assert drawn == file.read_text()

    return compare
