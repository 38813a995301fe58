"""A server with its pages on a socket, and an engine that runs nothing: for tests of the pages,
their pictures and their measurement.

The server lives in a thread with a loop of its own. Containers start at once and end when a test
says so. `Cluster.end_some` and `submit` make things happen; nothing happens by itself.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from tests.manual_engine import ManualEngine

from fairshare.engines.protocol import GpuUse, NodeOffer
from fairshare.server.server import LiveServer
from fairshare.server.settings import LiveSettings, Overrides, read_settings
from fairshare.server.web.app import build_app
from fairshare.server.web.listener import bind, url_of

READY_S = 60.0


class Cluster:
    """A running server, seen from outside; `url` is where its pages are."""

    def __init__(self, server: LiveServer, engine: ManualEngine, url: str) -> None:
        self.server = server
        self.engine = engine
        self.url = url
        self.http = httpx.Client(base_url=f"{url}/api/v1", timeout=120, trust_env=False)

    def submit(self, queue: str, count: int = 1, **more: object) -> str:
        """Hand in an application of `count` tasks; its name."""
        resources = more.pop("resources", {"memory-mb": 1024, "vcores": 1})
        group = {"name": "work", "command": "true", "count": count, "resources": resources}
        body = {"queue": queue, "tasks": [group], **more}
        answer = self.http.post("/applications", json=body)
        assert answer.status_code == 201, answer.text
        name: str = answer.json()["id"]
        return name

    def end_some(self, count: int, exit_code: int = 0) -> None:
        """The first containers that still run end."""
        for container in sorted(self.engine.live)[:count]:
            self.engine.end(container, exit_code)

    def queue(self, name: str) -> dict[str, Any]:
        """One queue as the REST interface tells it."""
        rows = self.http.get("/queues").json()["queues"]
        row: dict[str, Any] = next(row for row in rows if row["name"] == name)
        return row

    def until(self, condition: Callable[[], object], timeout_s: float = 20.0) -> None:
        """Wait for something; each look waits for the next change of the server."""
        since: dict[str, int] = {}
        for _ in range(int(timeout_s * 10)):
            if condition():
                return
            answer = self.http.get("/changes", params={**since, "timeout": 0.1})
            since = {"since": answer.json()["version"]}
        raise AssertionError("it did not come true")


class _Web(uvicorn.Server):
    """Without signal handlers: it lives in a thread."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _web(server: LiveServer) -> _Web:
    return _Web(
        uvicorn.Config(
            build_app(server),
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=2,
        )
    )


def offers(
    nodes: int, offer: dict[str, int], racks: int, attributes: dict[str, str] | None = None
) -> Iterator[NodeOffer]:
    """Equal nodes, dealt out to racks."""
    for number in range(nodes):
        name, rack = f"node-{number:04}", f"/rack-{number % racks:02}"
        yield NodeOffer(name, rack, offer, attributes or {})


@contextmanager
def running(
    configuration: Path,
    state: Path,
    *,
    nodes: int = 4,
    offer: dict[str, int] | None = None,
    racks: int = 4,
    port: int = 0,
    uses: tuple[GpuUse, ...] = (),
    settings: Callable[[LiveSettings], LiveSettings] = lambda given: given,
) -> Iterator[Cluster]:
    """Serve a configuration directory until the block ends."""
    given = settings(read_settings(configuration, Overrides(port=port, state_directory=state)))
    attributes = {"gpus": ",".join(use.name for use in uses)} if uses else {}
    offered = offers(nodes, offer or {"memory-mb": 8192, "vcores": 8}, racks, attributes)
    engine = ManualEngine(state / "containers", *offered)
    engine.uses = uses
    ready = threading.Event()
    reported: list[Cluster] = []
    failures: list[BaseException] = []
    end: list[Callable[[], None]] = []

    async def serve() -> None:
        with closing(bind("127.0.0.1", port)) as listener:
            server = LiveServer(given, lambda _, __: engine)
            try:
                await server.start(url_of(listener))
                web = _web(server)
                loop = asyncio.get_running_loop()
                end.append(lambda: loop.call_soon_threadsafe(setattr, web, "should_exit", True))
                reported.append(Cluster(server, engine, server.url))
                serving = asyncio.create_task(web.serve([listener]))
                ready.set()
                while not web.should_exit:
                    await asyncio.sleep(0.05)
                await server.end()
                await serving
            finally:
                await server.close()

    def run() -> None:
        try:
            asyncio.run(serve())
        except BaseException as error:
            failures.append(error)
        finally:
            ready.set()

    thread = threading.Thread(target=run, name="pages-server")
    thread.start()
    try:
        assert ready.wait(READY_S), "the server did not start"
        if failures:
            raise failures[0]
        yield reported[0]
    finally:
        for stop in end:
            stop()
        for cluster in reported:
            cluster.http.close()
        thread.join(30)
    if failures:
        raise failures[0]
