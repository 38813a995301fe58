"""What is kept of answers never differs from what would be written anew, whatever happens."""

import json
import random
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.browser.cluster import IdleEngine
from tests.browser.conftest import (
    capacity_configuration,
    fair_configuration,
    pools_configuration,
    write_site,
)

from fairshare.live.server import LiveServer
from fairshare.live.settings import Overrides, read_settings
from fairshare.web import application_rows
from fairshare.web.answers import encoded
from fairshare.web.app import build_app
from fairshare.web.node_rows import node_rows
from fairshare.web.yarn.application_documents import application_info
from fairshare.web.yarn.nodes import all_nodes
from fairshare.web.yarn.rendering import encoder

FAIR = (
    '<allocations><queue name="a"><maxRunningApps>3</maxRunningApps></queue>'
    '<queue name="b"/><queue name="c"><maxAMShare>0.1</maxAMShare></queue>'
    '<userMaxAppsDefault>6</userMaxAppsDefault></allocations>'
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
    """A server to which anything happens, and a look at all its lists after each step."""

    def __init__(self, server: LiveServer, engine: IdleEngine, seed: int) -> None:
        self.server = server
        self.engine = engine
        self.app = build_app(server)
        self.random = random.Random(seed)
        self.now_ms = server.service.now_ms()
        server.service._clock = self  # type: ignore[assignment]
        self.http = httpx.AsyncClient(
            transport=httpx.ASGITransport(app=self.app),
            base_url="http://127.0.0.1:1",
            headers={"Accept-Encoding": "identity"},
        )
        self.names: list[str] = []

    async def step(self) -> None:
        chance = self.random
        self._now_ms += chance.choice((0, 1, 700, 4_000))
        match chance.randrange(9):
            case 0 | 1 | 2:
                await self.submit()
            case 3 | 4:
                for container in chance.sample(sorted(self.engine.alive), k=min(3, len(self.engine.alive))):
                    self.engine.end(container, chance.choice((0, 0, 1)), 'said "no", \\ twice')
            case 5 if self.names:
                await self.http.post(f"/api/v1/applications/{chance.choice(self.names)}/kill", json={})
            case 6 if self.names:
                body = {"queue": chance.choice(QUEUES)}
                await self.http.post(f"/api/v1/applications/{chance.choice(self.names)}/move", json=body)
            case 7 if self.names:
                body = {"priority": chance.randrange(1, 5)}
                name = chance.choice(self.names)
                await self.http.post(f"/api/v1/applications/{name}/priority", json=body)
            case 8:
                node = f"node-{chance.randrange(4):04}"
                verb = chance.choice(("drain", "undrain"))
                await self.http.post(f"/api/v1/nodes/{node}/{verb}", json={})
            case _:
                pass
