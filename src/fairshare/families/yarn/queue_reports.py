"""Owns `QueueReport`: what YARN's command line and other clients of its RPC see of one queue.

The default is made of the views that all schedulers share; families add what Hadoop says of its own
scheduler (Hadoop: Queue.getQueueInfo).
"""

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from fairshare.families.yarn.context import YarnContext
from fairshare.model.resources import Resource
from fairshare.schedulers.views import QueueView


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
        return None if view is None else _report(view, cluster)

    return report


def _report(view: QueueView, cluster: int) -> QueueReport:
    """Its capacity is its fair share's part of the cluster's memory, and what it uses is a part of
    that (Hadoop: FSQueue.getQueueInfo)."""
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
