"""The paths of the cluster as a whole: its properties, its metrics, the user, and the scheduler,
for which each family has its own document (Hadoop: RMWebServices).
"""

import platform

from msgspec import UNSET, UnsetType
from starlette.requests import Request

from fairshare import __version__
from fairshare.core.model.applications import Application
from fairshare.core.model.resources import Resource, add, subtract
from fairshare.core.schedulers.protocol import Steps
from fairshare.server.slices import made_in_slices
from fairshare.yarn.rest.answering import XML, Answer, YarnRoute, accepted_form
from fairshare.yarn.rest.application_documents import public_state
from fairshare.yarn.rest.callers import Caller
from fairshare.yarn.rest.gateway import Gateway, gateway_of
from fairshare.yarn.rest.nodes import HADOOP_VERSION, node_states
from fairshare.yarn.rest.rendering import raw
from fairshare.yarn.views.documents import Document, ResourceInfo, resource_info, unwritten

_STORE = "org.apache.hadoop.yarn.server.resourcemanager.recovery.FileSystemRMStateStore"
_NO_STORE = "org.apache.hadoop.yarn.server.resourcemanager.recovery.NullRMStateStore"


class ClusterInfo(Document):
    """The properties of the cluster."""

    id: int
    startedOn: int
    state: str
    haState: str
    rmStateStoreName: str
    resourceManagerVersion: str
    resourceManagerBuildVersion: str
    resourceManagerVersionBuiltOn: str
    hadoopVersion: str
    hadoopBuildVersion: str
    hadoopVersionBuiltOn: str
    haZooKeeperConnectionState: str


class UserInfo(Document):
    """The user who runs the server, and the caller."""

    rmLoginUser: str
    requestedUser: str


class SchedulerOverview(Document):
    """The scheduler in one line."""

    schedulerType: str
    schedulingResourceType: str
    minimumAllocation: ResourceInfo
    maximumAllocation: ResourceInfo
    applicationPriority: int
    schedulerBusy: int = -1
    rmDispatcherEventQueueSize: int = 0
    schedulerDispatcherEventQueueSize: int = 0


class ClusterMetrics(Document, kw_only=True):
    """The metrics of the cluster: all integers. Those with defaults are not measured here."""

    appsSubmitted: int
    appsCompleted: int
    appsPending: int
    appsRunning: int
    appsFailed: int
    appsKilled: int
    reservedMB: int
    availableMB: int
    allocatedMB: int
    pendingMB: int
    reservedVirtualCores: int
    availableVirtualCores: int
    allocatedVirtualCores: int
    pendingVirtualCores: int
    containersAllocated: int
    containersReserved: int
    containersPending: int
    totalMB: int
    utilizedMB: int = 0
    totalVirtualCores: int
    utilizedVirtualCores: int
    utilizedMBPercent: int
    utilizedVirtualCoresPercent: int
    rmSchedulerBusyPercent: int = -1
    totalNodes: int
    lostNodes: int
    unhealthyNodes: int
    decommissioningNodes: int
    decommissionedNodes: int
    rebootedNodes: int
    activeNodes: int
    shutdownNodes: int
    containerAssignedPerSecond: int = 0
    totalUsedResourcesAcrossPartition: ResourceInfo | UnsetType
    totalClusterResourcesAcrossPartition: ResourceInfo | UnsetType
    totalReservedResourcesAcrossPartition: ResourceInfo | UnsetType
    totalAllocatedContainersAcrossPartition: int
    crossPartitionMetricsAvailable: bool
    rmEventQueueSize: int = 0
    schedulerEventQueueSize: int = 0


def info_of(epoch_ms: int, started_ms: int, ha_state: str, *, keeps_state: bool) -> ClusterInfo:
    """What a server says of itself, be it active or a standby."""
    build = f"{HADOOP_VERSION} as served by fairshare {__version__}"
    on = f"Python {platform.python_version()}"
    return ClusterInfo(
        id=epoch_ms,
        startedOn=started_ms,
        state="STARTED",
        haState=ha_state,
        rmStateStoreName=_STORE if keeps_state else _NO_STORE,
        resourceManagerVersion=HADOOP_VERSION,
        resourceManagerBuildVersion=build,
        resourceManagerVersionBuiltOn=on,
        hadoopVersion=HADOOP_VERSION,
        hadoopBuildVersion=build,
        hadoopVersionBuiltOn=on,
        haZooKeeperConnectionState=(
            "Could not find leader elector. Verify both HA and automatic failover are enabled."
        ),
    )


async def show_info(request: Request, caller: Caller) -> Answer:
    """GET / and /info."""
    gateway = gateway_of(request)
    epoch_ms, started_ms = gateway.scheduler.state.epoch_ms, gateway.started_ms
    info = info_of(epoch_ms, started_ms, "ACTIVE", keeps_state=gateway.keeps_state)
    return Answer(info, "clusterInfo")


async def show_user(request: Request, caller: Caller) -> Answer:
    """GET /userinfo."""
    document = UserInfo(gateway_of(request).login_user, caller.user)
    return Answer(document, "clusterUserInfo", "mapped")


async def show_overview(request: Request, caller: Caller) -> Answer:
    """GET /scheduler-overview."""
    gateway = gateway_of(request)
    state, yarn = gateway.scheduler.state, gateway.yarn
    kinds = [
        f"{name} (unit={unit})" if unit else name
        for name, unit in zip(state.types.names, state.types.units, strict=True)
    ]
    least, most = yarn.allocation_limits(state)
    overview = SchedulerOverview(
        schedulerType=yarn.title or gateway.scheduler.name,
        schedulingResourceType=",".join(kinds),
        minimumAllocation=resource_info(state.types, least),
        maximumAllocation=resource_info(state.types, most),
        applicationPriority=yarn.maximum_priority(state),
    )
    return Answer(overview, "scheduler", "mapped")


async def show_metrics(request: Request, caller: Caller) -> Answer:
    """GET /metrics: each application counts as it is when its turn comes."""
    return Answer(await metrics_of(gateway_of(request)), "clusterMetrics")


async def metrics_of(gateway: Gateway) -> ClusterMetrics:
    """The metrics of the cluster, made in slices."""
    return await made_in_slices(_metrics_in_steps(gateway))


def _metrics_in_steps(gateway: Gateway) -> Steps[ClusterMetrics]:
    state = gateway.scheduler.state
    counts = Counts(gateway)
    for application in tuple(state.applications.values()):
        counts.count(application)
        yield
    kept, pending = counts.reserved, counts.pending_resource
    allocated = state.used
    containers = sum(len(node.containers) for node in state.nodes.values())
    across = gateway.yarn.counts_partitions
    offered, taken = gateway.yarn.default_partition(state)
    available = tuple(max(0, amount) for amount in subtract(offered, taken))
    sums = add(add(available, allocated), kept) if across else add(available, allocated)
    nodes = node_states(gateway)
    used_cores, memory_percent, core_percent = _utilization(gateway)

    def info(resource: Resource) -> ResourceInfo | UnsetType:
        return resource_info(state.types, resource) if across else UNSET

    return ClusterMetrics(
        appsSubmitted=counts.submitted,
        appsCompleted=counts.completed,
        appsPending=counts.pending,
        appsRunning=counts.running,
        appsFailed=counts.failed,
        appsKilled=counts.killed,
        reservedMB=kept[0],
        availableMB=available[0],
        allocatedMB=allocated[0],
        pendingMB=pending[0],
        reservedVirtualCores=kept[1],
        availableVirtualCores=available[1],
        allocatedVirtualCores=allocated[1],
        pendingVirtualCores=pending[1],
        containersAllocated=containers,
        containersReserved=counts.reservations,
        containersPending=counts.pending_containers,
        totalMB=sums[0],
        totalVirtualCores=sums[1],
        utilizedVirtualCores=used_cores,
        utilizedMBPercent=memory_percent,
        utilizedVirtualCoresPercent=core_percent,
        totalNodes=sum(nodes.values()),
        lostNodes=nodes["LOST"],
        unhealthyNodes=nodes["UNHEALTHY"],
        decommissioningNodes=nodes["DECOMMISSIONING"],
        decommissionedNodes=nodes["DECOMMISSIONED"],
        rebootedNodes=nodes["REBOOTED"],
        activeNodes=nodes["RUNNING"],
        shutdownNodes=nodes["SHUTDOWN"],
        totalUsedResourcesAcrossPartition=info(add(allocated, kept)),
        totalClusterResourcesAcrossPartition=info(state.total),
        totalReservedResourcesAcrossPartition=info(kept),
        totalAllocatedContainersAcrossPartition=containers + counts.reservations if across else 0,
        crossPartitionMetricsAvailable=across,
    )


class Counts:
    """What is counted in applications: refused ones have no state, inactive ones no resources."""

    def __init__(self, gateway: Gateway) -> None:
        self._history = gateway.attempt_history
        none = gateway.scheduler.state.none
        self.submitted = self.completed = self.pending = 0
        self.running = self.failed = self.killed = 0
        self.pending_resource = self.reserved = none
        self.pending_containers = self.reservations = 0

    def count(self, application: Application) -> None:
        """Add one."""
        self._count_state(application)
        if not application.active:
            return
        attempt = application.attempt
        if attempt.asks.wanting:
            self.pending_resource = add(self.pending_resource, attempt.asks.pending)
            self.pending_containers += sum(
                key.anywhere.count for key in attempt.asks.wanting if key.anywhere
            )
        for reservation in attempt.reservations.values():
            self.reserved = add(self.reserved, reservation.resource)
            self.reservations += 1

    def _count_state(self, application: Application) -> None:
        history = self._history.of(application.id)
        if not history.attempted:
            return
        self.submitted += 1
        if not application.over:
            last = history.attempt
            waits = application.managed and last is not None and last.master is None
            self.pending += waits
            self.running += not waits
            return
        word = public_state(application, history)
        self.completed += word == "FINISHED"
        self.failed += word == "FAILED"
        self.killed += word == "KILLED"


def _utilization(gateway: Gateway) -> tuple[int, int, int]:
    """Cores in use, and the percentages of memory and cores in use, as measured by the nodes."""
    state = gateway.scheduler.state
    memory_mb = cores = 0
    for name, measured in gateway.node_history.utilization.items():
        node = state.nodes.get(name)
        if node is not None:  # each machine counts as much of its resources as the node offers
            memory, processors = measured.of(node.total)
            memory_mb += int(memory * node.total[0])
            cores += int(processors * node.total[1])
    most = state.total
    return (
        cores,
        memory_mb * 100 // most[0] if most[0] else 0,
        cores * 100 // most[1] if most[1] else 0,
    )


class SchedulerInfo(Document):
    """The scheduler, in the form of its family."""

    schedulerInfo: Document


async def show_scheduler(request: Request, caller: Caller) -> Answer:
    """GET /scheduler: made in slices, queue by queue; as JSON each queue is written at once."""
    gateway = gateway_of(request)
    written = unwritten if accepted_form(request) == XML else raw
    steps = gateway.yarn.document_in_steps(gateway, written)
    return Answer(SchedulerInfo(await made_in_slices(steps)), "scheduler")


ROUTES = [
    YarnRoute("/", get=show_info),
    YarnRoute("/info", get=show_info),
    YarnRoute("/userinfo", get=show_user),
    YarnRoute("/scheduler-overview", get=show_overview),
    YarnRoute("/metrics", get=show_metrics),
    YarnRoute("/scheduler", get=show_scheduler),
]
