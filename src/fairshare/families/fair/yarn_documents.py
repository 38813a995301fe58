"""Owns the document of the Fair Scheduler's queues (Hadoop: FairSchedulerInfo)."""

from msgspec import UNSET, UnsetType

from fairshare.families.yarn.context import YarnContext
from fairshare.families.yarn.documents import Document
from fairshare.families.yarn.queue_documents import NO_LIMIT, TYPED
from fairshare.families.yarn.resources import ResourceInfo, resource_info
from fairshare.model.resources import Resource, smallest
from fairshare.schedulers.fair.queues import FairQueue
from fairshare.schedulers.fair.state import FairState
from fairshare.schedulers.fair.views import sums_of_queues
from fairshare.schedulers.views import QueueView

_TITLES = {"fair": "fair", "drf": "DRF", "fifo": "FIFO"}


class FairQueueInfo(Document, rename=TYPED):
    """One queue. Only leaves have `type_` and the last two fields, only parents have
    `childQueues`."""

    type_: str | UnsetType
    maxApps: int
    minResources: ResourceInfo
    maxResources: ResourceInfo
    usedResources: ResourceInfo
    amUsedResources: ResourceInfo
    amMaxResources: ResourceInfo
    demandResources: ResourceInfo
    steadyFairResources: ResourceInfo
    fairResources: ResourceInfo
    clusterResources: ResourceInfo
    reservedResources: ResourceInfo
    maxContainerAllocation: ResourceInfo
    pendingContainers: int
    allocatedContainers: int
    reservedContainers: int
    queueName: str
    schedulingPolicy: str
    preemptable: bool
    childQueues: "FairQueueInfos | UnsetType"
    numPendingApps: int | UnsetType
    numActiveApps: int | UnsetType


class FairQueueInfos(Document):
    """The queues below a queue."""

    queue: list[FairQueueInfo]


class FairSchedulerInfo(Document, rename=TYPED):
    """The Fair Scheduler."""

    type_: str
    rootQueue: FairQueueInfo


def fair_scheduler(context: YarnContext, state: FairState, most: Resource) -> FairSchedulerInfo:
    """All queues in their present state; the shares are those of the last update. `most` is the
    largest container of the cluster."""
    views = {view.name: view for view in context.scheduler.queue_views(context.now_ms())}
    return FairSchedulerInfo("fairScheduler", _Queues(context, state, views, most).info(state.root))


class _Queues:
    def __init__(
        self, context: YarnContext, state: FairState, views: dict[str, QueueView], most: Resource
    ) -> None:
        self.context = context
        self.state = state
        self.views = views
        self.sums = sums_of_queues(state)
        self.most = most

    def resource(self, amounts: Resource) -> ResourceInfo:
        return resource_info(self.state.types, amounts)

    def info(self, queue: FairQueue) -> FairQueueInfo:
        state, view = self.state, self.views[queue.name]
        sums = self.sums[queue.name]
        none = state.none
        masters = queue.master_used if queue.leaf else none
        tested = self.context.master_limits.of_leaf(queue.name)
        fresh = sums.runnable - sums.active
        minimum = queue.min_share
        limits = None if any(minimum) else (state.settings.minimum_allocation, self.most_allowed())
        return FairQueueInfo(
            type_="fairSchedulerLeafQueueInfo" if queue.leaf else UNSET,
            maxApps=min(queue.max_running, NO_LIMIT),
            minResources=resource_info(state.types, minimum, limits),
            maxResources=self.resource(smallest(queue.max_share, state.total)),
            usedResources=self.resource(queue.used),
            amUsedResources=self.resource(masters),
            amMaxResources=self.resource(none if tested is None else tested.masters),
            demandResources=self.resource(queue.demand),
            steadyFairResources=self.resource(view.steady_fair_share),
            fairResources=self.resource(queue.fair_share),
            clusterResources=self.resource(state.total),
            reservedResources=self.resource(sums.reserved),
            maxContainerAllocation=self.resource(view.max_container or self.most),
            pendingContainers=sums.pending_containers,
            allocatedContainers=view.containers,
            reservedContainers=view.reserved_containers,
            queueName=queue.name,
            schedulingPolicy=_TITLES.get(queue.policy.name, queue.policy.name),
            preemptable=queue.allow_preemption,
            childQueues=(
                FairQueueInfos([self.info(child) for child in queue.children.values()])
                if queue.children
                else UNSET
            ),
            numPendingApps=fresh + len(queue.waiting) if queue.leaf else UNSET,
            numActiveApps=queue.running - fresh if queue.leaf else UNSET,
        )

    def most_allowed(self) -> Resource:
        return self.state.settings.maximum_allocation
