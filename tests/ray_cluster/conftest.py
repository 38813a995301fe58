"""A real Ray cluster of two nodes on this machine, and servers on it, for these tests."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import pytest

YARN_SITE = """<configuration>
  <property>
    <name>yarn.resourcemanager.scheduler.class</name>
    <value>org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler</value>
  </property>
  <property><name>yarn.scheduler.minimum-allocation-mb</name><value>128</value></property>
  <property><name>yarn.scheduler.increment-allocation-mb</name><value>128</value></property>
</configuration>
"""
ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "disabled",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # then all of it is on loopback
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "2000",
    "RAY_health_check_failure_threshold": "5",
}
STORAGE = {"RAY_gcs_storage": "rocksdb"}
FENCE_S = 8
"""5, the least, is too short on a busy machine: a healthy agent may hear of neither Ray nor a
server for so long, and then stops its tasks, which run again."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`make test-ray` installs Ray and runs these tests; otherwise they are skipped."""
    if "TEST_RAY" not in os.environ or find_spec("ray") is None:
        skip = pytest.mark.skip(reason="make test-ray runs them, on a real Ray cluster")
        folder = f"{Path(__file__).parent}{os.sep}"
        for item in items:
            if str(item.path).startswith(folder):
                item.add_marker(skip)


class Cluster:
    """Ray nodes, of which the first is the head."""

    def __init__(
        self,
        folder: Path,
        nodes: int,
        cpus: int = 2,
        memory_mb: int = 1024,
        more: dict[str, Any] | None = None,
        environment: dict[str, str] | None = None,
    ) -> None:
        place = {"RAY_TMPDIR": str(folder), "TMPDIR": str(folder)}
        storage = {**STORAGE, "RAY_gcs_storage_path": str(folder / "gcs")}
        further = environment or {}
        self.environment = {**os.environ, **ENVIRONMENT, **place, **storage, **further}
        command = [sys.executable, "-m", "tests.ray_cluster.cluster"]
        command += map(str, (nodes, cpus, memory_mb, json.dumps(more or {})))
        self._log = (folder / "cluster.log").open("wb")
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env=self.environment,
        )
        self._heard: dict[str, Any] = {}
        self._hear()

    def _hear(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith('{"address"'):
                self._heard = json.loads(line)
                return
        raise AssertionError(Path(self._log.name).read_text()[-3_000:])

    @property
    def address(self) -> str:
        """Where the head listens."""
        return str(self._heard["address"])

    @property
    def raylets(self) -> list[int]:
        """The processes of all raylets, the head's first."""
        return [int(one) for one in self._heard["raylets"]]

    def order(self, command: str) -> None:
        """`add`, `kill N`, `freeze N`, `thaw N`."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()
        self._hear()

    def stop(self) -> None:
        """End all nodes."""
        self._process.communicate(timeout=60)
        self._log.close()


class Server:
    """A server on a cluster, None: on this machine; `kill` and `start` as often as wanted."""

    def __init__(
        self, folder: Path, cluster: Cluster | None, engine: str = "", ray: str = "", more: str = ""
    ) -> None:
        self._environment = dict(os.environ) if cluster is None else cluster.environment
        self.conf = folder / "conf"
        self.conf.mkdir()
        (self.conf / "yarn-site.xml").write_text(YARN_SITE)
        queues = "".join(f'<queue name="{name}"/>' for name in ("one", "two"))
        (self.conf / "fair-scheduler.xml").write_text(f"<allocations>{queues}</allocations>")
        toml = "[engine]\nvcores = 16\nmemory_mb = 4096\n"
        if cluster is not None:
            where = f'address = "{cluster.address}"\nfence_s = {FENCE_S}\n{ray}'
            toml = f'[engine]\nkind = "ray"\n{engine}[ray]\n{where}{more}'
        (self.conf / "fairshare.toml").write_text(toml)
        self.state = folder / "state"
        self.process: subprocess.Popen[str]
        self.url = ""

    def start(self) -> None:
        """Start it, on a new port."""
        command = [sys.executable, "-m", "fairshare", "serve", "--conf", str(self.conf)]
        self.process = subprocess.Popen(
            [*command, "--trust-local-users", "--port", "0", "--state", str(self.state)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=self._environment,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith("listening on "), line
        self.url = line.split()[-1]

    def kill(self) -> None:
        """As a crash would."""
        self.process.kill()
        self.process.communicate()

    def stop(self) -> None:
        """End it with its containers and agents."""
        if self.process.poll() is None:
            httpx.post(f"{self.url}/api/v1/shutdown", json={"stop_containers": True})
            self.process.communicate(timeout=90)

    def get(self, path: str) -> Any:
        """An answer of the REST interface."""
        return httpx.get(f"{self.url}/api/v1/{path}", trust_env=False, timeout=20).json()

    def submit(self, **application: Any) -> str:
        """Submit an application; its name."""
        answer = httpx.post(f"{self.url}/api/v1/applications", json=application, trust_env=False)
        return str(answer.json()["id"])

    def nodes(self) -> list[str]:
        """The names of the nodes that are there."""
        return [one["name"] for one in self.get("nodes")["nodes"]]

    def driver(self) -> int:
        """The process of its Ray driver."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        for child in children.split():
            if b"fairshare.ray.driver" in Path(f"/proc/{child}/cmdline").read_bytes():
                return int(child)
        raise AssertionError("there is no driver")

    def ended(self, application: str) -> bool:
        """Whether an application has finished; fails if it ended otherwise."""
        state = self.get(f"applications/{application}")["state"]
        assert state in ("PENDING", "RUNNING", "FINISHED")
        return state == "FINISHED"


def wait(condition: Callable[[], Any], what: str, seconds: float = 60) -> Any:
    """Wait until a condition holds; its value."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"not in {seconds:g} s: {what}"
        time.sleep(0.1)
    return found


def agents(cluster: Cluster) -> list[int]:
    """The processes of the agents, which are children of the cluster's raylets."""
    found = []
    for raylet in cluster.raylets:
        children = Path(f"/proc/{raylet}/task/{raylet}/children").read_text()
        for child in children.split():
            if Path(f"/proc/{child}/cmdline").read_bytes().startswith(b"ray::NodeAgent"):
                found.append(int(child))
    return found


@pytest.fixture
def folder() -> Iterator[Path]:
    """Ray's sockets need a short path."""
    with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as name:
        yield Path(name)


@pytest.fixture
def cluster(folder: Path) -> Iterator[Cluster]:
    made = Cluster(folder, 2)
    try:
        yield made
    finally:
        made.stop()


@pytest.fixture
def server(tmp_path: Path, cluster: Cluster) -> Iterator[Server]:
    made = Server(tmp_path, cluster)
    made.start()
    wait(lambda: len(made.nodes()) == 2, "two nodes")
    try:
        yield made
    finally:
        made.stop()


def signal_process(process: int, number: signal.Signals) -> None:
    """Send a signal to one process that this test found."""
    os.kill(process, number)
