"""The engine of NodeManagers, with a node that speaks Hadoop's RPC in the same process."""

import asyncio
import hashlib
import socket
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.waiting import until

from fairshare.core.model.events import ContainerAllocated, Locality
from fairshare.core.model.identifiers import ContainerId, container_id
from fairshare.core.model.inputs import ContainerExited, Input
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.work import Command, Payload
from fairshare.engines.protocol import LaunchOrder
from fairshare.yarn.rpc.configuration import KeySettings
from fairshare.yarn.rpc.engine import engine
from fairshare.yarn.rpc.engine.call_program import CALL_SECRET
from fairshare.yarn.rpc.engine.engine import NodeManagersEngine
from fairshare.yarn.rpc.keys import Kind, MasterKeys, TokenSigner
from fairshare.yarn.rpc.wire import calls, descriptors, tokens
from fairshare.yarn.rpc.wire.calls import CallContext
from fairshare.yarn.rpc.wire.messages import (
    ContainerLaunchContextProto,
    ContainerTokenIdentifierProto,
    ContainerTypeProto,
    StartContainersResponseProto,
    StopContainersResponseProto,
)
from fairshare.yarn.rpc.wire.server import RpcServer, TokenLogins, methods_of

MASTER = container_id(1, 2, 1)
EPOCH_MS = 1_700_000_000_000


class Node:
    """A NodeManager that takes note of what it is asked. `refusals` are thrown one by one."""

    def __init__(self, keys: MasterKeys) -> None:
        self.keys = keys
        self.started: list[Any] = []
        self.stopped: list[int] = []
        self.logins: list[Any] = []
        self.refusals: list[tuple[str, str]] = []
        self.stops_wanted: list[ContainerId] = []
        self.port = 0
        self.registered = True
        self.host = "127.0.0.1"
        self.web_address = "127.0.0.1:8042"
        self.name = ""

    # What the engine asks of registered nodes.

    def get(self, name: str) -> "Node | None":
        return self if self.registered else None

    def node_of(self, container: ContainerId) -> "Node | None":
        return self

    def clean_up(self, container: ContainerId) -> None:
        self.stops_wanted.append(container)

    def running(self) -> Iterable[ContainerId]:
        return [MASTER] if self.started else []

    # What the node answers.

    def start_containers(self, context: CallContext, request: Any) -> Any:
        assert context.token is not None
        self.logins.append(context.token.content)
        (start,) = request.start_container_request
        answer = StartContainersResponseProto()
        token = tokens.token_of(start.container_token)
        identifier = ContainerTokenIdentifierProto.FromString(token.identifier)
        key = self.keys.known(Kind.CONTAINER, identifier.masterKeyId)
        assert key is not None
        assert token.password == tokens.password(key, token.identifier)
        if self.refusals:
            class_name, message = self.refusals.pop(0)
            failed = answer.failed_requests.add(container_id=identifier.containerId)
            failed.exception.class_name = class_name
            failed.exception.message = message
        else:
            self.started.append((identifier, start.container_launch_context))
            answer.succeeded_requests.append(identifier.containerId)
        return answer

    def stop_containers(self, context: CallContext, request: Any) -> Any:
        self.stopped += [found.id for found in request.container_id]
        return StopContainersResponseProto()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        handlers = {
            "startContainers": self.start_containers,
            "stopContainers": self.stop_containers,
        }
        server = RpcServer(
            "node",
            methods_of(descriptors.CONTAINER_MANAGEMENT, handlers),
            TokenLogins(tokens.NM_TOKEN, lambda found: self.keys.known(Kind.NODE, found.keyId)),
        )
        bound = socket.socket()
        bound.bind(("127.0.0.1", 0))
        await server.start(bound)
        self.port = server.port
        self.name = f"localhost:{self.port}"
        try:
            yield
        finally:
            await server.stop()


class Cluster:
    """An engine with one node and one application that has its master's container."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.keys = MasterKeys.open(path, KeySettings(), 0)
        self.node = Node(self.keys)
        self.reports: list[Input] = []
        self.engine = NodeManagersEngine(path)
        self.engine._first_pause_s = 0.01

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Cluster"]:
        async with self.node.serving():
            name = self.node.name
            granted = ContainerAllocated(
                MASTER, 1, name, (512, 1), 0, 0, Locality.OFF_SWITCH, True, False, 5
            )
            application = SimpleNamespace(containers={MASTER: granted}, submitted_ms=42, user="ann")
            self.state: Any = SimpleNamespace(applications={1: application}, epoch_ms=EPOCH_MS)
            signer = TokenSigner(
                self.keys, EPOCH_MS, 9, ResourceTypes(), 600_000, lambda: 1_000, lambda node: node
            )
            self.engine.connect(lambda: self.state, self.node, signer)
            self.engine.start(self.reports.append)
            yield self
            await asyncio.to_thread(self.engine.close, stop_containers=False)

    def order(self, command: Command) -> LaunchOrder:
        return LaunchOrder(
            container=MASTER,
            container_name="container_1700000000000_0001_02_000001",
            application_name="application_1700000000000_0001",
            node=self.node.name,
            user="ann",
            memory_mb=512,
            vcores=1,
            command=command,
        )

    def submitted(self, context: Any) -> Command:
        return Command(payload=self.stored(context.SerializeToString()), is_launch_context=True)

    def stored(self, content: bytes) -> Payload:
        payload = Payload(hashlib.sha256(content).hexdigest(), len(content))
        (self.path / payload.file).parent.mkdir()
        (self.path / payload.file).write_bytes(content)
        return payload


ECHO = Command(("/bin/echo", "hello"))


def test_a_command_of_ours_starts_with_both_tokens(tmp_path: Path) -> None:
    async def body() -> None:
        async with Cluster(tmp_path).running() as cluster:
            cluster.engine.launch(cluster.order(ECHO))
            await until(lambda: cluster.node.started)
            identifier, context = cluster.node.started[0]
            assert identifier.nmHostAddr == cluster.node.name
            assert identifier.rmIdentifier == 9
            assert identifier.expiryTimeStamp == 601_000
            assert identifier.appSubmitter == "ann"
            assert identifier.resource.memory == 512
            assert identifier.containerType == ContainerTypeProto.APPLICATION_MASTER
            assert list(context.command) == [
                "exec /bin/echo hello 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr"
            ]
            (login,) = cluster.node.logins
            assert login.appAttemptId.attemptId == 2
            assert login.nodeId.port == cluster.node.port
            assert cluster.reports == []

    asyncio.run(body())


def test_a_submitted_context_gets_the_masters_token_and_hadoops_variables(tmp_path: Path) -> None:
    async def body() -> None:
        client_token = tokens.Token(b"i", b"p", "HDFS_DELEGATION_TOKEN", "nn")
        context = ContainerLaunchContextProto(
            command=["run"],
            tokens=tokens.write_credentials(tokens.Credentials({"nn": client_token})),
        )
        context.environment.add(key="CLASSPATH", value="x")
        async with Cluster(tmp_path).running() as cluster:
            cluster.engine.launch(cluster.order(cluster.submitted(context)))
            await until(lambda: cluster.node.started)
            started = cluster.node.started[0][1]
            assert list(started.command) == ["run"]
            assert {entry.key: entry.value for entry in started.environment} == {
                "CLASSPATH": "x",
                "APPLICATION_WEB_PROXY_BASE": "/proxy/application_1700000000000_0001",
                "APP_SUBMIT_TIME_ENV": "42",
            }
            credentials = tokens.read_credentials(started.tokens)
            assert credentials.tokens["nn"] == client_token
            own = credentials.tokens[""]
            key = cluster.keys.current(Kind.MASTER)
            assert own.kind == tokens.AMRM_TOKEN
            assert own.password == tokens.password(key.secret, own.identifier)

    asyncio.run(body())


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (Command(payload=Payload("0" * 64, 3)), "cannot be read"),
        (Command(payload=Payload("0" * 64, 3), is_launch_context=True), "cannot be read"),
    ],
)
def test_what_cannot_run_on_a_node_ends_with_the_reason(
    command: Command, why: str, tmp_path: Path
) -> None:
    async def body() -> None:
        async with Cluster(tmp_path).running() as cluster:
            cluster.engine.launch(cluster.order(command))
            await until(lambda: cluster.reports)
            (exited,) = cluster.reports
            assert isinstance(exited, ContainerExited)
            assert exited.exit_code == -1000
            assert why in exited.diagnostics

    asyncio.run(body())


def test_a_python_call_is_a_secret_of_its_container_and_not_in_its_command(tmp_path: Path) -> None:
    async def body() -> None:
        call = b"the pickled call"
        async with Cluster(tmp_path).running() as cluster:
            cluster.engine.launch(cluster.order(Command(payload=cluster.stored(call))))
            await until(lambda: cluster.node.started)
            context = cluster.node.started[0][1]
            secrets = tokens.read_credentials(context.tokens).secrets
            assert secrets == {CALL_SECRET: call}
            assert call.decode() not in context.command[0]

    asyncio.run(body())


def test_a_call_that_is_too_large_for_nodes_is_refused_with_its_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def body() -> None:
        monkeypatch.setattr(engine, "MOST_PAYLOAD_BYTES", 10)
        async with Cluster(tmp_path).running() as cluster:
            cluster.engine.launch(cluster.order(Command(payload=cluster.stored(b"x" * 11))))
            await until(lambda: cluster.reports)
            (exited,) = cluster.reports
            assert isinstance(exited, ContainerExited)
            assert "11 bytes; NodeManagers take at most 10" in exited.diagnostics
            assert cluster.node.started == []

    asyncio.run(body())


def test_a_context_that_is_damaged_ends_with_the_reason(tmp_path: Path) -> None:
    async def body() -> None:
        damaged = ContainerLaunchContextProto(tokens=b"HDTS\0\x7f")
        async with Cluster(tmp_path).running() as cluster:
            cluster.engine.launch(cluster.order(cluster.submitted(damaged)))
            await until(lambda: cluster.reports)
            (exited,) = cluster.reports
            assert isinstance(exited, ContainerExited)
            assert "launch context of application_1700000000000_0001" in exited.diagnostics

    asyncio.run(body())


def test_what_a_node_refuses_ends_with_the_first_line_of_its_reason(tmp_path: Path) -> None:
    async def body() -> None:
        async with Cluster(tmp_path).running() as cluster:
            cluster.node.refusals = [("org.apache.hadoop.x.Y", "no such user\n\tat java")]
            cluster.engine.launch(cluster.order(ECHO))
            await until(lambda: cluster.reports)
            (exited,) = cluster.reports
            assert isinstance(exited, ContainerExited)
            assert exited.exit_code == -1000
            assert exited.diagnostics.endswith("refuses the container: no such user")

    asyncio.run(body())


def test_a_node_that_is_not_ready_is_asked_again(tmp_path: Path) -> None:
    async def body() -> None:
        async with Cluster(tmp_path).running() as cluster:
            cluster.node.refusals = [
                ("org.apache.hadoop.yarn.exceptions.NMNotYetReadyException", "wait")
            ]
            cluster.engine.launch(cluster.order(ECHO))
            await until(lambda: cluster.node.started)
            assert cluster.reports == []

    asyncio.run(body())


def test_a_container_whose_start_was_not_answered_counts_as_started(tmp_path: Path) -> None:
    async def body() -> None:
        async with Cluster(tmp_path).running() as cluster:
            cluster.node.refusals = [
                (calls.RETRIABLE, "once more"),
                (calls.INVALID_TOKEN, "Attempt to relaunch the same container with id x"),
            ]
            cluster.engine.launch(cluster.order(ECHO))
            await until(lambda: not cluster.node.refusals)
            await until(lambda: not cluster.engine._starting)
            assert cluster.reports == []

    asyncio.run(body())


def test_a_container_of_a_node_that_stays_away_is_aborted(tmp_path: Path) -> None:
    async def body() -> None:
        async with Cluster(tmp_path).running() as cluster:
            cluster.node.registered = False
            cluster.engine.launch(cluster.order(ECHO))
            await until(lambda: cluster.reports)
            (exited,) = cluster.reports
            assert isinstance(exited, ContainerExited)
            assert exited.exit_code == -100
            assert "is not registered" in exited.diagnostics

    asyncio.run(body())


def test_a_stop_ends_the_start_and_goes_to_the_node(tmp_path: Path) -> None:
    async def body() -> None:
        async with Cluster(tmp_path).running() as cluster:
            cluster.node.registered = False
            cluster.engine.launch(cluster.order(ECHO))
            cluster.engine.stop(MASTER)
            await until(lambda: not cluster.engine._starting)
            assert cluster.node.stops_wanted == [MASTER]
            assert cluster.reports == []

    asyncio.run(body())


def test_the_end_of_the_server_can_end_the_containers(tmp_path: Path) -> None:
    async def body() -> None:
        async with Cluster(tmp_path).running() as cluster:
            cluster.engine.launch(cluster.order(ECHO))
            await until(lambda: cluster.node.started)
            cluster.state.applications[1].containers.clear()
            await asyncio.to_thread(cluster.engine.close, stop_containers=True)
            assert cluster.node.stopped == [1]

    asyncio.run(body())
