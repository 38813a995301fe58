"""ResourceTracker, the protocol of NodeManagers: they register, send heartbeats, and leave.

Reports become inputs where something changed: an idle heartbeat is answered at once, without an
input, a task or a wake of the writer. Nodes are asked to send heartbeats less often while the
server is busy (`Pace`), and are lost when they are silent for too long (`Liveness`). Source: Hadoop
3.4.1, ResourceTrackerService, RMNodeImpl.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable

from fairshare.core.model.events import ApplicationsForgotten, NodeRemoved, NodeTotalChanged
from fairshare.core.model.inputs import Input, NodeJoined, NodeLost, NodeResized
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.record import Record
from fairshare.core.schedulers.protocol import State
from fairshare.runtime.observers import Observers
from fairshare.runtime.projections.node_history import Utilization
from fairshare.runtime.recovery import reconcile_node
from fairshare.server.access.repeated_messages import INTERVAL_S, RepeatedMessages
from fairshare.server.server import LiveServer
from fairshare.settings.registry import family_of
from fairshare.yarn.rpc import records
from fairshare.yarn.rpc.configuration import VERSION, NodeSettings
from fairshare.yarn.rpc.container_reports import ContainerReports
from fairshare.yarn.rpc.keys import Kind, MasterKeys
from fairshare.yarn.rpc.records import resource_message, resource_of
from fairshare.yarn.rpc.registered_nodes import (
    LONGEST_HOST,
    RegisteredNode,
    RegisteredNodes,
    known_resources,
    reason_to_shut_down,
)
from fairshare.yarn.rpc.wire.calls import CallContext, Handler
from fairshare.yarn.rpc.wire.messages import (
    NodeActionProto,
    NodeHealthStatusProto,
    NodeHeartbeatRequestProto,
    NodeHeartbeatResponseProto,
    RegisterNodeManagerRequestProto,
    RegisterNodeManagerResponseProto,
    ResourceUtilizationProto,
    UnRegisterNodeManagerRequestProto,
    UnRegisterNodeManagerResponseProto,
)
from fairshare.yarn.views.interface import YarnInterface

PROTOCOL = "org.apache.hadoop.yarn.server.api.ResourceTrackerPB"

WEB_ADDRESS = "web-address"
NODE_VERSION = "version"
"""Attributes of a node: `host:port` of its web server, and the release of its NodeManager."""

TICK_S = 1.0

MOST_REPORT = 4_096
"""The most characters that are kept of a health report."""

_LONGEST_NAME = LONGEST_HOST + len(":65535")
_log = logging.getLogger("fairshare.yarn.rpc")

REFUSALS_AT_ONCE = 20
"""The number of nodes of one address that are sent away with a line each, in five minutes; of
further ones the last is logged, with their number."""


def _log_sent_away(words: str, repeated: int, address: str) -> None:
    more = f", and {repeated - 1} more of {address}" if repeated > 1 else ""
    _log.warning("%s%s", words, more)


class Tracker:
    """The handlers for nodes of one server.

    `reports.awaited` says which ends masters have yet to fetch; `reports.acknowledge` is to be
    called when one has. It must follow the records after the masters' deliveries.
    """

    def __init__(
        self,
        server: LiveServer,
        nodes: RegisteredNodes,
        keys: MasterKeys,
        settings: NodeSettings,
        ticks_ms: Callable[[], int] = lambda: time.monotonic_ns() // 1_000_000,
    ) -> None:
        self.nodes = nodes
        self.reports = ContainerReports(nodes, server.log_aggregation)
        self.pace = Pace(settings.heartbeat_ms, settings.longest_heartbeat_ms)
        self.on_registered: Callable[[str], None] = lambda node: None
        self._server = server
        self._service = server.service
        self._keys = keys
        self._settings = settings
        self._ticks_ms = ticks_ms
        self._yarn: YarnInterface = family_of(server.scheduler_name).yarn
        self._utilization = server.projections.nodes.utilization
        self._sent_away = RepeatedMessages[str](_log_sent_away)
        self._liveness = Liveness(nodes, self._service.state.nodes, settings.expiry_ms, ticks_ms())

    @property
    def handlers(self) -> dict[str, Handler]:
        """The handlers by the names of the protocol's methods."""
        return {
            "registerNodeManager": self.register,
            "nodeHeartbeat": self.heartbeat,
            "unRegisterNodeManager": self.unregister,
        }

    @property
    def _state(self) -> State:
        return self._service.state

    # The methods.

    def register(
        self, context: CallContext, request: RegisterNodeManagerRequestProto
    ) -> RegisterNodeManagerResponseProto:
        """registerNodeManager: a node offers its resources, with all its containers."""
        state = self._state
        name = records.node_name(request.node_id)[:_LONGEST_NAME]
        total = resource_of(known_resources(request.resource, state.types), state.types)
        least = self._yarn.allocation_limits(state)[0]
        drain = state.drains.get(name)
        gone = drain is not None and drain.deadline_ms is not None and name not in state.nodes
        reason = reason_to_shut_down(request, self._settings, total, least, decommissioned=gone)
        if reason:
            words = f"node {name} is sent away: {reason}"
            if self._sent_away.add(context.address, words, REFUSALS_AT_ONCE):
                asyncio.get_running_loop().call_later(INTERVAL_S, self._sent_away.flush)
            self.nodes.remove(name)
            if name in state.nodes:
                self._service.observe([NodeLost(name, "DECOMMISSIONED", reason)])
            return sent_away(reason, self._server.started_ms)
        again = self._liveness.returned(name)
        node = RegisteredNode(
            request.node_id.host, request.node_id.port, request.http_port, request.nm_version, total
        )
        if request.HasField("physicalResource"):
            machine = request.physicalResource
            node.machine = (machine.memory, machine.virtual_cores)
        labelled = self._take_label(node, request)
        self.nodes.add(node)
        self.nodes.heard(node, self._ticks_ms())
        inputs = self._containers_of(node, request, may_start=again)
        health = request.nodeStatus.nodeHealthStatus
        if request.HasField("nodeStatus") and not health.is_node_healthy:
            self._note_health(node, health)
            inputs.append(NodeLost(name, "UNHEALTHY", node.health_report))
        else:
            inputs = [*self._changes_of_node(node), *inputs]
        self._service.set_silent(name, False)
        if inputs:
            self._service.observe(inputs)
        self.on_registered(name)
        _log.info("node %s registered with %s", name, state.types.mapping(total))
        return registered(node, self._keys, self._server.started_ms, labels_accepted=labelled)

    def heartbeat(
        self, context: CallContext, request: NodeHeartbeatRequestProto
    ) -> NodeHeartbeatResponseProto:
        """nodeHeartbeat: what changed becomes inputs; the answer has what waits for the node."""
        status = request.node_status
        node = self.nodes.get(records.node_name(status.node_id))
        if node is None:
            name = records.node_name(status.node_id)[:_LONGEST_NAME]
            drain = self._state.drains.get(name)
            host = name.rpartition(":")[0] or name
            if (drain is not None and drain.deadline_ms is not None) or not self._settings.allowed(
                host
            ):
                return command(SHUTDOWN, f"Disallowed NodeManager nodeId: {name} hostname: {host}")
            return command(RESYNC, f"Node not found resyncing {name}")
        self.nodes.heard(node, self._ticks_ms())
        response_id = status.response_id
        if response_id != node.response_id:
            if response_id + 1 == node.response_id and node.answer is not None:
                return node.answer  # the last answer was lost on its way
            return self._answer_late(node, response_id)
        if node.silent:
            node.silent = False
            self._service.set_silent(node.name, False)
        if request.log_aggregation_reports_for_apps:
            self.reports.logs(node, self._state, request.log_aggregation_reports_for_apps)
        statuses = list(status.containersStatuses)
        health = status.nodeHealthStatus
        if statuses != node.statuses or node.unhealthy or not health.is_node_healthy:
            self._take_changes(node, health, statuses)
        measured = status.node_utilization, status.containers_utilization
        if not node.unhealthy and (measured != node.measured or node.name not in self._utilization):
            self._utilization[node.name] = _utilization(*measured, node.machine)
            node.measured = measured
        node.response_id = response_id + 1
        answer = heartbeat(node, self.pace.interval_ms)
        if node.busy:
            add_news(answer, node, self._state.epoch_ms, self._state.types)
        if self._keys.rolls_for_nodes:
            add_next_keys(answer, request, self._keys)
        if request.HasField("nodeLabels"):
            answer.areNodeLabelsAcceptedByRM = self._change_label(node, request)
        node.answer = answer
        return answer

    def unregister(
        self, context: CallContext, request: UnRegisterNodeManagerRequestProto
    ) -> UnRegisterNodeManagerResponseProto:
        """unRegisterNodeManager: a node leaves by itself; its containers are lost."""
        name = records.node_name(request.node_id)
        if self.nodes.remove(name) is not None:
            _log.info("node %s unregistered", name)
        self._liveness.left(name)
        if name in self._state.nodes:
            drained = name in self._state.drains
            self._service.observe([NodeLost(name, "DECOMMISSIONED" if drained else "SHUTDOWN")])
        return UnRegisterNodeManagerResponseProto()

    # What others ask of it.

    def heard_ms(self, name: str) -> int | None:
        """When a node was last heard, in milliseconds since the epoch; None: not since the
        start."""
        node = self.nodes.get(name)
        if node is None:
            return None
        return self._service.now_ms() - (self._ticks_ms() - node.heard_ms)

    def subscribe(self, observers: Observers) -> None:
        """Follow the records."""
        observers.events(self._node_removed, NodeRemoved)
        observers.events(self._total_changed, NodeTotalChanged)
        observers.events(self._applications_forgotten, ApplicationsForgotten)
        self.reports.subscribe(observers, self._state)

    async def watch(self) -> None:
        """Let silent nodes expire, and measure how busy the server is, until cancelled."""
        used_s, passed_s = time.process_time(), time.monotonic()
        while True:
            await asyncio.sleep(TICK_S)
            self.tick()
            now = time.process_time(), time.monotonic()
            self.pace.measured(now[0] - used_s, now[1] - passed_s)
            used_s, passed_s = now

    def tick(self) -> None:
        """Give up nodes that were silent for too long, and allocate nothing on silent ones."""
        state = self._state
        self._server.log_aggregation.expire(self._service.now_ms())
        silent, expired = self._liveness.check(self._ticks_ms(), self.pace.interval_ms)
        for node in silent:
            node.silent = True
            self._service.set_silent(node.name)
        lost: list[Input] = []
        for name in expired:
            self.nodes.remove(name)
            if name in state.nodes:
                seconds = self._settings.expiry_ms // 1_000
                _log.warning("node %s is lost: it was silent for %d s", name, seconds)
                lost.append(NodeLost(name, "LOST", f"Timed out after {seconds} secs"))
        if lost:
            self._service.observe(lost)

    # How.

    def _answer_late(self, node: RegisteredNode, response_id: int) -> NodeHeartbeatResponseProto:
        """A node that is further behind, or ahead, registers again with all its containers."""
        # A node must register again; until then nothing is allocated on it.
        name = node.name
        self.nodes.remove(name)
        if name in self._state.nodes:
            self._liveness.left(name, comes_back=True)
            self._service.set_silent(name)
        return command(
            RESYNC,
            f"Too far behind rm response id:{node.response_id} nm response id:{response_id}",
        )

    def _take_changes(
        self, node: RegisteredNode, health: NodeHealthStatusProto, statuses: list[bytes]
    ) -> None:
        inputs = self.reports.changes(node, self._state, statuses)
        if not health.is_node_healthy:
            before = node.unhealthy
            self._note_health(node, health)
            if not before:
                _log.warning("node %s is unhealthy: %s", node.name, node.health_report)
                inputs.append(NodeLost(node.name, "UNHEALTHY", node.health_report))
        elif node.unhealthy:
            _log.info("node %s is healthy again", node.name)
            self._note_health(node, health)
            inputs.append(self._joined(node))
        if inputs:
            self._service.observe(inputs)

    @staticmethod
    def _note_health(node: RegisteredNode, health: NodeHealthStatusProto) -> None:
        node.unhealthy = not health.is_node_healthy
        node.health_report = health.health_report[:MOST_REPORT]

    def _containers_of(
        self, node: RegisteredNode, request: RegisterNodeManagerRequestProto, *, may_start: bool
    ) -> list[Input]:
        state = self._state
        reported = self.reports.register(node, state, request.container_statuses)
        findings = reconcile_node(state, node.name, reported, may_start=may_start)
        for container in findings.stops:
            self.nodes.clean_up(container)
        for application in request.runningApplications:
            self.reports.runs_application(node, state, application)
        self.reports.logs(node, state, request.log_aggregation_reports_for_apps)
        return list(findings.inputs)

    def _changes_of_node(self, node: RegisteredNode) -> list[Input]:
        """A node that is new joins; one that was here keeps its containers, whatever else is new.

        It moves to another rack, or changes its addresses for readers, only while it is empty.
        """
        known_node = self._state.nodes.get(node.name)
        joined = self._joined(node)
        if known_node is None:
            return [joined]
        same = (known_node.rack, known_node.attributes) == (joined.rack, joined.attributes)
        if not same and not known_node.occupants:
            return [NodeLost(node.name, "REBOOTED"), joined]
        if self._state.offered(known_node) != node.total:
            return [NodeResized(node.name, node.total)]
        return []

    def _joined(self, node: RegisteredNode) -> NodeJoined:
        attributes = {WEB_ADDRESS: node.web_address, NODE_VERSION: node.version}
        if node.label:
            attributes["partition"] = node.label
        rack = self._settings.rack_of(node.host)
        return NodeJoined(node.name, node.total, rack, attributes, node.host)

    def _take_label(
        self,
        node: RegisteredNode,
        request: RegisterNodeManagerRequestProto | NodeHeartbeatRequestProto,
    ) -> bool:
        """Take the label that a node brings; False if the configuration takes none from nodes, or
        the cluster does not have the label."""
        if not request.HasField("nodeLabels"):
            return False
        names = [one.name for one in request.nodeLabels.nodeLabels]
        label = names[0] if names else ""
        labels = self._yarn.node_labels(self._state)
        if labels is None or not labels.nodes_report or len(names) > 1:
            return False
        if label and label not in labels.labels():
            return False
        node.label = label
        return True

    def _change_label(self, node: RegisteredNode, request: NodeHeartbeatRequestProto) -> bool:
        """Take another label from a node that is registered: it must be empty, since its containers
        belong to the old one. The node repeats the label until it is accepted."""
        before = node.label
        if not self._take_label(node, request):
            return False
        if node.label == before:
            return True
        there = self._state.nodes.get(node.name)
        if there is None or there.occupants:
            node.label = before
            return False
        self._service.observe([NodeLost(node.name, "REBOOTED"), self._joined(node)])
        return True

    def _applications_forgotten(self, record: Record, event: ApplicationsForgotten) -> None:
        for application in event.applications:
            self._server.log_aggregation.forget(application)

    def _node_removed(self, record: Record, event: NodeRemoved) -> None:
        name, input_ = event.node, record.input
        node = self.nodes.get(name)
        if node is None or node.unhealthy:
            return
        if type(input_) is NodeLost and input_.state in ("UNHEALTHY", "REBOOTED"):
            return
        self.nodes.remove(name)  # its next heartbeat gets RESYNC, or SHUTDOWN if it was drained
        self._liveness.left(name)

    def _total_changed(self, record: Record, event: NodeTotalChanged) -> None:
        node = self.nodes.get(event.node)
        if node is not None and event.node not in self._state.drains and node.total != event.total:
            node.total = node.resource = event.total
            node.busy = True


def _utilization(
    node: bytes, of_its_containers: bytes, machine: tuple[int, int] | None
) -> Utilization:
    """What two serialized ResourceUtilizationProto say that a node and its containers use."""
    whole = ResourceUtilizationProto.FromString(node)
    containers = ResourceUtilizationProto.FromString(of_its_containers)
    of_containers = (containers.pmem, containers.vmem, containers.cpu)
    return Utilization(whole.pmem, whole.vmem, whole.cpu, of_containers, machine)


NORMAL = NodeActionProto.Value("NORMAL")
RESYNC = NodeActionProto.Value("RESYNC")
SHUTDOWN = NodeActionProto.Value("SHUTDOWN")


def registered(
    node: RegisteredNode, keys: MasterKeys, rm_identifier: int, *, labels_accepted: bool
) -> RegisterNodeManagerResponseProto:
    """The answer to a registration: the node gets the keys that sign now."""
    total = node.total
    return RegisterNodeManagerResponseProto(
        container_token_master_key=keys.current(Kind.CONTAINER).message(),
        nm_token_master_key=keys.current(Kind.NODE).message(),
        nodeAction=NORMAL,
        rm_identifier=rm_identifier,
        diagnostics_message=(
            f"NodeManager from node {node.host}(cmPort: {node.port} httpPort: {node.web_port})"
            f" registered with capability: <memory:{total[0]}, vCores:{total[1]}>,"
            f" assigned nodeId {node.name}"
        ),
        rm_version=VERSION,
        areNodeLabelsAcceptedByRM=labels_accepted,
    )


def sent_away(reason: str, rm_identifier: int) -> RegisterNodeManagerResponseProto:
    """The answer to a registration that is refused: the node shuts down."""
    return RegisterNodeManagerResponseProto(
        nodeAction=SHUTDOWN,
        diagnostics_message=reason,
        rm_identifier=rm_identifier,
        rm_version=VERSION,
    )


def command(action: int, reason: str) -> NodeHeartbeatResponseProto:
    """The answer to a heartbeat that has the node register again, or shut down."""
    return NodeHeartbeatResponseProto(nodeAction=action, diagnostics_message=reason)


def heartbeat(node: RegisteredNode, interval_ms: int) -> NodeHeartbeatResponseProto:
    """The answer to an idle heartbeat."""
    return NodeHeartbeatResponseProto(
        response_id=node.response_id, nodeAction=NORMAL, nextHeartBeatInterval=interval_ms
    )


def add_news(
    answer: NodeHeartbeatResponseProto, node: RegisteredNode, epoch_ms: int, types: ResourceTypes
) -> None:
    """Put into an answer what waits for the node; all of it is said once, except the containers to
    stop, which are named until the node reports their end."""
    for container in node.clean_up:
        answer.containers_to_cleanup.append(records.container_id_message(epoch_ms, container))
    answer.containers_to_cleanup.extend(node.foreign)
    answer.containers_to_be_removed_from_nm.extend(node.removable)
    answer.applications_to_cleanup.extend(node.finished)
    answer.containers_to_signal.extend(node.signals)
    if node.resource is not None:
        answer.resource.CopyFrom(resource_message(node.resource, types))
    for said in (node.foreign, node.removable, node.finished, node.signals):
        said.clear()
    node.resource = None
    node.busy = bool(node.clean_up)


def add_next_keys(
    answer: NodeHeartbeatResponseProto, request: NodeHeartbeatRequestProto, keys: MasterKeys
) -> None:
    """Put the next keys into an answer to a node that does not have them yet."""
    container, node = keys.next(Kind.CONTAINER), keys.next(Kind.NODE)
    known = request.last_known_container_token_master_key.key_id
    if container is not None and known != container.number:
        answer.container_token_master_key.CopyFrom(container.message())
    if node is not None and request.last_known_nm_token_master_key.key_id != node.number:
        answer.nm_token_master_key.CopyFrom(node.message())


BUSY = 0.85
IDLE = 0.6
"""Shares of a core that the server uses: above the first nodes slow down, below the second they
speed up."""

_SLOWER = 1.25
_FASTER = 0.8


class Pace:
    """The interval of heartbeats, between the configured one and the longest.

    Hadoop scales it by the load of each node (`heartbeat-interval-scaling-enable`), which spares
    its scheduler decisions; here an idle heartbeat decides nothing, and what it spares is the
    server's time to read it.
    """

    def __init__(self, interval_ms: int, longest_ms: int) -> None:
        self._shortest_ms = interval_ms
        self._longest_ms = max(interval_ms, longest_ms)
        self._wanted_ms = float(interval_ms)
        self.interval_ms = interval_ms

    def measured(self, used_s: float, passed_s: float) -> None:
        """The server has used so much processor time while so much time has passed."""
        if passed_s <= 0:
            return
        share = used_s / passed_s
        if share > BUSY:
            self._wanted_ms = min(self._wanted_ms * _SLOWER, self._longest_ms)
        elif share < IDLE:
            self._wanted_ms = max(self._wanted_ms * _FASTER, self._shortest_ms)
        self.interval_ms = int(self._wanted_ms)


MISSED_BEATS = 3
"""A node that missed so many heartbeats gets no containers until it is heard again; Hadoop's
asynchronous scheduling skips nodes likewise (`skip.node.multiplier`)."""

PAUSE_MS = 10_000
"""A longer time between two checks was a pause of this server itself: nodes could not be heard."""


class Liveness:
    """`absent` are the nodes of the state that have not registered, by the instant from which their
    time runs: at the start all."""

    def __init__(
        self, nodes: RegisteredNodes, absent: Iterable[str], expiry_ms: int, now_ms: int
    ) -> None:
        self._nodes = nodes
        self._expiry_ms = expiry_ms
        self._absent = dict.fromkeys(absent, now_ms)
        self._known: set[str] = set()
        self._checked_ms = now_ms
        self._resumed_ms = now_ms

    def returned(self, name: str) -> bool:
        """A node registers; returns whether it did before since the start."""
        self._absent.pop(name, None)
        again = name in self._known
        self._known.add(name)
        return again

    def left(self, name: str, *, comes_back: bool = False) -> None:
        """A node is not registered any more; if it `comes_back`, its time runs from now."""
        if comes_back:
            self._absent[name] = self._checked_ms
        else:
            self._absent.pop(name, None)
            self._known.discard(name)

    def check(self, now_ms: int, interval_ms: int) -> tuple[list[RegisteredNode], list[str]]:
        """The nodes that have fallen silent since the last check, and the names of those whose
        time is over."""
        if now_ms - self._checked_ms > PAUSE_MS:
            self._resumed_ms = now_ms
        self._checked_ms = now_ms
        if now_ms - self._resumed_ms <= MISSED_BEATS * interval_ms:
            return [], []
        silent = [
            node
            for node in self._nodes.silent_since(now_ms - MISSED_BEATS * interval_ms)
            if not node.silent
        ]
        if now_ms - self._resumed_ms <= self._expiry_ms:
            return silent, []
        before_ms = now_ms - self._expiry_ms
        expired = dict.fromkeys(node.name for node in self._nodes.silent_since(before_ms))
        absent = [name for name, since_ms in self._absent.items() if since_ms < before_ms]
        expired.update(dict.fromkeys(absent))
        for name in expired:
            self.left(name)
        return [node for node in silent if node.name not in expired], list(expired)
