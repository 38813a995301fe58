"""The conversion of the Capacity Scheduler's queues to documents, and the limits for masters that
it tests when an application comes, goes or moves, and when the cluster changes.

Computes percentages only. Leaves come before parents, as Hadoop sends them; readers rely on it
(Hadoop: CapacitySchedulerInfo).
"""

from typing import Any, cast

import msgspec
from msgspec import UNSET, UnsetType

from fairshare.core.model.events import (
    ApplicationMoved,
    AttemptEnded,
    AttemptStarted,
    ConfigurationLoaded,
    LabelsChanged,
    NodeAdded,
    NodeRemoved,
    NodesLabelled,
    NodeTotalChanged,
)
from fairshare.core.model.identifiers import container_name
from fairshare.core.model.resources import NO_LIMIT, UNBOUNDED, Resource
from fairshare.core.record import Record
from fairshare.core.schedulers.capacity import limits
from fairshare.core.schedulers.capacity.queues import WEIGHT, CapacityQueue
from fairshare.core.schedulers.capacity.settings import Unit, Vector
from fairshare.core.schedulers.capacity.state import CapacityState
from fairshare.core.schedulers.capacity.users import User
from fairshare.core.schedulers.capacity.views import Counts, counts_with
from fairshare.core.schedulers.protocol import Steps
from fairshare.settings.capacity.names import PREFIX
from fairshare.yarn.views.capacity_queue_documents import (
    Capacities,
    CapacityQueueInfo,
    CapacityQueueInfos,
    CapacitySchedulerInfo,
    Health,
    OperationInfo,
    PartitionCapacities,
    Properties,
    QueueAcl,
    QueueAcls,
    RunDetail,
    Setting,
    UserInfo,
    UserInfos,
    capacity_vector,
)
from fairshare.yarn.views.context import MasterLimit, Operation, Run, YarnContext
from fairshare.yarn.views.documents import (
    PartitionUsage,
    ResourceInfo,
    ResourceUsages,
    Written,
    partition_usage,
    percent,
    resource_info,
    shortest,
)

_CLUSTER = (
    ConfigurationLoaded,
    LabelsChanged,
    NodeAdded,
    NodeRemoved,
    NodesLabelled,
    NodeTotalChanged,
)

MASTER_LIMIT_EVENTS = (*_CLUSTER, AttemptStarted, AttemptEnded, ApplicationMoved)


def tested_master_limits(record: Record, state: CapacityState) -> dict[str, MasterLimit | None]:
    """The limits that a record made the scheduler test, by leaf; None: the leaf has gone."""
    leaves: dict[str, None] = {}
    for event in record.events:
        if isinstance(event, _CLUSTER):
            leaves |= dict.fromkeys(q.name for q in state.queues.values() if q.leaf)
        elif isinstance(event, AttemptStarted | AttemptEnded | ApplicationMoved):
            application = state.applications.get(event.application)
            if application is not None:
                leaves[application.queue] = None
    found = {name: state.queues.get(name) for name in leaves}
    return {
        name: present_limit(state, leaf) if leaf is not None and leaf.leaf else None
        for name, leaf in found.items()
    }


def present_limit(state: CapacityState, leaf: CapacityQueue) -> MasterLimit:
    """The limits of a leaf in the default partition, as they are now."""
    return MasterLimit(
        limits.master_limit(state, leaf, ""),
        limits.user_master_limit(state, leaf, "", None),
        {name: limits.user_master_limit(state, leaf, "", name) for name in leaf.users.users},
    )


_V2 = ".auto-queue-creation-v2."


def capacity_scheduler(
    context: YarnContext, state: CapacityState, written: Written
) -> Steps[CapacitySchedulerInfo]:
    """The whole tree."""
    return _Queues(context, state, written).root()


def _mode(queue: CapacityQueue) -> str:
    """How its capacity is given; a vector of weights alone is a weight too."""
    own = queue.settings.capacity
    weights = isinstance(own, Vector) and all(a.unit == Unit.WEIGHT for a in own.amounts)
    return WEIGHT if weights else queue.mode


class _Queues:
    def __init__(self, context: YarnContext, state: CapacityState, written: Written) -> None:
        self.context = context
        self.written = written
        self.state = state
        # Few of a thousand queues' properties are of templates, and each queue looks for its own.
        self.template_properties = {
            name: value for name, value in context.properties().items() if "template." in name
        }
        settings = state.settings
        most = settings.maximum_allocation
        self.bounds = (
            (*settings.minimum_allocation[:2], *state.none[2:]),
            (*most[:2], *(UNBOUNDED for _ in most[2:])),
        )

    def resource(self, amounts: Resource) -> ResourceInfo:
        return resource_info(self.state.types, amounts)

    def root(self) -> Steps[CapacitySchedulerInfo]:
        queue = self.state.root
        children, _ = yield from self.children(queue)
        return CapacitySchedulerInfo(
            type_="capacityScheduler",
            queueCapacityVectorInfo=capacity_vector(self.state, queue, ""),
            queueName="root",
            queuePath="root",
            queues=children,
            health=self.health(),
            **self.described(queue),
        )

    def described(self, queue: CapacityQueue) -> dict[str, Any]:
        """The fields that the document of each queue has, that of root too."""
        share = queue.share
        return {
            "weight": shortest(share.weight),
            "normalizedWeight": shortest(share.normalized_weight),
            "capacity": percent(share.capacity),
            "usedCapacity": percent(share.used_capacity),
            "maxCapacity": percent(share.maximum_capacity),
            "maxParallelApps": min(queue.maximum_parallel, NO_LIMIT),
            "isAbsoluteResource": queue.mode == "absolute",
            "capacities": self.capacities(queue),
            "maximumAllocation": self.resource(queue.maximum_allocation),
            "queueAcls": self.acls(queue),
            "queuePriority": queue.priority,
            "orderingPolicyInfo": queue.policy,
            "mode": _mode(queue),
            "queueType": "leaf" if queue.leaf else "parent",
            "creationMethod": self.creation(queue),
            "autoCreationEligibility": self.eligibility(queue),
            "defaultNodeLabelExpression": queue.default_label or UNSET,
            "autoQueueTemplateProperties": self.template(queue, _V2 + "template."),
            "autoQueueParentTemplateProperties": self.template(queue, _V2 + "parent-template."),
            "autoQueueLeafTemplateProperties": self.template(queue, _V2 + "leaf-template."),
        }

    def children(self, queue: CapacityQueue) -> Steps[tuple[CapacityQueueInfos, list[Counts]]]:
        """The documents of a queue's children, and their counts."""
        infos: list[CapacityQueueInfo | msgspec.Raw] = []
        below: list[Counts] = []
        for child in sorted(queue.children.values(), key=lambda child: not child.leaf):
            info, counts = yield from self.queue(child)
            infos.append(cast("CapacityQueueInfo | msgspec.Raw", self.written(info)))
            below.append(counts)
        return CapacityQueueInfos(infos or UNSET), below

    def queue(self, queue: CapacityQueue) -> Steps[tuple[CapacityQueueInfo, Counts]]:
        """A queue's document, and its counts for those above it."""
        children, below = yield from self.children(queue)
        yield
        share = queue.share
        counts = counts_with(queue, below)
        info = CapacityQueueInfo(
            type_="capacitySchedulerLeafQueueInfo" if queue.leaf else UNSET,
            queuePath=queue.name,
            absoluteCapacity=_clamped(share.absolute_capacity),
            absoluteMaxCapacity=_clamped(share.absolute_maximum),
            absoluteUsedCapacity=_clamped(share.absolute_used),
            numApplications=queue.number_of_applications,
            queueName=queue.short_name,
            state=queue.state,
            queues=UNSET if queue.leaf else children,
            resourcesUsed=self.resource(share.used),
            hideReservationQueues=False,
            nodeLabels=self.labels(queue),
            allocatedContainers=counts.containers,
            reservedContainers=counts.reserved_containers,
            pendingContainers=counts.pending_containers,
            resources=self.usages(queue),
            minEffectiveCapacity=self.resource(share.effective_minimum),
            maxEffectiveCapacity=self.resource(share.effective_maximum),
            autoCreateChildQueueEnabled=bool(queue.settings.legacy_dynamic_leaves),
            leafQueueTemplate=self.template(queue, ".leaf-queue-template."),
            **self.described(queue),
        )
        if queue.leaf:
            self.add_leaf(info, queue, counts)
        return info, counts

    def add_leaf(self, info: CapacityQueueInfo, leaf: CapacityQueue, counts: Counts) -> None:
        info.numActiveApplications = counts.active
        info.numPendingApplications = counts.waiting
        info.numContainers = counts.containers + counts.reserved_containers
        info.maxApplications = leaf.maximum_applications
        info.maxApplicationsPerUser = leaf.maximum_per_user
        info.userLimit = shortest(leaf.user_limit_percent)
        users = [self.user(leaf, user) for user in leaf.users.users.values()]
        info.users = UserInfos(users or UNSET)
        info.userLimitFactor = shortest(leaf.user_limit_factor)
        info.configuredMaxAMResourceLimit = shortest(leaf.share.master_share)
        limit = self.limit(leaf)
        info.AMResourceLimit = self.resource(limit.masters)
        info.usedAMResource = self.resource(leaf.share.master_used)
        info.userAMResourceLimit = self.resource(limit.user if leaf.users.users else limit.masters)
        info.preemptionDisabled = not leaf.preemptable
        info.intraQueuePreemptionDisabled = not leaf.intra_preemptable
        info.defaultPriority = leaf.default_priority
        info.isAutoCreatedLeafQueue = self.creation(leaf) == "dynamicLegacy"
        info.maxApplicationLifetime = leaf.maximum_lifetime_s
        info.defaultApplicationLifetime = leaf.default_lifetime_s

    def user(self, leaf: CapacityQueue, user: User) -> UserInfo:
        state = self.state
        none = state.none
        labels = [label for label in state.labels if not label or label in user.used]
        return UserInfo(
            username=user.name,
            resourcesUsed=self.resource(user.used.get("", none)),
            numPendingApplications=user.pending_applications,
            numActiveApplications=user.active_applications,
            AMResourceUsed=self.resource(user.master_used.get("", none)),
            userResourceLimit=self.resource(limits.user_limit(state, leaf, user.name, "")),
            resources=ResourceUsages(
                [
                    partition_usage(
                        state.types,
                        label,
                        user.used.get(label, none),
                        none,
                        none,
                        (
                            user.master_used.get(label, none),
                            none if label else self.limit(leaf).users.get(user.name, none),
                            none,
                        ),
                    )
                    for label in labels
                ]
            ),
            userWeight=shortest(user.weight),
            isActive=user.active,
        )

    # Parts.

    def shown_labels(self, queue: CapacityQueue) -> list[str]:
        """The default partition, those with a capacity in this queue, and those in use."""
        return [
            label
            for label in self.state.labels
            if not label
            or label in queue.settings.label_capacities
            or any(queue.shares[label].used)
            or any(queue.shares[label].pending)
        ]

    def capacities(self, queue: CapacityQueue) -> Capacities:
        return Capacities([self.partition(queue, label) for label in self.shown_labels(queue)])

    def partition(self, queue: CapacityQueue, label: str) -> PartitionCapacities:
        share = queue.shares[label]
        own = not label or label in queue.settings.label_capacities
        return PartitionCapacities(
            partitionName=label,
            queueCapacityVectorInfo=capacity_vector(self.state, queue, label),
            maxAMLimitPercentage=percent(share.master_share) if queue.leaf and own else 0.0,
            configuredMinResource=self.configured(share.configured_minimum),
            configuredMaxResource=self.configured(share.configured_maximum),
            effectiveMinResource=self.resource(share.effective_minimum),
            effectiveMaxResource=self.resource(share.effective_maximum),
            capacity=percent(share.capacity),
            usedCapacity=percent(share.used_capacity),
            maxCapacity=percent(share.maximum_capacity) if own else 100.0,
            absoluteCapacity=_clamped(share.absolute_capacity),
            absoluteUsedCapacity=_clamped(share.absolute_used),
            absoluteMaxCapacity=_clamped(share.absolute_maximum),
            weight=shortest(share.weight),
            normalizedWeight=shortest(share.normalized_weight),
        )

    def configured(self, amounts: Resource | None) -> ResourceInfo:
        """A resource that is not configured carries the limits of its types."""
        if amounts is None:
            return resource_info(self.state.types, self.state.none, self.bounds)
        return self.resource(amounts)

    def usages(self, queue: CapacityQueue) -> ResourceUsages:
        partition_usages: list[PartitionUsage] = []
        for label in self.shown_labels(queue):
            share = queue.shares[label]
            masters = None
            if label and not queue.leaf and not any(share.used):
                continue
            if queue.leaf:
                none = self.state.none
                limit = self.limit(queue)
                own = limit.user if queue.users.users and not label else none
                most = limit.masters
                if label:
                    most = limits.master_limit(self.state, queue, label)
                masters = (share.master_used, most, own)
            partition_usages.append(
                partition_usage(
                    self.state.types, label, share.used, share.reserved, share.pending, masters
                )
            )
        return ResourceUsages(partition_usages)

    def limit(self, leaf: CapacityQueue) -> MasterLimit:
        """The limits for masters as they were at the last activation of applications."""
        found = self.context.master_limits.of_leaf(leaf.name)
        return found or present_limit(self.state, leaf)

    def labels(self, queue: CapacityQueue) -> list[str] | UnsetType:
        return sorted(queue.accessible) or UNSET

    def acls(self, queue: CapacityQueue) -> QueueAcls:
        default = "*" if queue.name == "root" else " "
        own = queue.settings
        submit = default if own.submit_acl is None else own.submit_acl
        administer = default if own.administer_acl is None else own.administer_acl
        rules = "*" if not queue.priority_rules else " ".join(r.acl for r in queue.priority_rules)
        return QueueAcls(
            [
                QueueAcl("ADMINISTER_QUEUE", administer),
                QueueAcl("APPLICATION_MAX_PRIORITY", rules),
                QueueAcl("SUBMIT_APP", submit),
            ]
        )

    def eligibility(self, queue: CapacityQueue) -> str:
        if queue.leaf:
            return "off"
        if queue.settings.legacy_dynamic_leaves:
            return "legacy"
        return "flexible" if queue.settings.dynamic_children else "off"

    def creation(self, queue: CapacityQueue) -> str:
        if not queue.dynamic:
            return "static"
        above = queue.parent
        legacy = above is not None and bool(above.settings.legacy_dynamic_leaves)
        return "dynamicLegacy" if legacy else "dynamicFlexible"

    def template(self, queue: CapacityQueue, part: str) -> Properties:
        start = f"{PREFIX}{queue.name}{part}"
        settings = [
            Setting(name.removeprefix(start), value)
            for name, value in self.template_properties.items()
            if name.startswith(start)
        ]
        return Properties(settings or UNSET)

    def health(self) -> Health:
        health = self.context.health
        kinds = (
            ("last-allocation", health.allocation, False),
            ("last-release", health.release, True),
            ("last-preemption", health.preemption, True),
            ("last-reservation", health.reservation, False),
        )
        single = not self.state.settings.multiple_assignments
        runs = (
            ("releases", None),
            ("allocations", health.allocations if single else None),
            ("reservations", health.reservations if single else None),
        )
        return Health(
            lastrun=health.last_run_ms,
            operationsInfo=[self.operation(*kind) for kind in kinds],
            lastRunDetails=[self.run(*run) for run in runs],
        )

    def run(self, name: str, run: Run | None) -> RunDetail:
        if run is None:
            return RunDetail(name, 0, self.resource(self.state.none))
        return RunDetail(name, run.count, self.resource(run.resources))

    def operation(self, name: str, done: Operation | None, named: bool) -> OperationInfo:
        """As in Hadoop, only completions name their container."""
        if done is None:
            return OperationInfo(name)
        container = "N/A"
        if named and done.container is not None:
            container = container_name(self.state.epoch_ms, done.container)
        return OperationInfo(name, self.context.node_address(done.node), container, done.queue)


def _clamped(fraction: float) -> float:
    return min(percent(fraction), 100.0)
