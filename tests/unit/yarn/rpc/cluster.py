"""A server whose nodes and masters are tests: they call the handlers with messages."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.manual_engine import ManualEngine
from tests.waiting import until_state

from fairshare.core.model.identifiers import application_of, attempt_of, number_of
from fairshare.core.model.inputs import SubmissionDetails, SubmitApplication
from fairshare.core.model.work import Command
from fairshare.core.schedulers.capacity.settings import CapacitySettings, Percentage, QueueSettings
from fairshare.core.schedulers.fair.settings import FairSettings
from fairshare.server.server import LiveServer
from fairshare.server.settings import LiveSettings
from fairshare.yarn.rpc.configuration import KeySettings, MasterSettings, NodeSettings
from fairshare.yarn.rpc.keys import Kind, MasterKeys, TokenSigner
from fairshare.yarn.rpc.masters import Masters
from fairshare.yarn.rpc.records import container_id_message
from fairshare.yarn.rpc.registered_nodes import RegisteredNodes
from fairshare.yarn.rpc.tracker import Tracker
from fairshare.yarn.rpc.wire.calls import CallContext, Handlers, RpcError, TokenIdentity
from fairshare.yarn.rpc.wire.descriptors import METHODS
from fairshare.yarn.rpc.wire.messages import (
    AllocateRequestProto,
    AMRMTokenIdentifierProto,
    ContainerStatusProto,
    FinishApplicationMasterRequestProto,
    LogAggregationStatusProto,
    NMContainerStatusProto,
    NodeHeartbeatRequestProto,
    NodeLabelProto,
    RegisterApplicationMasterRequestProto,
    RegisterNodeManagerRequestProto,
    ResourceRequestProto,
    ResourceUtilizationProto,
    UnRegisterNodeManagerRequestProto,
)
from fairshare.yarn.rpc.wire.tokens import AMRM_TOKEN

FAIR = FairSettings(minimum_allocation=(128, 1), increment_allocation=(128, 1))
CAPACITY = CapacitySettings(
    queues={
        "root": QueueSettings(children=("default",), capacity=Percentage(100.0)),
        "root.default": QueueSettings(capacity=Percentage(100.0), maximum_master_share=1.0),
    },
    minimum_allocation=(128, 1),
)
NOBODY = CallContext("yarn", "", None, "127.0.0.1", "")
RUNNING, COMPLETE = 2, 3


class ManualNodes(ManualEngine):
    """An engine whose nodes register; what it is asked to stop its nodes stop."""

    nodes_register = True

    def __init__(self, path: Path, nodes: RegisteredNodes) -> None:
        super().__init__(path, starts=False, stops=False)
        self.nodes_known = nodes

    def stop(self, container: int) -> None:
        super().stop(container)
        self.nodes_known.clean_up(container)


class Clock:
    """Ticks of the test."""

    def __init__(self) -> None:
        self.ms = 1_000_000

    def __call__(self) -> int:
        return self.ms


class Cluster:
    """A server with a tracker. Made and started by `start`."""

    def __init__(self, path: Path, scheduler: str = "fair", **tracker: Any) -> None:
        settings = {"fair": FAIR, "capacity": tracker.pop("capacity", CAPACITY)}[scheduler]
        self.settings = LiveSettings(
            scheduler=scheduler,
            types=settings.types,
            scheduler_settings=msgspec.json.encode(settings),
            state_directory=path / "state",
        )
        self.path = path
        self.node_settings = NodeSettings(**tracker)
        self.master_settings = MasterSettings()
        self.key_settings = KeySettings()
        self.clock = Clock()

    async def start(self) -> "Cluster":
        """Start a server; again after `kill` or `stop`."""
        self.nodes = RegisteredNodes()
        self.engine = ManualNodes(self.path / "containers", self.nodes)
        self.server = LiveServer(self.settings, lambda settings, path: self.engine)
        self.keys = MasterKeys.open(
            self.server.directory.path, self.key_settings, self.server.started_ms
        )
        self.tracker = Tracker(self.server, self.nodes, self.keys, self.node_settings, self.clock)
        self.signer = TokenSigner(
            self.keys,
            self.state.epoch_ms or self.server.started_ms,
            self.server.started_ms,
            self.state.types,
            self.master_settings.token_life_ms,
            self.server.service.now_ms,
            lambda node: node,
        )
        self.masters = Masters(
            self.server,
            self.keys,
            self.signer,
            self.master_settings,
            lambda node: node.replace(":", ":80"),
            self.clock,
        )
        self.connect()
        await self.server.start("http://127.0.0.1:1")
        return self

    def connect(self) -> None:
        """Let the parts follow the records."""
        self.masters.connect(self.tracker)
        self.masters.deliveries.subscribe(self.server.observers)
        self.tracker.subscribe(self.server.observers)

    async def stop(self) -> None:
        """End the server; nodes and containers go on."""
        await self.server.close()

    @property
    def state(self):
        return self.server.service.state

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait until a condition of the state holds."""
        await until_state(self.server, condition)

    async def settled(self) -> None:
        """Wait until all that was put into the inbox is decided, with all that can be granted for
        it: a turn ends after some time."""
        service = self.server.service
        await service.ask_all([])
        async with asyncio.timeout(60):
            while service._inbox or service._runtime.unsettled:
                await asyncio.sleep(0)
        await asyncio.sleep(0)

    async def submit(self, **details: Any) -> int:
        """Submit an application whose master is outside this test; its number."""
        details.setdefault("must_unregister", True)
        wish = SubmitApplication(
            "ann",
            master=(256, 1),
            driver=Command(("master",)),
            details=SubmissionDetails(**details),
        )
        await self.server.service.ask(wish)
        return self.state.next_application - 1

    async def master(self, *nodes: "Node", **details: Any) -> "Master":
        """A master that runs on one of these nodes, and has registered."""
        number = await self.submit(**details)
        await self.until(lambda: self.state.applications[number].attempt.master)
        await self.run_granted(*nodes)
        made = Master(self, number)
        await made.register()
        return made

    async def run_granted(self, *nodes: "Node") -> None:
        """Let nodes run all containers that the state has there, and report them."""
        await self.settled()
        for node in nodes:
            known = self.state.nodes.get(node.name)
            for container in known.containers if known is not None else ():
                node.statuses.setdefault(container, None)
            node.beat()
        await self.settled()

    def node(self, port: int = 1, **options: Any) -> "Node":
        return Node(self, port, **options)


class Node:
    """A NodeManager: what runs there is what `statuses` has (container: exit code, None: runs)."""

    def __init__(
        self,
        cluster: Cluster,
        port: int,
        *,
        host: str = "h1",
        memory_mb: int = 4096,
        vcores: int = 4,
        version: str = "3.4.1",
        label: str | None = None,
    ) -> None:
        self.cluster = cluster
        self.host, self.port = host, port
        self.size = (memory_mb, vcores)
        self.version = version
        self.label = label
        self.statuses: dict[int, int | None] = {}
        self.foreign: list[tuple[int, int | None]] = []  # of a cluster with another timestamp
        self.logs: dict[int, str] = {}  # the status of log aggregation by application
        self.machine: tuple[int, int] | None = None
        self.used_mb = 123
        self.unreadable: list[bytes] = []  # statuses that are no message
        self.healthy, self.report = True, ""
        self.response_id = 0
        self.keys: dict[Kind, int] = {}

    @property
    def name(self) -> str:
        return f"{self.host}:{self.port}"

    def register(self, applications: tuple[int, ...] = ()) -> Any:
        request = RegisterNodeManagerRequestProto(http_port=8042, nm_version=self.version)
        self._identify(request.node_id)
        request.resource.memory, request.resource.virtual_cores = self.size
        if self.machine is not None:
            machine = request.physicalResource
            machine.memory, machine.virtual_cores = self.machine
        for container, code in self.statuses.items():
            status = NMContainerStatusProto(
                container_state=RUNNING if code is None else COMPLETE,
                container_exit_status=-1000 if code is None else code,
            )
            self._name(status.container_id, container)
            request.container_statuses.append(status)
        for number in applications:
            request.runningApplications.add(
                id=number, cluster_timestamp=self.cluster.state.epoch_ms
            )
        request.nodeStatus.nodeHealthStatus.is_node_healthy = self.healthy
        request.nodeStatus.nodeHealthStatus.health_report = self.report
        self._add_label(request)
        self._add_logs(request)
        answer = self.cluster.tracker.register(NOBODY, request)
        self.response_id = 0
        self.keys = {
            Kind.CONTAINER: answer.container_token_master_key.key_id,
            Kind.NODE: answer.nm_token_master_key.key_id,
        }
        return answer

    def beat(self, response_id: int | None = None) -> Any:
        request = NodeHeartbeatRequestProto()
        status = request.node_status
        self._identify(status.node_id)
        status.response_id = self.response_id if response_id is None else response_id
        for container, code in self.statuses.items():
            report = self._status(code)
            self._name(report.container_id, container)
            status.containersStatuses.append(report.SerializeToString())
        for number, code in self.foreign:
            report = self._status(code)
            name = report.container_id
            name.app_attempt_id.application_id.id = 1
            name.app_attempt_id.application_id.cluster_timestamp = 5
            name.app_attempt_id.attemptId = 1
            name.id = number
            status.containersStatuses.append(report.SerializeToString())
        status.containersStatuses.extend(self.unreadable)
        status.nodeHealthStatus.is_node_healthy = self.healthy
        status.nodeHealthStatus.health_report = self.report
        status.nodeHealthStatus.last_health_report_time = 7
        used = ResourceUtilizationProto(pmem=self.used_mb)
        status.node_utilization = used.SerializeToString()
        request.last_known_container_token_master_key.key_id = self.keys.get(Kind.CONTAINER, 0)
        request.last_known_nm_token_master_key.key_id = self.keys.get(Kind.NODE, 0)
        self._add_label(request)
        self._add_logs(request)
        answer = self.cluster.tracker.heartbeat(NOBODY, request)
        if answer.nodeAction == 0:
            self.response_id = answer.response_id
            if answer.HasField("container_token_master_key"):
                self.keys[Kind.CONTAINER] = answer.container_token_master_key.key_id
            if answer.HasField("nm_token_master_key"):
                self.keys[Kind.NODE] = answer.nm_token_master_key.key_id
        return answer

    def unregister(self) -> None:
        request = UnRegisterNodeManagerRequestProto()
        self._identify(request.node_id)
        self.cluster.tracker.unregister(NOBODY, request)

    def _add_logs(self, request: Any) -> None:
        for number, status in self.logs.items():
            report = request.log_aggregation_reports_for_apps.add()
            report.application_id.id = number
            report.application_id.cluster_timestamp = self.cluster.state.epoch_ms
            report.log_aggregation_status = LogAggregationStatusProto.Value(f"LOG_{status}")

    def _identify(self, message: Any) -> None:
        message.host, message.port = self.host, self.port

    @staticmethod
    def _status(code: int | None) -> ContainerStatusProto:
        return ContainerStatusProto(
            state=RUNNING if code is None else COMPLETE,
            exit_status=-1000 if code is None else code,
            diagnostics="" if code is None else "it ended",
        )

    def _name(self, message: Any, container: int) -> None:
        attempt = message.app_attempt_id
        attempt.application_id.id = application_of(container)
        attempt.application_id.cluster_timestamp = self.cluster.state.epoch_ms
        attempt.attemptId = attempt_of(container)
        message.id = number_of(container)

    def _add_label(self, request: Any) -> None:
        if self.label is not None:
            request.nodeLabels.SetInParent()
            if self.label:
                request.nodeLabels.nodeLabels.append(NodeLabelProto(name=self.label))


class Master:
    """The master of an application's present attempt: it calls the handlers with its token."""

    def __init__(self, cluster: Cluster, application: int) -> None:
        self.cluster = cluster
        self.application = application
        self.attempt = cluster.state.applications[application].attempt.number
        self.take(cluster.signer.master(application, self.attempt))
        self.response_id = 0

    def take(self, token: Any) -> None:
        """Log in with a token."""
        content = AMRMTokenIdentifierProto.FromString(token.identifier)
        identity = TokenIdentity(AMRM_TOKEN, token.identifier, content)
        self.context = CallContext("", "", identity, "127.0.0.1", "")

    async def register(self, host: str = "h1", port: int = 99) -> Any:
        request = RegisterApplicationMasterRequestProto(
            host=host, rpc_port=port, tracking_url="http://h1:1"
        )
        answer = await self.cluster.masters.register(self.context, request)
        self.response_id = 0
        return answer

    async def allocate(self, *asks: Any, response_id: int | None = None, **options: Any) -> Any:
        """`options`: release, add, remove (of the blacklist), updates, constraints."""
        request = AllocateRequestProto(
            response_id=self.response_id if response_id is None else response_id,
            progress=options.get("progress", 0.0),
        )
        request.ask.extend(asks)
        request.blacklist_request.blacklist_additions.extend(options.get("add", ()))
        request.blacklist_request.blacklist_removals.extend(options.get("remove", ()))
        for container in options.get("release", ()):
            request.release.append(
                container_id_message(self.cluster.state.epoch_ms, container)
                if isinstance(container, int)
                else container
            )
        request.update_requests.extend(options.get("updates", ()))
        if options.get("constraints"):
            request.scheduling_requests.add()
        answer = self.cluster.masters.allocate(self.context, request)
        if asyncio.iscoroutine(answer):
            answer = await answer
        self.response_id = answer.response_id
        return answer

    async def finish(self, status: int = 1, diagnostics: str = "") -> Any:
        request = FinishApplicationMasterRequestProto(
            final_application_status=status, diagnostics=diagnostics, tracking_url="http://done"
        )
        return await self.cluster.masters.finish(self.context, request)


def ask(
    count: int, place: str = "*", memory_mb: int = 512, priority: int = 1, **fields: Any
) -> Any:
    """A ResourceRequestProto."""
    message = ResourceRequestProto(
        resource_name=place, num_containers=count, allocation_request_id=fields.pop("number", -1)
    )
    message.priority.priority = priority
    message.capability.memory, message.capability.virtual_cores = memory_mb, 1
    for name, value in fields.items():
        setattr(message, name, value)
    return message


class Caller:
    """A user who calls the handlers of a protocol."""

    def __init__(self, handlers: Handlers, protocol: str, user: str) -> None:
        self.handlers = handlers
        self.protocol = protocol
        self.context = CallContext(user, "", None, "127.0.0.1", "")

    async def call(self, method: str, protocol: str = "", **fields: Any) -> Any:
        key = protocol or self.protocol, method
        return await self.handlers[key](self.context, METHODS[key].request(**fields))

    async def refused(self, method: str, **fields: Any) -> tuple[str, str]:
        """Class, without its package, and message of a refusal."""
        with pytest.raises(RpcError) as refusal:
            await self.call(method, **fields)
        return refusal.value.class_name.rpartition(".")[2], refusal.value.message
