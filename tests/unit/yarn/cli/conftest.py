"""YARN's command line in front of two clusters: recorded answers of a real one, and our server."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import anyio
import anyio.from_thread
import httpx
import pytest
from click.testing import CliRunner, Result
from tests.rest_samples.server import SampleServer, start_server

from fairshare.cli.verbs import fairshare
from fairshare.core.model.inputs import Input, NodeBeat, NodeJoined, UpdateShares

SAMPLES = Path(__file__).parents[5] / "shared" / "rest-samples"
EPOCH_MS = 1_700_000_000_000
URL = "http://rm.example:8088"
RULES = (
    (r'"@ts@"', str(EPOCH_MS)),
    (r"@ts@", str(EPOCH_MS)),
    (r'"@time@"', str(EPOCH_MS)),
    (r"@time:string@", str(EPOCH_MS)),
    (r'"@number@"', "7"),
    (r"@number:string@", "7"),
    (r"@rm@", "rm.example:8088"),
    (r"@version@", "3.4.1"),
    (r"@date(:string)?@", "2031-02-03T04:05:06.789+0000"),
)


def filled(text: str) -> str:
    """A recorded text, with one value for each placeholder."""
    for pattern, value in RULES:
        text = re.sub(pattern, value, text)
    return text


class Recorded:
    """The answers of one state of a real ResourceManager. It keeps the writes it was sent."""

    def __init__(self, directory: Path) -> None:
        self.calls: list[tuple[str, str, Any]] = []
        self.answers: dict[tuple[str, str], list[httpx.Response]] = {}
        for path in sorted(directory.glob("[0-9]*.json")):
            sample = json.loads(path.read_text())
            request, response = sample["request"], sample["response"]
            if "xml" in request["headers"].get("Accept", ""):
                continue
            key = (request["method"], filled(unquote(request["path"])))
            kind = response["headers"].get("Content-Type", "")
            body = filled(response.get("body") or "").encode()
            answer = httpx.Response(
                response["status"], content=body, headers={"Content-Type": kind}
            )
            self.answers.setdefault(key, []).append(answer)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = unquote(request.url.path)
        body = json.loads(request.content) if request.content else None
        if request.method != "GET":
            self.calls.append((request.method, path, body))
        found = self.answers.get((request.method, path))
        if found is None:
            return httpx.Response(404, content=b"<html>", headers={"Content-Type": "text/html"})
        answer = found.pop(0) if request.method != "GET" and len(found) > 1 else found[0]
        states = parse_qs(urlsplit(str(request.url)).query).get("states")
        content = answer.content
        if states and answer.is_success:
            content = _chosen(content, states[0].split(","))
        return httpx.Response(answer.status_code, content=content, headers=answer.headers)


def _chosen(content: bytes, states: list[str]) -> bytes:
    document = json.loads(content)
    for outer, inner in (("apps", "app"), ("nodes", "node")):
        for one in list(document.get(outer, {}).get(inner, [])):
            if one["state"] not in states:
                document[outer][inner].remove(one)
    return json.dumps(document).encode()


class Yarn:
    """The command line with one cluster behind it."""

    def __init__(self, transport: httpx.BaseTransport) -> None:
        self._transport = transport

    def __call__(self, *words: str, url: str | None = URL) -> Result:
        given = ["yarn", *words, *(["--url", url] if url else [])]
        return CliRunner().invoke(fairshare, given, obj=self._transport)

    def lines(self, *words: str) -> list[str]:
        result = self(*words)
        assert result.exit_code == 0, result.output
        return result.stdout.splitlines()


@pytest.fixture(autouse=True)
def plain_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FAIRSHARE_URL", "FAIRSHARE_TOKEN", "HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HADOOP_USER_NAME", "alice")
    monkeypatch.setenv("TZ", "UTC")


@pytest.fixture
def recorded() -> Callable[[str], tuple[Yarn, Recorded]]:
    def of(state: str) -> tuple[Yarn, Recorded]:
        if not (SAMPLES / state).is_dir():
            pytest.skip("../shared/rest-samples is not there")
        answers = Recorded(SAMPLES / state)
        return Yarn(httpx.MockTransport(answers)), answers

    return of


class OurTransport(httpx.BaseTransport):
    """Calls a server that lives in the loop of another thread."""

    def __init__(self, portal: anyio.from_thread.BlockingPortal, server: SampleServer) -> None:
        self._portal = portal
        self._server = server

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self._portal.call(self._ask, request, request.read())

    async def _ask(self, request: httpx.Request, content: bytes) -> httpx.Response:
        self._server.http.cookies.clear()
        url = str(request.url).replace(URL, "http://localhost:8088")
        headers = {k: v for k, v in request.headers.items() if k not in ("host", "content-length")}
        answer = await self._server.http.request(
            request.method, url, headers=headers, content=content
        )
        return httpx.Response(
            answer.status_code,
            content=answer.content,
            headers={"Content-Type": answer.headers.get("Content-Type", "")},
        )


class Ours(Yarn):
    """Our server in this process, to which things are told."""

    def __init__(self, portal: anyio.from_thread.BlockingPortal, server: SampleServer) -> None:
        super().__init__(OurTransport(portal, server))
        self._portal = portal
        self._server = server
        self.epoch_ms = server.live.scheduler.state.epoch_ms

    def tell(self, *inputs: Input) -> None:
        for one in inputs:
            self._portal.call(self._server.live.service.ask, one)

    def beat(self) -> None:
        self.tell(UpdateShares())
        for node in list(self._server.live.scheduler.state.nodes):
            self.tell(NodeBeat(node))

    def submit(self, queue: str, name: str, memory_mb: int = 1024) -> str:
        """A command as an application, as REST submits it."""
        http = httpx.Client(transport=self._transport, base_url=URL)
        base = "/ws/v1/cluster/apps"
        found: str = http.post(f"{base}/new-application?user.name=alice").json()["application-id"]
        body = {
            "application-id": found,
            "application-name": name,
            "queue": queue,
            "am-container-spec": {"commands": {"command": "sleep 100"}},
            "resource": {"memory": memory_mb, "vCores": 1},
        }
        answer = http.post(f"{base}?user.name=alice", json=body)
        assert answer.status_code == 202, answer.text
        self.beat()
        return found


ALLOCATIONS = (
    "<allocations><queueMaxAMShareDefault>-1.0</queueMaxAMShareDefault>"
    '<queue name="a"><weight>3.0</weight></queue><queue name="b"/></allocations>'
)
CAPACITY = {
    "yarn.scheduler.configuration.store.class": "memory",
    "yarn.node-labels.enabled": True,
    "yarn.scheduler.capacity.root.queues": "a,b",
    "yarn.scheduler.capacity.root.a.capacity": 25,
    "yarn.scheduler.capacity.root.b.capacity": 75,
    "yarn.scheduler.capacity.maximum-am-resource-percent": 1.0,
}


@pytest.fixture
def ours(tmp_path: Path) -> Iterator[Callable[..., Ours]]:
    with anyio.from_thread.start_blocking_portal() as portal:
        servers: list[SampleServer] = []

        def start(scheduler: str = "fair") -> Ours:
            scenario: dict[str, Any] = {"scheduler": scheduler, "properties": {}}
            if scheduler == "fair":
                scenario["config"] = {"fair-scheduler.xml": ALLOCATIONS}
            else:
                scenario["properties"] = CAPACITY
            server = portal.call(start_server, scenario, tmp_path / "server")
            servers.append(server)
            found = Ours(portal, server)
            found.tell(NodeJoined("n1", (8192, 8)))
            return found

        yield start
        for server in servers:
            portal.call(server.close)
