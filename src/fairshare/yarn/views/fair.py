"""What YARN's REST interface shows of the Fair Scheduler: its queues (Hadoop: FairSchedulerInfo),
limits for masters, and diagnostics of waiting and refused applications in Hadoop's words
(Hadoop: FSAppAttempt, MaxRunningAppsEnforcer).

Scripts parse these texts for names, so they are written as Hadoop writes them.
"""

from collections.abc import Mapping
from functools import partial
from typing import cast

import msgspec
from msgspec import UNSET, UnsetType

from fairshare.core.model.applications import Application
from fairshare.core.model.events import ContainerAllocated
from fairshare.core.model.resources import NO_LIMIT, Resource, add, smallest, subtract
from fairshare.core.record import Record
from fairshare.core.schedulers.calculators import single
from fairshare.core.schedulers.fair.limits import master_limit
from fairshare.core.schedulers.fair.queues import FairQueue
from fairshare.core.schedulers.fair.reasons import run_limit
from fairshare.core.schedulers.fair.scheduler import FairScheduler
from fairshare.core.schedulers.fair.sharing import steady_shares
from fairshare.core.schedulers.fair.state import FairState
from fairshare.core.schedulers.fair.views import Sums, sums_with
from fairshare.core.schedulers.protocol import State, Steps, without_leaves
from fairshare.yarn.views.context import MasterLimit, YarnContext
from fairshare.yarn.views.documents import Document, ResourceInfo, Written, percent, resource_info
from fairshare.yarn.views.interface import WAITS, YarnInterface, counts_use, within_largest_node
from fairshare.yarn.views.queues import TYPED, QueueReport, QueueReports, reports_of_views


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
            below.append(cast("FairQueueInfo | msgspec.Raw", self.written(made)))
            sums_below.append(sums)
        yield
        sums = sums_with(queue, sums_below, len(state.none))
        none = state.none
        masters = queue.master_used if queue.leaf else none
        tested = self.context.master_limits.of_leaf(queue.name)
        fresh = sums.runnable - sums.active
        minimum = queue.min_share
        settings = state.settings
        limits = (settings.minimum_allocation, settings.maximum_allocation)
        container = self.container_of(queue.name)
        made = FairQueueInfo(
            type_="fairSchedulerLeafQueueInfo" if queue.leaf else UNSET,
            maxApps=min(queue.max_running, NO_LIMIT),
            minResources=resource_info(state.types, minimum, None if any(minimum) else limits),
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


def why_waits(state: FairState, application: Application) -> str:
    """Why an attempt waits for its master's container; empty once it may run."""
    if application.attempt.runnable:
        return ""
    attempt = state.attempts.get(application.id)
    limit = None if attempt is None else run_limit(state, attempt)
    if limit is None:
        return WAITS
    holder = f'user "{limit.user}"' if limit.user else f'queue "{limit.queue}"'
    return f"{WAITS} The {holder} has reached the maximum limit of runnable applications."


def refusal(application: Application, name: str, queue: str) -> str:
    """Why a submission was refused. Hadoop names the application in one message of this
    scheduler, that of a queue."""
    if not queue:
        return without_leaves(application.diagnostics)
    return f"User {application.user} does not have permission to submit {name} to queue {queue}"


def tested_master_limits(record: Record, state: FairState) -> dict[str, MasterLimit | None]:
    """The limits of the leaves that were granted a master, by leaf. Users have the leaf's."""
    grants = [event for event in record.events if type(event) is ContainerAllocated]
    masters = [grant for grant in grants if grant.master]
    if not masters:
        return {}
    free = subtract(state.total, state.used)  # as the heartbeat found it
    for grant in grants:
        free = add(free, grant.resource)
    limits: dict[str, MasterLimit | None] = {}
    for grant in masters:
        attempt = state.attempts.get(grant.application)
        leaf = None if attempt is None else attempt.leaf
        limit = None if leaf is None else master_limit(leaf, free)
        if leaf is not None and limit is not None:
            limits[leaf.name] = MasterLimit(limit, limit, {})
    return limits


class FairYarn(YarnInterface):
    """Hadoop's Fair Scheduler."""

    title = "Fair Scheduler"
    master_limit_events = (ContainerAllocated,)
    class_name = "FairScheduler"
    counts_users = True

    def counts_vcores(self, state: State) -> bool:
        """Whatever the policies (FairScheduler.getSchedulingResourceTypes)."""
        return True

    def document_in_steps(self, context: YarnContext, written: Written) -> Steps[Document]:
        """All queues with their shares."""
        state = _own(context.scheduler.state)
        return fair_scheduler(context, state, self.allocation_limits(state)[1], written)

    def queue_reports(self, context: YarnContext) -> QueueReports:
        """Fair shares as parts of the cluster (Hadoop: FSQueue.getQueueInfo)."""
        reports, state = reports_of_views(context), _own(context.scheduler.state)

        def report(name: str) -> QueueReport | None:
            found = reports(name)
            if found is None:
                return None
            most = found.maximum
            queue = state.queues[found.name]
            shares = zip(queue.fair_share, queue.used, strict=True)
            return msgspec.structs.replace(
                found,
                scheduler_type="FairScheduler",
                weight=queue.weight,
                max_running=min(queue.max_running, 2**31 - 1),
                available=tuple(max(0, share - used) for share, used in shares),
                preemption_disabled=not state.settings.preemption,
                maximum=None if most is None else tuple(map(min, most, state.total)),
            )

        return report

    def allocation_limits(self, state: State) -> tuple[Resource, Resource]:
        """As configured, and at most the largest node."""
        settings = _own(state).settings
        return within_largest_node(state, settings.minimum_allocation, settings.maximum_allocation)

    def configured_maximum(self, state: State) -> Resource:
        """`yarn.scheduler.maximum-allocation-*`."""
        return _own(state).settings.maximum_allocation

    def tested_master_limits(
        self, record: Record, state: State
    ) -> Mapping[str, MasterLimit | None]:
        """The Fair Scheduler tests the limit of a leaf when it grants a master there."""
        return tested_master_limits(record, _own(state))

    def usage_percentages(self, state: State, application: Application) -> tuple[float, float]:
        """Memory alone; the queue's part of the cluster is its fair share.

        For example 5120 MB in a queue with a fair share of 12288 MB, in a cluster of 40960 MB, are
        41.666664 and 12.5.
        """
        if not counts_use(state, application):
            return 0.0, 0.0
        used, cluster = application.used[0], state.total[0]
        queue = _own(state).queues[application.queue]
        base = int(cluster * single(queue.fair_share[0] / cluster))
        part = single(used / base) if base else 0.0
        return percent(part), percent(single(used / cluster))

    def why_waits(self, state: State, application: Application) -> str:
        """The limit on running applications that holds it back."""
        return why_waits(_own(state), application)

    def refusal(self, application: Application, name: str, code: str, queue: str) -> str:
        """As Hadoop's Fair Scheduler words it."""
        return refusal(application, name, queue)


def _own(state: State) -> FairState:
    assert isinstance(state, FairState)
    return state
