"""Owns the document of the Fair Scheduler's queues (Hadoop: FairSchedulerInfo)."""

from functools import partial
from typing import cast

import msgspec
from msgspec import UNSET, UnsetType

from fairshare.families.yarn.context import YarnContext
from fairshare.families.yarn.documents import Document, ResourceInfo, Written, resource_info
from fairshare.families.yarn.queue_documents import NO_LIMIT, TYPED
from fairshare.model.resources import Resource, smallest
from fairshare.schedulers.fair.queues import FairQueue
from fairshare.schedulers.fair.scheduler import FairScheduler
from fairshare.schedulers.fair.sharing import steady_shares
from fairshare.schedulers.fair.state import FairState
from fairshare.schedulers.fair.views import Sums, sums_with
from fairshare.schedulers.steps import Steps


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

    queue: list[FairQueueInfo | msgspec.Raw]


class FairSchedulerInfo(Document, rename=TYPED):
    """The Fair Scheduler."""

    type_: str
    rootQueue: FairQueueInfo


def fair_scheduler(
    context: YarnContext, state: FairState, most: Resource, written: Written
) -> Steps[FairSchedulerInfo]:
    """All queues; the shares are those of the last update. `most` is the largest container of the
    cluster."""
    root, _ = yield from _Queues(context, state, most, written).info(state.root)
    return FairSchedulerInfo("fairScheduler", root)


class _Queues:
    def __init__(
        self, context: YarnContext, state: FairState, most: Resource, written: Written
    ) -> None:
        self.context = context
        self.state = state
        self.steady = steady_shares(state)
        self.most = most
        scheduler = context.scheduler
        assert isinstance(scheduler, FairScheduler)
        self.container_of = partial(scheduler.maximum_allocation, context.now_ms())
        self.written = written

    def resource(self, amounts: Resource) -> ResourceInfo:
        return resource_info(self.state.types, amounts)

    def info(self, queue: FairQueue) -> Steps[tuple[FairQueueInfo, Sums]]:
        """A queue's document, and its sums for those above it."""
        state = self.state
        below: list[FairQueueInfo | msgspec.Raw] = []
        sums_below: list[Sums] = []
        for child in tuple(queue.children.values()):
            made, sums = yield from self.info(child)
            below.append(cast(FairQueueInfo | msgspec.Raw, self.written(made)))
            sums_below.append(sums)
        yield
        sums = sums_with(queue, sums_below, len(state.none))
        none = state.none
        masters = queue.master_used if queue.leaf else none
        tested = self.context.master_limits.of_leaf(queue.name)
        fresh = sums.runnable - sums.active
        minimum = queue.min_share
        limits = None if any(minimum) else (state.settings.minimum_allocation, self.most_allowed())
        container = self.container_of(queue.name)
        made = FairQueueInfo(
            type_="fairSchedulerLeafQueueInfo" if queue.leaf else UNSET,
            maxApps=min(queue.max_running, NO_LIMIT),
            minResources=resource_info(state.types, minimum, limits),
            maxResources=self.resource(smallest(queue.max_share, state.total)),
            usedResources=self.resource(queue.used),
            amUsedResources=self.resource(masters),
            amMaxResources=self.resource(none if tested is None else tested.masters),
            demandResources=self.resource(queue.demand),
            steadyFairResources=self.resource(self.steady.get(queue.name, none)),
            fairResources=self.resource(queue.fair_share),
            clusterResources=self.resource(state.total),
            reservedResources=self.resource(sums.reserved),
            maxContainerAllocation=self.resource(container or self.most),
            pendingContainers=sums.pending_containers,
            allocatedContainers=sums.containers,
            reservedContainers=sums.reserved_containers,
            queueName=queue.name,
            schedulingPolicy=queue.policy.title,
            preemptable=queue.allow_preemption,
            childQueues=FairQueueInfos(below) if below else UNSET,
            numPendingApps=fresh + len(queue.waiting) if queue.leaf else UNSET,
            numActiveApps=queue.running - fresh if queue.leaf else UNSET,
        )
        return made, sums

    def most_allowed(self) -> Resource:
        return self.state.settings.maximum_allocation
