"""Owns the document of a scheduler that YARN does not know: the views of its queues.

The fields have the names of the Fair Scheduler's document, so that clients which walk `rootQueue`
and `childQueues` find all queues. The kind is the scheduler's name and `Scheduler`, as with the
schedulers that YARN knows.
"""

from msgspec import UNSET, UnsetType

from fairshare.families.yarn.context import YarnContext
from fairshare.families.yarn.documents import Document, ResourceInfo, resource_info
from fairshare.model.queues import ROOT
from fairshare.model.resources import Resource, ResourceTypes, smallest
from fairshare.schedulers.views import QueueView

NO_LIMIT = 2**31 - 1
"""The number for a limit that does not exist: Java's largest integer."""

TYPED = {"type_": "type"}


class QueueInfo(Document):
    """One queue. Only parents have `childQueues`."""

    maxApps: int
    minResources: ResourceInfo
    maxResources: ResourceInfo
    usedResources: ResourceInfo
    demandResources: ResourceInfo
    fairResources: ResourceInfo
    clusterResources: ResourceInfo
    reservedResources: ResourceInfo
    allocatedContainers: int
    reservedContainers: int
    queueName: str
    schedulingPolicy: str
    preemptable: bool
    numPendingApps: int
    numActiveApps: int
    childQueues: "QueueInfos | UnsetType"


class QueueInfos(Document):
    """The queues below a queue."""

    queue: list[QueueInfo]


class SchedulerInfo(Document, rename=TYPED):
    """A scheduler and its queues."""

    type_: str
    rootQueue: QueueInfo


def scheduler_document(context: YarnContext) -> SchedulerInfo:
    """All queues of the scheduler in their present state."""
    scheduler = context.scheduler
    views = {view.name: view for view in scheduler.queue_views(context.now_ms())}
    state = scheduler.state
    root = _info(views[ROOT], views, state.types, state.total)
    return SchedulerInfo(f"{scheduler.name}Scheduler", root)


def _info(
    view: QueueView, views: dict[str, QueueView], types: ResourceTypes, cluster: Resource
) -> QueueInfo:
    most = view.max_running_applications
    below = [_info(views[name], views, types, cluster) for name in view.children]
    return QueueInfo(
        maxApps=NO_LIMIT if most is None else most,
        minResources=resource_info(types, view.min_share),
        maxResources=resource_info(types, smallest(view.max_share, cluster)),
        usedResources=resource_info(types, view.used),
        demandResources=resource_info(types, view.demand),
        fairResources=resource_info(types, view.fair_share),
        clusterResources=resource_info(types, cluster),
        reservedResources=resource_info(types, view.reserved),
        allocatedContainers=view.containers,
        reservedContainers=view.reserved_containers,
        queueName=view.name,
        schedulingPolicy=view.policy,
        preemptable=view.preemptable,
        numPendingApps=view.pending_applications,
        numActiveApps=view.running_applications,
        childQueues=QueueInfos(below) if below else UNSET,
    )
