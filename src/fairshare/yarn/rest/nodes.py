"""The paths of the nodes: the registered ones, and those that are gone (Hadoop:
RMWebServices.getNodes)."""

from collections import Counter
from copy import copy

from msgspec import UNSET, UnsetType
from starlette.requests import Request

from fairshare.api.yarn import NODE_STATES
from fairshare.core.model.inputs import NodeResized
from fairshare.core.model.nodes import Node
from fairshare.core.schedulers.calculators import single
from fairshare.runtime.projections.node_history import InactiveNode, Utilization
from fairshare.server.rows import NodeDocuments
from fairshare.server.views import health_report_of, is_unhealthy
from fairshare.yarn.rest.answering import Answer, YarnRoute, listed
from fairshare.yarn.rest.callers import Caller, check_administrator
from fairshare.yarn.rest.errors import not_found, wrong_argument
from fairshare.yarn.rest.gateway import Gateway, gateway_of
from fairshare.yarn.rest.parameters import LONG, first_object, lenient_integer, read_object
from fairshare.yarn.views.documents import (
    NOTHING,
    Document,
    Nothing,
    ResourceInfo,
    resource_info,
    shortest,
)

_UNMEASURED = Utilization()


def state_of(gateway: Gateway, node: Node) -> str:
    """YARN's word for the state of a registered node."""
    if node.name in gateway.node_history.draining:
        return "DECOMMISSIONING"
    return "UNHEALTHY" if is_unhealthy(gateway.scheduler.state, node.name) else "RUNNING"


HADOOP_VERSION = "3.4.1"
"""The Hadoop release whose interface this package implements."""


class ResourceUtilization(Document):
    """A node's measurements of itself and of its containers."""

    nodePhysicalMemoryMB: int
    nodeVirtualMemoryMB: int
    nodeCPUUsage: float
    aggregatedContainersPhysicalMemoryMB: int
    aggregatedContainersVirtualMemoryMB: int
    containersCPUUsage: float


class NodeInfo(Document, kw_only=True):
    """One node. The defaults are those of a node that is gone: nothing of it is in use; and of
    what nodes never have here."""

    rack: str
    state: str
    id: str
    nodeHostName: str
    nodeHTTPAddress: str
    lastHealthUpdate: int
    version: str = HADOOP_VERSION
    healthReport: str
    numContainers: int = 0
    usedMemoryMB: int = 0
    availMemoryMB: int = 0
    usedVirtualCores: int = 0
    availableVirtualCores: int = 0
    memUtilization: float = 0.0
    cpuUtilization: float = 0.0
    numRunningOpportContainers: int = 0
    usedMemoryOpportGB: int = 0
    usedVirtualCoresOpport: int = 0
    numQueuedContainers: int = 0
    nodeLabels: list[str] | UnsetType = UNSET
    allocationTags: Nothing
    resourceUtilization: ResourceUtilization
    usedResource: ResourceInfo | UnsetType = UNSET
    availableResource: ResourceInfo | UnsetType = UNSET
    nodeAttributesInfo: Nothing
    totalResource: ResourceInfo


class SomeNodes(Document):
    """Some nodes."""

    node: list[NodeInfo] | UnsetType


class NodeInfos(NodeDocuments[NodeInfo]):
    """The documents of a server's nodes, without their last heartbeats."""

    def __init__(self, gateway: Gateway) -> None:
        super().__init__(gateway.scheduler.state)
        self._gateway = gateway

    def make(self, item: Node) -> NodeInfo:
        """One node."""
        return _present(self._gateway, item)

    def fingerprint(self, item: Node) -> tuple[object, ...]:
        """The same, and what only YARN's document has."""
        gateway, history = self._gateway, self._gateway.node_history
        return (
            *super().fingerprint(item),
            item.name in history.draining,
            history.utilization.get(item.name, _UNMEASURED),
            gateway.yarn.node_label(self._state, item),
        )


async def list_nodes(request: Request, caller: Caller) -> Answer:
    """GET /nodes."""
    gateway = gateway_of(request)
    wanted = _wanted_states(request)
    nodes = gateway.scheduler.state.nodes

    def chosen() -> list[str]:
        return [
            name
            for name, node in nodes.items()
            if wanted is None or state_of(gateway, node) in wanted
        ]

    documents: NodeInfos = request.app.state.node_infos
    rows = await documents.of_one_instant(chosen)
    infos = [copy(info) for info in rows.values()]
    for name, info in zip(rows, infos, strict=True):
        info.lastHealthUpdate = gateway.last_beat_ms(name)
    infos += [
        _gone(gateway, node)
        for node in gateway.node_history.inactive.values()
        if wanted is None or node.state in wanted
    ]
    return await listed(request, "nodes", SomeNodes, infos)


def _wanted_states(request: Request) -> frozenset[str] | None:
    texts = request.query_params.getlist("states")
    if not texts:
        return None
    found = set()
    for word in (part.strip() for part in texts[0].split(",")):  # the first one counts
        if word.upper() not in NODE_STATES:
            raise wrong_argument(
                f"No enum constant org.apache.hadoop.yarn.api.records.NodeState.{word.upper()}"
            )
        found.add(word.upper())
    return frozenset(found)


async def show_node(request: Request, caller: Caller) -> Answer:
    """GET /nodes/ID."""
    gateway = gateway_of(request)
    wanted = request.path_params["node"]
    check_node_id(wanted)
    for node in all_nodes(gateway):
        if node.id == wanted:
            return Answer(node, "node")
    raise not_found(f"nodeId, {wanted}, is not found")


async def resize_node(request: Request, caller: Caller) -> Answer:
    """POST /nodes/ID/resource: fields that the body does not name keep their values.

    `overCommitTimeout` is in milliseconds: after it containers are preempted until the rest fits;
    0: at once, negative or absent: running containers go on.
    """
    gateway = gateway_of(request)
    wanted = request.path_params["node"]
    check_administrator(gateway, caller)
    body = first_object(await read_object(request, "resourceOption"), "resourceOption")
    check_node_id(wanted)
    known = gateway.scheduler.state.nodes.items()
    node = next((node for name, node in known if gateway.node_address(name) == wanted), None)
    if node is None:
        raise not_found(f"nodeId, {wanted}, is not found")
    asked = body.get("resource")
    total = node.total
    if isinstance(asked, dict):
        memory = lenient_integer(asked.get("memory"), "memory", total[0], bits=LONG)
        vcores = lenient_integer(asked.get("vCores"), "vCores", total[1])
        total = (max(0, memory), max(0, vcores), *total[2:])
    timeout_ms = lenient_integer(body.get("overCommitTimeout"), "overCommitTimeout", -1)
    if total != node.total or timeout_ms >= 0:
        await gateway.ask(NodeResized(node.name, total, max(-1, timeout_ms)))
    return Answer(resource_info(gateway.scheduler.state.types, total), "resourceInfo")


def check_node_id(text: str) -> None:
    """Raise Refused (400) unless it is `host:port`."""
    host, divider, port = text.rpartition(":")
    if not divider or not host:
        raise wrong_argument(f"Invalid NodeId [{text}]. Expected host:port")
    if not port.isdigit():
        raise wrong_argument(f"Invalid port: {port}")


def all_nodes(gateway: Gateway) -> list[NodeInfo]:
    """All nodes: the registered ones, in the order of registration, then the others."""
    state = gateway.scheduler.state
    present = [_present(gateway, node) for node in state.nodes.values()]
    return present + [_gone(gateway, node) for node in gateway.node_history.inactive.values()]


def node_states(gateway: Gateway) -> Counter[str]:
    """The number of nodes in each state."""
    counts = Counter(node.state for node in gateway.node_history.inactive.values())
    present = gateway.scheduler.state.nodes
    leaving = sum(name in present for name in gateway.node_history.draining)
    state = gateway.scheduler.state
    unhealthy = sum(
        is_unhealthy(state, name) and name not in gateway.node_history.draining
        for name in state.failing
    )
    counts["DECOMMISSIONING"] += leaving
    counts["UNHEALTHY"] += unhealthy
    counts["RUNNING"] += len(present) - leaving - unhealthy
    return counts


def _present(gateway: Gateway, node: Node) -> NodeInfo:
    state = gateway.scheduler.state
    measured = gateway.node_history.utilization.get(node.name, Utilization())
    used, available, total = node.used, node.available, node.total
    label = gateway.yarn.node_label(state, node)
    memory, cpu = measured.of(total)
    return NodeInfo(
        rack=node.rack,
        state=state_of(gateway, node),
        id=gateway.node_address(node.name),
        nodeHostName=node.host,
        nodeHTTPAddress=gateway.node_web_address(node.name),
        lastHealthUpdate=gateway.last_beat_ms(node.name),
        healthReport=health_report_of(state, node.name),
        numContainers=node.occupants,
        usedMemoryMB=used[0],
        availMemoryMB=available[0],
        usedVirtualCores=used[1],
        availableVirtualCores=available[1],
        memUtilization=shortest(single(100.0 * memory)),
        cpuUtilization=shortest(single(100.0 * cpu)),
        nodeLabels=[label] if label else UNSET,
        allocationTags=NOTHING,
        nodeAttributesInfo=NOTHING,
        resourceUtilization=_utilization(measured),
        usedResource=resource_info(state.types, used),
        availableResource=resource_info(state.types, available),
        totalResource=resource_info(state.types, total),
    )


def _utilization(measured: Utilization) -> ResourceUtilization:
    whole = (measured.physical_memory_mb, measured.virtual_memory_mb, measured.cpu)
    physical_mb, virtual_mb, cpu = measured.containers or whole
    return ResourceUtilization(
        nodePhysicalMemoryMB=measured.physical_memory_mb,
        nodeVirtualMemoryMB=measured.virtual_memory_mb,
        nodeCPUUsage=measured.cpu,
        aggregatedContainersPhysicalMemoryMB=physical_mb,
        aggregatedContainersVirtualMemoryMB=virtual_mb,
        containersCPUUsage=cpu,
    )


def _gone(gateway: Gateway, node: InactiveNode) -> NodeInfo:
    """A node that is gone has no address; an unhealthy one still has."""
    return NodeInfo(
        rack=node.rack,
        state=node.state,
        id=gateway.node_address(node.name),
        nodeHostName=gateway.node_address(node.name).rpartition(":")[0],
        nodeHTTPAddress=(gateway.node_web_address(node.name) if node.state == "UNHEALTHY" else ""),
        lastHealthUpdate=node.gone_ms,
        healthReport=node.report,
        allocationTags=NOTHING,
        nodeAttributesInfo=NOTHING,
        resourceUtilization=_utilization(Utilization()),
        totalResource=resource_info(gateway.scheduler.state.types, node.total),
    )


ROUTES = [
    YarnRoute("/nodes", get=list_nodes),
    YarnRoute("/nodes/{node}", get=show_node),
    YarnRoute("/nodes/{node}/resource", post=resize_node),
]
