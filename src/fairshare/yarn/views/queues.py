"""What YARN's clients see of the queues of a scheduler that YARN does not know, made of the views
that all schedulers share: the document of its REST interface, and the reports of its RPC.

The fields of the document have the names of the Fair Scheduler's, so that clients which walk
`rootQueue` and `childQueues` find all queues. The kind is the scheduler's name and `Scheduler`, as
with the schedulers that YARN knows. Families add to the reports what Hadoop says of its own
schedulers (Hadoop: Queue.getQueueInfo).
"""

from collections.abc import Callable
from typing import TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from fairshare.core.model.queues import ROOT
from fairshare.core.model.resources import NO_LIMIT, Resource, ResourceTypes, smallest
from fairshare.core.schedulers.views import QueueView
from fairshare.yarn.views.context import YarnContext
from fairshare.yarn.views.documents import Document, ResourceInfo, resource_info

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


class PartitionReport(msgspec.Struct, frozen=True):
    """A queue's capacities in one partition, as parts of 1."""

    label: str
    capacity: float
    absolute_capacity: float
    maximum_capacity: float
    absolute_maximum: float
    masters: float
    effective_minimum: Resource
    effective_maximum: Resource
    configured_minimum: Resource | None = None
    configured_maximum: Resource | None = None
    total: Resource | None = None


class QueueReport(msgspec.Struct, frozen=True, kw_only=True):
    """One queue. Capacities are parts of 1, of the parent queue; `current_capacity` is the used
    part of the queue's own capacity. `children` are full names. None: the scheduler has no such
    value."""

    name: str
    path: str
    children: tuple[str, ...]
    capacity: float
    maximum_capacity: float
    current_capacity: float
    state: str = "RUNNING"
    labels: tuple[str, ...] = ()
    default_label: str | None = None
    preemption_disabled: bool | None = None
    intra_queue_preemption_disabled: bool | None = None
    weight: float | None = None
    max_parallel: int | None = None
    max_running: int | None = None
    scheduler_type: str = ""
    partitions: tuple[PartitionReport, ...] = ()
    minimum: Resource | None = None
    maximum: Resource | None = None
    reserved: Resource | None = None
    steady_share: Resource | None = None
    available: Resource | None = None


QueueReports: TypeAlias = Callable[[str], QueueReport | None]
"""The report of a queue, by its full or, where that is enough, its short name; None: there is no
such queue. For several queues of one moment."""


def reports_of_views(context: YarnContext) -> QueueReports:
    """The queues of any scheduler."""
    scheduler = context.scheduler
    views = {view.name: view for view in scheduler.queue_views(context.now_ms())}
    cluster = scheduler.state.total[0]

    def report(name: str) -> QueueReport | None:
        view = views.get(name) or views.get(f"root.{name}")
        if view is None:
            return None
        # Its capacity is its fair share's part of the cluster's memory, and what it uses is a part
        # of that (Hadoop: FSQueue.getQueueInfo).
        share = view.fair_share[0]
        return QueueReport(
            name=view.name,
            path=view.name,
            children=tuple(view.children),
            capacity=share / cluster if cluster else 0.0,
            maximum_capacity=1.0,
            current_capacity=view.used[0] / share if share else 0.0,
            max_running=view.max_running_applications,
            minimum=view.min_share,
            maximum=view.max_share,
            reserved=view.reserved,
            steady_share=getattr(view, "steady_fair_share", None),
        )

    return report
