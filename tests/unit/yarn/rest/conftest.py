"""A server that does nothing by itself, behind YARN's paths."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.rest_samples.server import SampleServer, start_server

from fairshare.core.model.inputs import NodeBeat, NodeJoined, UpdateShares

ALLOCATIONS = (
    "<allocations><queueMaxAMShareDefault>-1.0</queueMaxAMShareDefault>"
    '<queue name="a"/><queue name="b"/></allocations>'
)


class Yarn:
    """One server: its paths below `/ws/v1/cluster`, and its nodes."""

    def __init__(self, server: SampleServer) -> None:
        self.server = server
        self.state = server.live.scheduler.state

    async def call(self, method: str, path: str, **more: Any) -> httpx.Response:
        self.server.http.cookies.clear()
        return await self.server.http.request(method, f"/ws/v1/cluster{path}", **more)

    async def get(self, path: str, **more: Any) -> httpx.Response:
        return await self.call("GET", path, **more)

    async def beat(self) -> None:
        await self.server.live.service.ask(UpdateShares())
        for node in self.state.nodes:
            await self.server.live.service.ask(NodeBeat(node))

    async def reserve(self, user: str = "alice") -> str:
        answer = await self.call("POST", f"/apps/new-application?user.name={user}")
        name: str = answer.json()["application-id"]
        return name

    async def submit(self, user: str = "alice", **body: Any) -> str:
        name = await self.reserve(user)
        wanted = {"application-id": name, "queue": "root.a", **body}
        wanted.setdefault("am-container-spec", {"commands": {"command": "sleep 100"}})
        answer = await self.call("POST", f"/apps?user.name={user}", json=wanted)
        assert answer.status_code == 202, answer.text
        return name

    async def app(self, name: str, user: str = "alice") -> dict[str, Any]:
        answer = await self.get(f"/apps/{name}?user.name={user}")
        found: dict[str, Any] = answer.json()["app"]
        return found


@pytest.fixture
async def start(tmp_path: Path, anyio_backend: str) -> AsyncIterator[Callable[..., Any]]:
    servers: list[SampleServer] = []

    async def begin(**properties: Any) -> Yarn:
        scenario = {
            "scheduler": properties.pop("scheduler", "fair"),
            "config": properties.pop("config", {"fair-scheduler.xml": ALLOCATIONS}),
            "properties": properties,
        }
        server = await start_server(scenario, tmp_path / str(len(servers)))
        servers.append(server)
        yarn = Yarn(server)
        await server.live.service.ask(NodeJoined("n1", (8192, 8)))
        return yarn

    yield begin
    for server in servers:
        await server.close()


@pytest.fixture
async def yarn(start: Callable[..., Any]) -> Yarn:
    found: Yarn = await start()
    return found
