"""A server without web pages and without processes: everything is real but the engine."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from fairshare.config.problems import Problem
from fairshare.engines.local.directories import ContainerDirectory
from fairshare.engines.protocol import LaunchOrder, NodeOffer
from fairshare.live.server import LiveServer
from fairshare.live.settings import LiveSettings
from fairshare.model.inputs import ContainerExited, ContainerStarted, Input
from fairshare.schedulers.fair.settings import FairSettings


class RecordingEngine:
    """Starts nothing; a test says what becomes of each container."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.offers = (NodeOffer("n1", "/default-rack", {"memory-mb": 4096, "vcores": 4}, {}),)
        self.orders: dict[int, LaunchOrder] = {}
        self.live: set[int] = set()
        self.stopped: list[int] = []
        self.pruned: list[str] = []
        self.closed: bool | None = None
        self.at_start: list[Input] = []
        self.report: Callable[[Input], None] = self.at_start.append

    def nodes(self) -> tuple[NodeOffer, ...]:
        return self.offers

    def trouble(self) -> str:
        return ""

    def start(self, report: Callable[[Input], None], **_: object) -> None:
        self.report = report
        for given in self.at_start:
            report(given)

    def launch(self, order: LaunchOrder) -> None:
        if order.container not in self.orders:
            self.orders[order.container] = order
            self.live.add(order.container)
            self.report(ContainerStarted(order.container))

    def stop(self, container: int) -> None:
        self.stopped.append(container)
        self.end(container, 143)

    def end(self, container: int, exit_code: int = 0, diagnostics: str = "") -> None:
        """Let a container end, as if by itself."""
        if container in self.live:
            self.live.remove(container)
            self.report(ContainerExited(container, exit_code, diagnostics, 7, 42))

    def running(self) -> frozenset[int]:
        return frozenset(self.live)

    def files(self, application_name: str, container_name: str) -> ContainerDirectory:
        return ContainerDirectory(self.path / application_name / container_name)

    def prune(self, application_name: str) -> None:
        self.pruned.append(application_name)

    def close(self, *, stop_containers: bool) -> None:
        self.closed = stop_containers


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def engine(tmp_path: Path) -> RecordingEngine:
    return RecordingEngine(tmp_path / "containers")


@pytest.fixture
def settings(tmp_path: Path) -> LiveSettings:
    fair = FairSettings(minimum_allocation=(128, 1), increment_allocation=(128, 1))
    warnings: tuple[Problem, ...] = ()
    return LiveSettings(
        scheduler="fair",
        types=fair.types,
        scheduler_settings=msgspec.json.encode(fair),
        heartbeat_interval_ms=1_000,
        host="127.0.0.1",
        port=0,
        state_directory=tmp_path / "state",
        nodes=1,
        memory_mb=None,
        vcores=None,
        stop_containers=True,
        warnings=warnings,
    )


@pytest.fixture
async def server(settings: LiveSettings, engine: RecordingEngine, anyio_backend: str):
    """A server that has started; it is closed after the test."""
    made = LiveServer(settings, lambda settings, path: engine)
    await made.start("http://127.0.0.1:1")
    yield made
    await made.close()
