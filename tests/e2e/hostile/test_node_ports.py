"""Whatever arrives at the ports for NodeManagers and their masters, the server goes on serving,
holds little memory, and its log says each thing once."""

import asyncio
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.e2e.test_server import ALLOCATIONS, YARN_SITE, Server

from .conftest import HADOOP, read_to_end, resident_kb

if not HADOOP:
    pytest.skip("needs the extra fairshare[hadoop]", allow_module_level=True)

from tests.e2e.hostile.test_hadoop_ports import connected

from fairshare.yarn.rpc.own.node_manager import FILE
from fairshare.yarn.rpc.wire import descriptors
from fairshare.yarn.rpc.wire.client import RemoteError, RpcClient, Unreachable
from fairshare.yarn.rpc.wire.messages import (
    ContainerStatusProto,
    GetClusterNodesRequestProto,
    NodeActionProto,
    NodeHeartbeatRequestProto,
    RegisterNodeManagerRequestProto,
)

NORMAL, RESYNC, SHUTDOWN = (NodeActionProto.Value(one) for one in ("NORMAL", "RESYNC", "SHUTDOWN"))
RUNNING = 2
GARBAGE = (
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"\x16\x03\x01\x02\0",
    b"\0" * 2000,
    b"hrpc\x08\0\0",
    b"hrpc\x09\0\0\xff\xff\xff\xff",
    b"hrpc\x09\0\xdf\xff\xff\xff\xff",
)


class Target:
    """A server with the engine `nodemanagers`, its ports by name, and its log."""

    def __init__(self, path: Path) -> None:
        conf = path / "conf"
        conf.mkdir()
        (conf / "yarn-site.xml").write_text(YARN_SITE)
        (conf / "fair-scheduler.xml").write_text(ALLOCATIONS)
        self.server = Server(conf, path / "state", "--port", "0", "--engine", "nodemanagers")
        self.log = path / "state/server.log"
        text = self.log.read_text()
        line = next(one for one in text.splitlines() if "Hadoop's clients are served" in one)
        self.ports = {name: int(one) for name, one in re.findall(r"(\w+) (\d{2,5})\b", line)}
        self.client = RpcClient("yarn")

    async def call(self, port: str, protocol: str, method: str, request: Any) -> Any:
        return await self.client.call(("127.0.0.1", self.ports[port]), protocol, method, request)

    async def register(self, host: str = "h1", port: int = 1, **fields: Any) -> Any:
        request = RegisterNodeManagerRequestProto(
            node_id={"host": host, "port": port},
            http_port=8042,
            nm_version="3.4.1",
            resource={"memory": 4096, "virtual_cores": 4},
        )
        request.MergeFrom(RegisterNodeManagerRequestProto(**fields))
        return await self.call(
            "tracker", descriptors.RESOURCE_TRACKER, "registerNodeManager", request
        )

    async def beat(self, response_id: int, containers: tuple[Any, ...] = (), port: int = 1) -> Any:
        request = NodeHeartbeatRequestProto()
        status = request.node_status
        status.node_id.host, status.node_id.port = "h1", port
        status.response_id = response_id
        status.nodeHealthStatus.is_node_healthy = True
        for cluster, number in containers:
            report = ContainerStatusProto(state=RUNNING)
            name = report.container_id
            name.id = number
            name.app_attempt_id.attemptId = 1
            name.app_attempt_id.application_id.id = 1
            name.app_attempt_id.application_id.cluster_timestamp = cluster
            status.containersStatuses.append(report.SerializeToString())
        return await self.call("tracker", descriptors.RESOURCE_TRACKER, "nodeHeartbeat", request)

    async def nodes(self) -> list[str]:
        answer = await self.call(
            "client",
            descriptors.APPLICATION_CLIENT,
            "getClusterNodes",
            GetClusterNodesRequestProto(nodeStates=["NS_RUNNING"]),
        )
        return [f"{one.nodeId.host}:{one.nodeId.port}" for one in answer.nodeReports]

    def run(self, body: Any) -> Any:
        """Run a coroutine, with the connections that it opens."""

        async def whole() -> Any:
            try:
                return await body
            finally:
                await self.client.close()

        return asyncio.run(whole())


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    made = Target(tmp_path_factory.mktemp("nodes"))
    yield made
    code, stderr = made.server.end()
    assert code == 0, stderr


def test_the_log_says_at_the_start_that_callers_are_believed(target, attacked):
    assert "Hadoop's callers say who they are, and are believed" in target.log.read_text()
    warned = (attacked.state / "server.log").read_text()
    assert "callers on these ports need no proof, as web callers do" in warned


def test_every_port_closes_what_is_not_hadoops_protocol(target):
    assert set(target.ports) == {"client", "scheduler", "tracker", "admin"}
    for port in target.ports.values():
        for data in GARBAGE:
            with connected(port) as (one,):
                one.sendall(data)
                read_to_end(one)
    assert target.run(target.nodes()) == []


def test_a_port_of_a_node_of_this_machine_closes_it_too(attacked):
    ports = msgspec.json.decode((attacked.state / FILE).read_bytes()).values()
    assert ports
    for port in ports:
        for data in GARBAGE:
            with connected(port) as (one,):
                one.sendall(data)
                read_to_end(one)
    with attacked.client("ann") as client:
        assert client.get("/api/v1/cluster").status_code == 200


def test_a_node_that_is_there_twice_takes_the_place_of_the_other(target):
    async def body() -> None:
        await target.register()
        assert (await target.beat(0)).nodeAction == NORMAL
        assert (await target.beat(1)).nodeAction == NORMAL
        await target.register()  # another one of its name
        assert (await target.beat(2)).nodeAction == RESYNC, "the first one registers again"
        assert (await target.register()).nodeAction == NORMAL
        assert await target.nodes() == ["h1:1"]

    target.run(body())


def test_containers_that_were_not_granted_are_stopped_whichever_cluster_they_are_of(target):
    async def body() -> None:
        answer = await target.register(port=2)
        ours = answer.rm_identifier
        for beat in range(20):
            name = 1 << 40 | beat  # as of a ResourceManager that counts its restarts
            answer = await target.beat(beat, ((ours, 1), (5, 2), (ours, name)), port=2)
            stopped = {one.id for one in answer.containers_to_cleanup}
            assert stopped >= ({1, 2, name} if beat == 0 else {name})

    target.run(body())
    lines = [one for one in target.log.read_text().splitlines() if "nothing here granted" in one]
    assert len(lines) == 1


def test_nodes_that_send_nonsense_are_sent_away_and_cost_nothing(target):
    chance = random.Random(14)
    log = target.log.stat().st_size
    before_kb = resident_kb(target.server)

    async def body() -> None:
        for number in range(400):
            name = "".join(chr(chance.randrange(32, 3_000)) for _ in range(chance.randrange(40)))
            answer = await target.register(
                name, chance.choice((0, -1, 70_000)), nm_version=name * chance.randrange(50)
            )
            assert answer.nodeAction == SHUTDOWN
            assert (
                await target.beat(chance.randrange(-9, 9), port=3 + number)
            ).nodeAction == RESYNC
        before = set(await target.nodes())
        assert before <= {"h1:1", "h1:2"}

    target.run(body())
    assert resident_kb(target.server) < before_kb + 20 * 1024
    assert target.log.stat().st_size < log + 20_000


def test_a_call_of_another_protocol_or_of_a_method_that_is_not_there_is_refused(target):
    async def body() -> None:
        for port, protocol, method in (
            ("tracker", descriptors.APPLICATION_CLIENT, "getClusterMetrics"),
            ("client", descriptors.RESOURCE_TRACKER, "nodeHeartbeat"),
            ("admin", descriptors.APPLICATION_CLIENT, "getClusterMetrics"),
        ):
            request = descriptors.METHODS[protocol, method].request()
            with pytest.raises(RemoteError, match="Unknown protocol"):
                await target.call(port, protocol, method, request)
        with pytest.raises((RemoteError, Unreachable)):
            await target.call(
                "scheduler",
                descriptors.RESOURCE_TRACKER,
                "nodeHeartbeat",
                NodeHeartbeatRequestProto(),
            )

    target.run(body())
