"""The forms of the Capacity Scheduler's documents, fields in YARN's order (Hadoop:
CapacitySchedulerInfo), and the text of a queue's capacity by type: `[memory-mb=30.0%,...]`.
"""

import msgspec
from msgspec import UNSET, UnsetType

from fairshare.core.schedulers.calculators import single
from fairshare.core.schedulers.capacity.queues import CapacityQueue
from fairshare.core.schedulers.capacity.settings import (
    Amount,
    Capacity,
    LabelCapacity,
    Percentage,
    Unit,
    Vector,
    Weight,
)
from fairshare.core.schedulers.capacity.state import CapacityState
from fairshare.core.schedulers.hash_order import in_hash_order, text_code
from fairshare.yarn.views.documents import Document, ResourceInfo, ResourceUsages, shortest
from fairshare.yarn.views.queues import TYPED


class VectorEntry(Document):
    """One type's part of a capacity."""

    resourceName: str
    resourceValue: str


class CapacityVector(Document):
    """A capacity as it is configured, type by type."""

    configuredCapacityVector: str
    capacityVectorEntries: list[VectorEntry] | UnsetType


class PartitionCapacities(Document):
    """A queue's capacities in one partition."""

    partitionName: str
    queueCapacityVectorInfo: CapacityVector
    capacity: float
    usedCapacity: float
    maxCapacity: float
    absoluteCapacity: float
    absoluteUsedCapacity: float
    absoluteMaxCapacity: float
    maxAMLimitPercentage: float
    weight: float
    normalizedWeight: float
    configuredMinResource: ResourceInfo
    configuredMaxResource: ResourceInfo
    effectiveMinResource: ResourceInfo
    effectiveMaxResource: ResourceInfo


class Capacities(Document):
    """A queue's capacities."""

    queueCapacitiesByPartition: list[PartitionCapacities]


class QueueAcl(Document):
    """One access list."""

    accessType: str
    accessControlList: str


class QueueAcls(Document):
    """The access lists of a queue."""

    queueAcl: list[QueueAcl]


class Setting(Document):
    """A property and its value."""

    name: str
    value: str


class Properties(Document):
    """Properties; no key when there is none."""

    property: list[Setting] | UnsetType = UNSET


class UserInfo(Document):
    """One user of a leaf."""

    username: str
    resourcesUsed: ResourceInfo
    numPendingApplications: int
    numActiveApplications: int
    AMResourceUsed: ResourceInfo
    userResourceLimit: ResourceInfo
    resources: ResourceUsages
    userWeight: float
    isActive: bool


class UserInfos(Document):
    """The users of a leaf."""

    user: list[UserInfo] | UnsetType


class CapacityQueueInfo(Document, rename=TYPED):
    """One queue below root. Only leaves have `type_` and the fields after
    `autoQueueLeafTemplateProperties`, only parents have `queues`."""

    type_: str | UnsetType
    queuePath: str
    capacity: float
    usedCapacity: float
    maxCapacity: float
    absoluteCapacity: float
    absoluteMaxCapacity: float
    absoluteUsedCapacity: float
    weight: float
    normalizedWeight: float
    numApplications: int
    maxParallelApps: int
    queueName: str
    isAbsoluteResource: bool
    state: str
    queues: "CapacityQueueInfos | UnsetType"
    resourcesUsed: ResourceInfo
    hideReservationQueues: bool
    nodeLabels: list[str] | UnsetType
    allocatedContainers: int
    reservedContainers: int
    pendingContainers: int
    capacities: Capacities
    resources: ResourceUsages
    minEffectiveCapacity: ResourceInfo
    maxEffectiveCapacity: ResourceInfo
    maximumAllocation: ResourceInfo
    queueAcls: QueueAcls
    queuePriority: int
    orderingPolicyInfo: str
    autoCreateChildQueueEnabled: bool
    leafQueueTemplate: Properties
    mode: str
    queueType: str
    creationMethod: str
    autoCreationEligibility: str
    defaultNodeLabelExpression: str | UnsetType
    autoQueueTemplateProperties: Properties
    autoQueueParentTemplateProperties: Properties
    autoQueueLeafTemplateProperties: Properties
    numActiveApplications: int | UnsetType = UNSET
    numPendingApplications: int | UnsetType = UNSET
    numContainers: int | UnsetType = UNSET
    maxApplications: int | UnsetType = UNSET
    maxApplicationsPerUser: int | UnsetType = UNSET
    userLimit: float | UnsetType = UNSET
    users: UserInfos | UnsetType = UNSET
    userLimitFactor: float | UnsetType = UNSET
    configuredMaxAMResourceLimit: float | UnsetType = UNSET
    AMResourceLimit: ResourceInfo | UnsetType = UNSET
    usedAMResource: ResourceInfo | UnsetType = UNSET
    userAMResourceLimit: ResourceInfo | UnsetType = UNSET
    preemptionDisabled: bool | UnsetType = UNSET
    intraQueuePreemptionDisabled: bool | UnsetType = UNSET
    defaultPriority: int | UnsetType = UNSET
    isAutoCreatedLeafQueue: bool | UnsetType = UNSET
    maxApplicationLifetime: int | UnsetType = UNSET
    defaultApplicationLifetime: int | UnsetType = UNSET


class CapacityQueueInfos(Document):
    """The queues below a queue: leaves first, then parents."""

    queue: list[CapacityQueueInfo | msgspec.Raw] | UnsetType


class OperationInfo(Document):
    """The last operation, and its node."""

    operation: str
    nodeId: str = "N/A"
    containerId: str = "N/A"
    queue: str = "N/A"


class RunDetail(Document):
    """The result of the last node update."""

    operation: str
    count: int
    resources: ResourceInfo


class Health(Document):
    """The last operations of the scheduler."""

    lastrun: int
    operationsInfo: list[OperationInfo]
    lastRunDetails: list[RunDetail]


class CapacitySchedulerInfo(Document, rename=TYPED):
    """The Capacity Scheduler: its root queue in a shorter form."""

    type_: str
    capacity: float
    usedCapacity: float
    maxCapacity: float
    weight: float
    normalizedWeight: float
    queueCapacityVectorInfo: CapacityVector
    queueName: str
    queuePath: str
    maxParallelApps: int
    isAbsoluteResource: bool
    queues: CapacityQueueInfos
    capacities: Capacities
    health: Health
    maximumAllocation: ResourceInfo
    queueAcls: QueueAcls
    queuePriority: int
    orderingPolicyInfo: str
    mode: str
    queueType: str
    creationMethod: str
    autoCreationEligibility: str
    defaultNodeLabelExpression: str | UnsetType
    autoQueueTemplateProperties: Properties
    autoQueueParentTemplateProperties: Properties
    autoQueueLeafTemplateProperties: Properties


def capacity_vector(state: CapacityState, queue: CapacityQueue, label: str) -> CapacityVector:
    """The configured capacity of a queue in a partition; the types in the order of Java's map."""
    names = state.types.names
    amounts = dict(zip(names, _amounts(_capacity(queue, label), len(names)), strict=False))
    texts = {
        name: _amount_text(amounts[name])
        for name in in_hash_order(names, text_code)
        if name in amounts
    }
    listed = ",".join(f"{name}={text}" for name, text in texts.items())
    found = [VectorEntry(name, text) for name, text in texts.items()]
    return CapacityVector(f"[{listed}]", found or UNSET)


def _capacity(queue: CapacityQueue, label: str) -> Capacity | None:
    if queue.name == "root" and not label:
        return Percentage(100.0)
    if label:
        return queue.settings.label_capacities.get(label, LabelCapacity()).capacity
    if queue.settings.capacity is None and queue.dynamic:
        return Weight(queue.share.weight)
    return queue.settings.capacity


def _amounts(capacity: Capacity | None, types: int) -> tuple[Amount, ...]:
    match capacity:
        case Percentage(percent=part):
            return (Amount(part, Unit.PERCENTAGE),) * types
        case Weight(weight=weight):
            return (Amount(weight, Unit.WEIGHT),) * types
        case Vector(amounts=amounts):
            return amounts
        case _:
            return ()


def _amount_text(amount: Amount) -> str:
    """`30.0%`, `2.0w`, `4096.0`."""
    suffix = {Unit.PERCENTAGE: "%", Unit.WEIGHT: "w", Unit.ABSOLUTE: ""}[amount.unit]
    return f"{shortest(single(float(amount.value)))}{suffix}"
