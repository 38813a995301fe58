"""A configuration directory of the Capacity Scheduler, and servers of it."""

from pathlib import Path

from tests.manual_engine import ManualEngine

from fairshare.server.server import LiveServer
from fairshare.server.settings import Overrides, read_settings

P = "yarn.scheduler.capacity."
SCHEDULER = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity."
QUEUES = {f"{P}root.queues": "a,b", f"{P}root.a.capacity": 60, f"{P}root.b.capacity": 40}


class Place:
    """A configuration directory and a state directory; starts servers of both."""

    def __init__(self, path: Path, engine: ManualEngine) -> None:
        self.conf, self.state, self.engine = path / "conf", path / "state", engine
        self.conf.mkdir()
        self.site()
        self.capacity(**QUEUES)

    def _write(self, name: str, properties: dict[str, object]) -> None:
        rows = "".join(
            f"<property><name>{name}</name><value>{value}</value></property>\n"
            for name, value in properties.items()
        )
        (self.conf / name).write_text(f"<configuration>\n{rows}</configuration>")

    def site(self, **properties: object) -> None:
        scheduler = {"yarn.resourcemanager.scheduler.class": SCHEDULER + "CapacityScheduler"}
        self._write("yarn-site.xml", {**scheduler, **properties})

    def capacity(self, **properties: object) -> None:
        self._write("capacity-scheduler.xml", properties)

    async def start(self) -> LiveServer:
        settings = read_settings(self.conf, Overrides(port=0, state_directory=self.state))
        server = LiveServer(settings, lambda settings, path: self.engine)
        await server.start("http://127.0.0.1:1")
        return server
