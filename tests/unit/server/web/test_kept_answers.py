"""What is kept of answers never differs from what would be written anew, whatever happens."""

import asyncio
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.browser.cluster import offers
from tests.browser.conftest import (
    capacity_configuration,
    fair_configuration,
    pools_configuration,
    write_site,
)
from tests.manual_engine import ManualEngine

from fairshare.runtime.clock import WallClock
from fairshare.server import rows as rows_module
from fairshare.server import slices
from fairshare.server.rows import application_row
from fairshare.server.server import LiveServer
from fairshare.server.settings import Overrides, read_settings
from fairshare.server.web.answers import encoded
from fairshare.server.web.app import build_app
from fairshare.server.web.nodes import node_rows
from fairshare.yarn.rest.application_documents import AppInfo, application_info
from fairshare.yarn.rest.nodes import all_nodes
from fairshare.yarn.rest.rendering import encoder

FAIR = (
    '<allocations><queue name="a"><maxRunningApps>3</maxRunningApps></queue>'
    '<queue name="b"/><queue name="c"><maxAMShare>0.1</maxAMShare></queue>'
    "<userMaxAppsDefault>6</userMaxAppsDefault></allocations>"
)
CAPACITY = {
    "root.queues": "a,b,c",
    "root.a.capacity": "40",
    "root.b.capacity": "40",
    "root.c.capacity": "20",
    "root.a.maximum-am-resource-percent": "0.2",
    "root.b.max-parallel-apps": "2",
}
QUEUES = ("root.a", "root.b", "root.c")


def fifo_configuration(directory: Path) -> Path:
    name = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fifo.FifoScheduler"
    write_site(directory, yarn__resourcemanager__scheduler__class=name)
    return directory


CONFIGURATIONS: dict[str, Callable[[Path], Path]] = {
    "fair": lambda path: fair_configuration(path, FAIR),
    "capacity": lambda path: capacity_configuration(path, CAPACITY),
    "fifo": fifo_configuration,
    "pools": pools_configuration,
}


class Story:
    """A server to which anything happens, at instants that the story chooses."""

    def __init__(self, server: LiveServer, engine: ManualEngine, seed: int) -> None:
        self.server = server
        self.engine = engine
        self.app = build_app(server)
        self.random = random.Random(seed)
        self.instant_ms = server.service.now_ms()
        server.service._clock = self  # type: ignore[assignment]
        transport = httpx.ASGITransport(app=self.app)
        self.http = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:1/api/v1")
        self.names: list[str] = []
        server.log_aggregation.enabled = True

    def now_ms(self) -> int:
        return self.instant_ms

    async def step(self) -> None:
        """Something happens, and all that follows from it."""
        chance = self.random
        self.instant_ms += chance.choice((0, 1, 700, 4_000))
        alive = sorted(self.engine.live)
        name = chance.choice(self.names or ["application_1_0001"])
        what = chance.randrange(10)
        if what < 4:
            await self.submit()
        elif what < 6:
            for container in chance.sample(alive, k=min(2, len(alive))):
                self.engine.end(container, chance.choice((0, 0, 1)), 'it said "no" \\ twice')
        elif what == 6:
            await self.http.post(f"/applications/{name}/kill", json={})
        elif what == 7:
            body: dict[str, Any] = {"queue": chance.choice(QUEUES)}
            await self.http.post(f"/applications/{name}/move", json=body)
        elif what == 8:
            body = {"priority": chance.randrange(1, 5)}
            await self.http.post(f"/applications/{name}/priority", json=body)
        else:
            verb = chance.choice(("drain", "undrain"))
            nodes = {"nodes": [f"node-{chance.randrange(4):04}"]}
            await self.http.post(f"/admin/nodes/{verb}", json=nodes)
        if known := list(self.server.scheduler.state.applications):
            status = chance.choice(("RUNNING", "SUCCEEDED", "FAILED"))
            self.server.log_aggregation.reported(chance.choice(known), "node-0001", status)
        for _ in range(10):
            await asyncio.sleep(0)

    async def submit(self) -> None:
        chance = self.random
        memory_mb = chance.choice((512, 2_048, 6_000))
        body: dict[str, Any] = {
            "queue": chance.choice(QUEUES),
            "name": 'a "name",\\ "elapsedTime":7,',
            "user": chance.choice(("ann", "bob")),
        }
        if chance.random() < 0.7:
            resources = {"memory-mb": memory_mb, "vcores": 1}
            group = {"name": "w", "command": "true", "count": 3, "resources": resources}
            body["tasks"] = [group]
        else:
            body["driver"] = {"command": "true", "resources": {"memory-mb": memory_mb}}
        if chance.random() < 0.3:
            body["lifetime_s"] = 60
        answer = await self.http.post("/applications", json=body)
        if answer.status_code == 201:
            self.names.append(answer.json()["id"])

    async def check(self) -> None:
        """All lists are what would be written anew."""
        server, state = self.server, self.server.scheduler.state
        gateway = self.app.state.gateway
        yarn = "http://127.0.0.1:1/ws/v1/cluster"
        for _ in range(50):
            version = server.service.version
            lists = ["/applications", "/nodes", f"{yarn}/apps", f"{yarn}/nodes"]
            lists.append(f"{yarn}/apps?deSelects=timeouts,resourceRequests")
            found = [(await self.http.get(path)).content for path in lists]
            if server.service.version == version:
                break
        else:
            raise AssertionError("it never comes to rest")
        known = list(state.applications.values())
        rows = [application_row(server.service, one) for one in reversed(known)]
        infos = [application_info(gateway, one, full=True) for one in known]
        without = frozenset({"timeouts", "resourcerequests"})
        fewer = [application_info(gateway, one, full=True, without=without) for one in known]
        wanted = [
            encoded({"applications": rows}),
            encoded(node_rows(server)),
            _apps(infos),
            encoder.encode({"nodes": {"node": all_nodes(gateway)}}),
            _apps(fewer),
        ]
        for path, here, there in zip(lists, found, wanted, strict=True):
            assert here == there, f"{path} differs at record {server.service.version}"


def _apps(infos: list[AppInfo]) -> bytes:
    return encoder.encode({"apps": {"app": infos} if infos else {}})


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("scheduler", list(CONFIGURATIONS))
async def test_kept_lists_equal_freshly_written_ones(
    scheduler: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows_module, "FEW", 1)
    monkeypatch.setattr(slices, "LOOKED_AFTER", 1)
    monkeypatch.setattr(slices, "SLICE_S", 0.0)
    settings = read_settings(
        CONFIGURATIONS[scheduler](tmp_path / "conf"),
        Overrides(port=0, state_directory=tmp_path / "state"),
    )
    engine = ManualEngine(tmp_path / "c", *offers(4, {"memory-mb": 8_192, "vcores": 8}, 2))
    server = LiveServer(settings, lambda _, __: engine)
    await server.start("http://127.0.0.1:1")
    story = Story(server, engine, seed)
    try:
        for _ in range(60):
            await story.step()
            await story.check()
    finally:
        server.service._clock = WallClock(story.instant_ms)
        await story.http.aclose()
        await server.end()
        await server.close()
    assert len(story.names) > 5, f"seed {seed}: hardly anything was accepted"
