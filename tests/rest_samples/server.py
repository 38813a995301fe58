"""Our server as a sample wants it: the real one, in which nothing happens by itself.

Nodes beat, masters register and containers end when a step says so; everything else, from the
configuration files to the bytes of an answer, is what `fairshare serve` runs.
"""

import dataclasses
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import httpx
from tests.manual_engine import ManualEngine

from fairshare.core.model.identifiers import ContainerId
from fairshare.server.server import LiveServer
from fairshare.server.settings import Overrides, read_settings
from fairshare.server.web.app import build_app
from fairshare.yarn.rest.application_documents import ApplicationInfos
from fairshare.yarn.rest.gateway import Gateway
from fairshare.yarn.rest.nodes import NodeInfos

ADDRESS = "localhost:8088"
CAPACITY = "yarn.scheduler.capacity."
_CLASS = "org.apache.hadoop.yarn.server.resourcemanager.scheduler."
_CLASSES = {
    "fair": _CLASS + "fair.FairScheduler",
    "capacity": _CLASS + "capacity.CapacityScheduler",
    "fifo": _CLASS + "fifo.FifoScheduler",
}


class SampleGateway(Gateway):
    """The live gateway with the names that stand in the samples."""

    def __init__(self, server: LiveServer, groups: dict[str, list[str]]) -> None:
        super().__init__(server, b"a secret of the samples, which is long enough")
        self.login_user = "yarn"
        self._groups = groups

    @property
    def address(self) -> str:
        return ADDRESS

    @property
    def started_ms(self) -> int:
        return self.scheduler.state.epoch_ms

    @property
    def keeps_state(self) -> bool:
        return False

    def node_address(self, node: str) -> str:
        return f"{node}:45454"

    def node_web_address(self, node: str) -> str:
        return f"{node}:8042"

    def unknown_node_address(self, node: str) -> str:
        return f"{node}:1"

    def signal(self, container: ContainerId, command: str) -> None:
        """Nothing runs that could be told anything."""

    async def groups_of(self, user: str) -> tuple[str, ...]:
        return tuple(self._groups.get(user, [user]))


@dataclasses.dataclass
class SampleServer:
    """A server, its gateway, and a client of it."""

    live: LiveServer
    gateway: SampleGateway
    http: httpx.AsyncClient

    async def close(self) -> None:
        """End both."""
        await self.http.aclose()
        await self.live.close()


def write_configuration(scenario: dict[str, Any], directory: Path) -> None:
    """The files of a configuration directory, as the scenario gives them and its properties."""
    directory.mkdir(parents=True)
    files = {name: str(text) for name, text in scenario.get("config", {}).items()}
    of_capacity: dict[str, str] = {}
    of_yarn = {"yarn.resourcemanager.scheduler.class": _CLASSES[scenario["scheduler"]]}
    for name, value in scenario.get("properties", {}).items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        text = text.replace("${tmp}", str(directory / "tmp"))
        (of_capacity if name.startswith(CAPACITY) else of_yarn)[name] = text
    for name, properties in (("yarn-site.xml", of_yarn), ("capacity-scheduler.xml", of_capacity)):
        if name in files:
            raise ValueError(f"{name} stands in config and in properties")
        if properties:
            files[name] = _xml(properties)
    # The nodes of a scenario join by its steps: to the settings it is a cluster of one.
    files.setdefault("fairshare.toml", '[engine]\nreservations = "on"\n')
    for name, text in files.items():
        (directory / name).write_text(text)


def _xml(properties: dict[str, str]) -> str:
    found = "".join(
        f"<property><name>{escape(name)}</name><value>{escape(value)}</value></property>"
        for name, value in properties.items()
    )
    return f'<?xml version="1.0"?><configuration>{found}</configuration>'


async def start_server(scenario: dict[str, Any], directory: Path) -> SampleServer:
    """A server with the scenario's configuration, in which no time passes for the scheduler."""
    write_configuration(scenario, directory / "conf")
    overrides = Overrides(port=0, state_directory=directory / "state")
    settings = read_settings(directory / "conf", overrides)
    engine = ManualEngine(directory / "containers", starts=False, stops=False)
    live = LiveServer(settings, lambda settings, path: engine)
    live._runtime._settle = lambda now_ms, enough=None: None  # type: ignore[method-assign]
    live._runtime.next_deadline_ms = lambda: None  # type: ignore[method-assign]
    await live.start(f"http://{ADDRESS}")
    app = build_app(live)
    gateway = SampleGateway(live, scenario.get("groups", {}))
    app.state.gateway = gateway
    app.state.application_infos = ApplicationInfos(gateway)
    app.state.node_infos = NodeInfos(gateway)
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    http = httpx.AsyncClient(transport=transport, base_url=f"http://{ADDRESS}", cookies=None)
    return SampleServer(live, gateway, http)
