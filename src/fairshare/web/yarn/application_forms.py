"""Owns the form of the document of one application: its fields in YARN's order (Hadoop: AppInfo).

The fields from `startedTime` on are 0, empty or absent for callers who may not view it.
"""

from msgspec import UNSET, UnsetType

from fairshare.families.yarn.documents import Document, Entries, ResourceInfo, ResourceUsages
from fairshare.web.yarn.timeouts import Timeouts


class ExecutionType(Document):
    """Whether a container is opportunistic; here never."""

    executionType: str = "GUARANTEED"
    enforceExecutionType: bool = False


class ResourceRequestInfo(Document):
    """One entry of the table of asks."""

    priority: int
    allocationRequestId: int
    resourceName: str
    capability: ResourceInfo
    numContainers: int
    relaxLocality: bool
    nodeLabelExpression: str | UnsetType
    executionTypeRequest: ExecutionType


NO_ENTRIES = Entries()


class AppInfo(Document):
    """One application."""

    id: str
    user: str
    name: str
    queue: str
    state: str
    finalStatus: str
    progress: float
    trackingUI: str
    trackingUrl: str | UnsetType
    diagnostics: str
    clusterId: int
    applicationType: str
    applicationTags: str
    priority: int
    startedTime: int = 0
    launchTime: int = 0
    finishedTime: int = 0
    elapsedTime: int = 0
    amContainerLogs: str | UnsetType = UNSET
    amHostHttpAddress: str | UnsetType = UNSET
    amRPCAddress: str | UnsetType = UNSET
    masterNodeId: str = ""
    allocatedMB: int = 0
    allocatedVCores: int = 0
    reservedMB: int = 0
    reservedVCores: int = 0
    runningContainers: int = 0
    memorySeconds: int = 0
    vcoreSeconds: int = 0
    queueUsagePercentage: float = 0.0
    clusterUsagePercentage: float = 0.0
    resourceSecondsMap: Entries = NO_ENTRIES
    preemptedResourceMB: int = 0
    preemptedResourceVCores: int = 0
    numNonAMContainerPreempted: int = 0
    numAMContainerPreempted: int = 0
    preemptedMemorySeconds: int = 0
    preemptedVcoreSeconds: int = 0
    preemptedResourceSecondsMap: Entries = NO_ENTRIES
    resourceRequests: list[ResourceRequestInfo] | UnsetType = UNSET
    logAggregationStatus: str | UnsetType = UNSET
    unmanagedApplication: bool = False
    appNodeLabelExpression: str | UnsetType = UNSET
    amNodeLabelExpression: str | UnsetType = UNSET
    rmClusterId: str | UnsetType = UNSET
    resourceInfo: ResourceUsages | UnsetType = UNSET
    timeouts: Timeouts | UnsetType = UNSET
