"""A server without web pages and without processes: everything is real but the engine."""

from pathlib import Path

import msgspec
import pytest
from tests.manual_engine import ManualEngine

from fairshare.core.schedulers.fair.settings import FairSettings
from fairshare.engines.protocol import NodeOffer
from fairshare.server.server import LiveServer
from fairshare.server.settings import LiveSettings


@pytest.fixture
def engine(tmp_path: Path) -> ManualEngine:
    offer = NodeOffer("n1", "/default-rack", {"memory-mb": 4096, "vcores": 4}, {})
    return ManualEngine(tmp_path / "containers", offer)


@pytest.fixture
def settings(tmp_path: Path) -> LiveSettings:
    fair = FairSettings(minimum_allocation=(128, 1), increment_allocation=(128, 1))
    return LiveSettings(
        scheduler="fair",
        types=fair.types,
        scheduler_settings=msgspec.json.encode(fair),
        state_directory=tmp_path / "state",
        stop_containers=True,
    )


@pytest.fixture
async def server(settings: LiveSettings, engine: ManualEngine, anyio_backend: str):
    """A server that has started; it is closed after the test."""
    made = LiveServer(settings, lambda settings, path: engine)
    await made.start("http://127.0.0.1:1")
    yield made
    await made.close()
