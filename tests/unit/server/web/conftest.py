"""A server with its pages in one loop, called without a socket; the engine only records."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import msgspec
import pytest
from tests.manual_engine import ManualEngine
from tests.waiting import until_state

from fairshare.core.model.inputs import UpdateShares
from fairshare.core.schedulers.fair.settings import AllocationSettings, FairSettings, QueueSettings
from fairshare.engines.protocol import NodeOffer
from fairshare.server.server import LiveServer
from fairshare.server.settings import LiveSettings
from fairshare.server.web.app import build_app


class Page:
    """A client of one server, and the server itself for what a test has to wait for."""

    def __init__(self, server: LiveServer, engine: ManualEngine, http: httpx.AsyncClient) -> None:
        self.server = server
        self.engine = engine
        self.http = http
        self.get = http.get
        self.post = http.post

    async def submit(self, **body: object) -> str:
        """Submit an application; its name."""
        answer = await self.post("/applications", json=body)
        assert answer.status_code == 201, answer.text
        name: str = answer.json()["id"]
        return name

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait until something holds."""
        await until_state(self.server, condition)

    async def launched(self, count: int = 1) -> list[int]:
        """The containers that were ordered, once there are so many."""
        await self.until(lambda: len(self.engine.orders) >= count)
        return list(self.engine.orders)


@pytest.fixture
def engine(tmp_path: Path) -> ManualEngine:
    offer = NodeOffer("n1", "/r1", {"memory-mb": 4096, "vcores": 4}, {"memory-limit": "watch"})
    return ManualEngine(tmp_path / "containers", offer, stops=False)


@pytest.fixture
def server_settings(tmp_path: Path) -> LiveSettings:
    fair = FairSettings(
        minimum_allocation=(128, 1),
        increment_allocation=(128, 1),
        allocations=AllocationSettings(
            queues={name: QueueSettings(name) for name in ("root.a", "root.b")}, from_file=True
        ),
    )
    return LiveSettings(
        scheduler="fair",
        types=fair.types,
        scheduler_settings=msgspec.json.encode(fair),
        state_directory=tmp_path / "state",
        stop_containers=True,
    )


@asynccontextmanager
async def started(server: LiveServer) -> AsyncIterator[httpx.AsyncClient]:
    """Start a server, and call its interface, for as long as the context lasts."""
    await server.start("http://127.0.0.1:1")
    try:
        transport = httpx.ASGITransport(build_app(server), raise_app_exceptions=False)
        url = "http://127.0.0.1:1/api/v1"
        async with httpx.AsyncClient(transport=transport, base_url=url) as http:
            yield http
    finally:
        await server.close()


@asynccontextmanager
async def served(settings: LiveSettings, engine: ManualEngine) -> AsyncIterator[Page]:
    """A server with its pages, for as long as the context lasts."""
    server = LiveServer(settings, lambda settings, path: engine)
    async with started(server) as http:
        # The first shares of the nodes: else they are recorded at any moment of a test.
        await server.service.ask(UpdateShares())
        yield Page(server, engine, http)


@pytest.fixture
async def page(server_settings: LiveSettings, engine: ManualEngine, anyio_backend: str):
    async with served(server_settings, engine) as found:
        yield found
