"""The paths of a NodeManager, `/ws/v1/node`, for the nodes of this machine: their address is the
server's, where monitors ask for them (Hadoop: NMWebServices).

Several nodes of one machine have one address, and answer as one. Nodes that register by themselves
have a web server of their own.
"""

from msgspec import UNSET, UnsetType
from starlette.requests import Request

from fairshare import __version__
from fairshare.core.model.applications import Application
from fairshare.core.model.identifiers import application_name, application_of, container_name
from fairshare.yarn.rest.answering import Answer, YarnRoute
from fairshare.yarn.rest.application_documents import logs_url
from fairshare.yarn.rest.callers import Caller, may_view
from fairshare.yarn.rest.errors import not_found
from fairshare.yarn.rest.gateway import Gateway, gateway_of
from fairshare.yarn.rest.nodes import HADOOP_VERSION
from fairshare.yarn.views.documents import Document

BASE = "/ws/v1/node"


class OwnNodeInfo(Document, kw_only=True):
    """The nodes of this machine as one NodeManager."""

    healthReport: str = ""
    totalVmemAllocatedContainersMB: int
    totalPmemAllocatedContainersMB: int
    totalVCoresAllocatedContainers: int
    vmemCheckEnabled: bool = False
    pmemCheckEnabled: bool
    lastNodeUpdateTime: int
    resourceTypes: str
    nodeHealthy: bool = True
    nodeManagerVersion: str = HADOOP_VERSION
    nodeManagerBuildVersion: str = f"{HADOOP_VERSION} as served by fairshare {__version__}"
    nodeManagerVersionBuiltOn: str = ""
    hadoopVersion: str = HADOOP_VERSION
    hadoopBuildVersion: str = f"{HADOOP_VERSION} as served by fairshare {__version__}"
    hadoopVersionBuiltOn: str = ""
    id: str
    nodeHostName: str
    nmStartupTime: int


class NodeApp(Document):
    """An application with containers here, which only callers see that may view it."""

    id: str
    state: str
    user: str
    containerids: list[str]


class NodeApps(Document):
    """Some of them."""

    app: list[NodeApp] | UnsetType


class NodeContainer(Document, kw_only=True):
    """A container that runs here."""

    id: str
    state: str = "RUNNING"
    exitCode: int = -1000
    diagnostics: str = ""
    user: str
    totalMemoryNeededMB: int
    totalVCoresNeeded: float
    executionType: str = "GUARANTEED"
    containerLogsLink: str
    nodeId: str


class NodeContainers(Document):
    """Some of them."""

    container: list[NodeContainer] | UnsetType


def _gateway(request: Request) -> Gateway:
    gateway = gateway_of(request)
    if gateway.server.engine.nodes_register:
        raise not_found("the nodes of this cluster have web servers of their own")
    return gateway


async def show_info(request: Request, caller: Caller) -> Answer:
    """GET /ws/v1/node and /ws/v1/node/info."""
    gateway = _gateway(request)
    state = gateway.scheduler.state
    nodes = list(state.nodes.values())
    configuration = gateway.server.settings.configuration
    kinds = [
        f"{name} (unit={unit})" if unit else name
        for name, unit in zip(state.types.names, state.types.units, strict=True)
    ]
    memory_mb = sum(node.total[0] for node in nodes)
    ratio = 2.1  # yarn.nodemanager.vmem-pmem-ratio; virtual memory is not limited here
    return Answer(
        OwnNodeInfo(
            totalVmemAllocatedContainersMB=int(memory_mb * ratio),
            totalPmemAllocatedContainersMB=memory_mb,
            totalVCoresAllocatedContainers=sum(node.total[1] for node in nodes),
            pmemCheckEnabled=configuration is None or configuration.node_manager.memory_check,
            lastNodeUpdateTime=gateway.now_ms(),
            resourceTypes=", ".join(kinds),
            id=gateway.node_address(nodes[0].name) if nodes else gateway.address,
            nodeHostName=nodes[0].host if nodes else gateway.address.rpartition(":")[0],
            nmStartupTime=gateway.started_ms,
        ),
        "nodeInfo",
    )


def _here(gateway: Gateway) -> dict[Application, list[int]]:
    here: dict[Application, list[int]] = {}
    state = gateway.scheduler.state
    for node in state.nodes.values():
        for container in node.containers:
            application = state.applications.get(application_of(container))
            if application is not None:
                here.setdefault(application, []).append(container)
    return here


async def list_applications(request: Request, caller: Caller) -> Answer:
    """GET /ws/v1/node/apps."""
    gateway = _gateway(request)
    epoch_ms = gateway.scheduler.state.epoch_ms
    applications = [
        NodeApp(
            application_name(epoch_ms, application.id),
            "FINISHING_CONTAINERS_WAIT" if application.over else "RUNNING",
            application.user,
            [
                container_name(epoch_ms, container)
                for container in containers
                if may_view(gateway, caller, application)
            ],
        )
        for application, containers in _here(gateway).items()
    ]
    return Answer(NodeApps(applications or UNSET), "apps")


async def list_containers(request: Request, caller: Caller) -> Answer:
    """GET /ws/v1/node/containers."""
    gateway = _gateway(request)
    state = gateway.scheduler.state
    listed = []
    for application, containers in _here(gateway).items():
        if not may_view(gateway, caller, application):
            continue
        for container in containers:
            granted = application.containers.get(container)
            if granted is None:
                continue
            name = container_name(state.epoch_ms, container)
            listed.append(
                NodeContainer(
                    id=name,
                    user=application.user,
                    totalMemoryNeededMB=granted.resource[0],
                    totalVCoresNeeded=float(granted.resource[1]),
                    containerLogsLink=logs_url(gateway, granted.node, name, application.user),
                    nodeId=gateway.node_address(granted.node),
                )
            )
    return Answer(NodeContainers(listed or UNSET), "containers")


ROUTES = [
    YarnRoute(BASE, get=show_info),
    YarnRoute(f"{BASE}/", get=show_info),
    YarnRoute(f"{BASE}/info", get=show_info),
    YarnRoute(f"{BASE}/apps", get=list_applications),
    YarnRoute(f"{BASE}/containers", get=list_containers),
]
