"""What YARN's REST interface and the clients of its RPC see of the Capacity Scheduler beside its
document: node labels, queues, the use of an application by label, and diagnostics of waiting and
refused applications in Hadoop's words.

Scripts parse these texts for names and numbers, so they are written as Hadoop writes them (Hadoop:
AbstractCSQueue.getQueueInfo, CSAMContainerLaunchDiagnosticsConstants).
"""

from collections.abc import Hashable, Mapping
from typing import Final

from msgspec import UNSET, UnsetType

from fairshare.core.model.applications import Application
from fairshare.core.model.events import ApplicationState
from fairshare.core.model.nodes import Node
from fairshare.core.model.queues import ROOT
from fairshare.core.model.resources import NO_LIMIT, Resource, largest, resource_text
from fairshare.core.record import Record
from fairshare.core.schedulers.calculators import single
from fairshare.core.schedulers.capacity import limits
from fairshare.core.schedulers.capacity.attempts import CapacityAttempt, Stage
from fairshare.core.schedulers.capacity.calculators import larger
from fairshare.core.schedulers.capacity.queues import CapacityQueue
from fairshare.core.schedulers.capacity.state import CapacityState
from fairshare.core.schedulers.protocol import State, Steps
from fairshare.errors import InputError
from fairshare.yarn.views.capacity_documents import (
    MASTER_LIMIT_EVENTS,
    capacity_scheduler,
    tested_master_limits,
)
from fairshare.yarn.views.context import MasterLimit, YarnContext
from fairshare.yarn.views.documents import (
    Document,
    ResourceUsages,
    Written,
    partition_usage,
    percent,
)
from fairshare.yarn.views.interface import WAITS, YarnInterface, counts_use, within_largest_node
from fairshare.yarn.views.queues import PartitionReport, QueueReport, QueueReports

_DEFAULT: Final = "<DEFAULT_PARTITION>"
_REFUSALS: Final = {
    "not-a-leaf-queue": "Application {name} submitted by user : {user} to non-leaf queue : {queue}",
    "unknown-queue": "Application {name} submitted by user {user} to unknown queue: {queue}",
    "queue-stopped": (
        "org.apache.hadoop.security.AccessControlException: Queue {queue} is STOPPED. Cannot accept"
        " submission of application: {name}"
    ),
}
"""Hadoop's messages, by the code of the refusal."""


def waiting_key(application: Application) -> Hashable:
    """The values of an application on which `why_waits` depends."""
    attempt = application.attempt
    if not isinstance(attempt, CapacityAttempt):
        return application.user
    return (attempt.leaf.name, attempt.stage, attempt.label, attempt.user, attempt.master_resource)


def why_waits(state: CapacityState, application: Application) -> str:
    """Why an attempt waits for its master's container.

    Hadoop gives no diagnostics for applications that max-parallel-apps holds back.
    """
    attempt = state.attempts.get(application.id)
    if attempt is None:
        return ""
    if attempt.stage == Stage.ACTIVE:
        return _activated(state, attempt)
    if attempt.stage == Stage.WAITING:
        return _not_activated(state, attempt)
    return ""


def _activated(state: CapacityState, attempt: CapacityAttempt) -> str:
    leaf, label = attempt.leaf, attempt.label
    share = leaf.shares[label]

    def text(resource: Resource) -> str:
        return resource_text(resource, state.types)

    return (
        "Application is Activated, waiting for resources to be assigned for AM. "
        f" Details : AM Partition = {label or _DEFAULT} ; Partition Resource ="
        f" {text(state.total_of(label))} ; Queue's Absolute capacity ="
        f" {percent(share.absolute_capacity)} % ; Queue's Absolute used capacity ="
        f" {percent(share.absolute_used)} % ; Queue's Absolute max capacity ="
        f" {percent(share.absolute_maximum)} % ; Queue's capacity (absolute resource) ="
        f" {text(share.effective_minimum)} ; Queue's used capacity (absolute resource) ="
        f" {text(share.used)} ; Queue's max capacity (absolute resource) ="
        f" {text(share.effective_maximum)} ; "
    )


def _not_activated(state: CapacityState, attempt: CapacityAttempt) -> str:
    leaf, label = attempt.leaf, attempt.label

    def text(resource: Resource) -> str:
        return resource_text(resource, state.types)

    queue_limit = limits.master_limit(state, leaf, label)
    user_limit = limits.user_master_limit(state, leaf, label, attempt.user)
    return (
        f"{WAITS} {_exceeded(state, attempt, queue_limit)}  Details : AM Partition ="
        f" {label or _DEFAULT}; AM Resource Request ="
        f" {text(attempt.master_resource)}; Queue Resource Limit for AM ="
        f" {text(queue_limit)}; User AM Resource Limit of the queue ="
        f" {text(largest(user_limit, state.none))}; Queue AM Resource Usage ="
        f" {text(leaf.shares[label].master_used)}; "
    )


def _exceeded(state: CapacityState, attempt: CapacityAttempt, limit: Resource) -> str:
    """The limit for masters that holds an application back; `limit` is the queue's."""
    leaf = attempt.leaf
    if not any(state.total):
        return "Skipping AM assignment as cluster resource is empty."
    used = leaf.shares[attempt.label].master_used
    wanted = tuple(
        amount + more for amount, more in zip(used, attempt.master_resource, strict=True)
    )
    if not state.calculator.fits(wanted, limit):
        return "Queue's AM resource limit exceeded."
    return "User's AM resource limit exceeded."


def refusal(application: Application, name: str, code: str, queue: str) -> str:
    """Why a submission was refused; Hadoop names the application in messages about a queue."""
    if not queue:
        return application.diagnostics
    return _REFUSALS[code].format(name=name, user=application.user, queue=queue)


class CapacityNodeLabels:
    """The partitions of a cluster."""

    def __init__(self, state: CapacityState) -> None:
        self._state = state

    @property
    def nodes_report(self) -> bool:
        """Whether nodes report their labels themselves (`configuration-type` distributed)."""
        return self._state.settings.labels_distributed

    def labels(self) -> Mapping[str, bool]:
        """All labels, sorted: whether each is exclusive."""
        return dict(sorted(self._state.partitions.items()))

    def of_node(self, node: Node) -> str:
        """The label of a registered node."""
        return self._state.label_of(node)

    def assigned(self) -> Mapping[str, str]:
        """The labels that administrators have assigned, by the name of the node."""
        return self._state.assigned_labels

    def total_of(self, label: str) -> Resource:
        """The resources of the nodes with a label."""
        return self._state.total_of(label)


def application_usages(
    state: CapacityState, application: Application, *, reserved: bool
) -> ResourceUsages | UnsetType:
    """The use of an application in its partition; UNSET once it has left its queue."""
    attempt = state.attempts.get(application.id)
    if attempt is None:
        return UNSET
    types, none = state.types, state.none
    usage = partition_usage(
        types,
        attempt.label,
        attempt.used,
        attempt.reserved,
        attempt.asks.pending,
        (attempt.master_resource, none, none),
    )
    usages = [usage]
    if reserved:
        usages.append(partition_usage(types, "*", none, none, none, (none, none, none)))
    return ResourceUsages(usages)


def queue_report(state: CapacityState, queue: CapacityQueue) -> QueueReport:
    """One queue, with its capacities in each partition that it has access to."""
    share = queue.share
    labels = [label for label in queue.shares if not label or label in queue.accessible]
    return QueueReport(
        name=queue.short_name,
        path=queue.name,
        children=tuple(child.name for child in queue.children.values()),
        capacity=share.capacity,
        maximum_capacity=share.maximum_capacity,
        current_capacity=share.used_capacity,
        state=queue.state,
        labels=tuple(sorted(queue.accessible)),
        default_label=queue.default_label or None,
        preemption_disabled=not queue.preemptable,
        intra_queue_preemption_disabled=not queue.intra_preemptable,
        weight=share.weight,
        max_parallel=min(queue.maximum_parallel, NO_LIMIT),
        scheduler_type="CapacityScheduler",
        partitions=tuple(_partition(state, queue, label) for label in labels),
        available=tuple(
            max(0, most - used)
            for most, used in zip(share.effective_minimum, share.used, strict=True)
        ),
    )


def _partition(state: CapacityState, queue: CapacityQueue, label: str) -> PartitionReport:
    share = queue.shares[label]
    return PartitionReport(
        label=label,
        capacity=share.capacity,
        absolute_capacity=share.absolute_capacity,
        maximum_capacity=share.maximum_capacity,
        absolute_maximum=share.absolute_maximum,
        masters=share.master_share,
        effective_minimum=share.effective_minimum,
        effective_maximum=share.effective_maximum,
        configured_minimum=share.configured_minimum or state.none,
        configured_maximum=share.configured_maximum or state.none,
    )


class CapacityYarn(YarnInterface):
    """Hadoop's Capacity Scheduler."""

    title = "Capacity Scheduler"
    class_name = "CapacityScheduler"
    master_limit_events = MASTER_LIMIT_EVENTS
    has_activities = True
    counts_partitions = True
    negotiates_preemption = True

    # The scheduler and its queues.

    def counts_vcores(self, state: State) -> bool:
        """With the DominantResourceCalculator."""
        return _own(state).settings.dominant

    def document_in_steps(self, context: YarnContext, written: Written) -> Steps[Document]:
        """All queues with their capacities in each partition."""
        return capacity_scheduler(context, _own(context.scheduler.state), written)

    def queue_reports(self, context: YarnContext) -> QueueReports:
        """Capacities in each partition."""
        state = _own(context.scheduler.state)

        def report(name: str) -> QueueReport | None:
            queue = state.queues.get(name) or state.queues.get(self.queue_by_last_part(state, name))
            return None if queue is None else queue_report(state, queue)

        return report

    def allocation_limits(self, state: State) -> tuple[Resource, Resource]:
        """As configured, and at most the largest node."""
        settings = _own(state).settings
        return within_largest_node(state, settings.minimum_allocation, settings.maximum_allocation)

    def configured_maximum(self, state: State) -> Resource:
        """`yarn.scheduler.maximum-allocation-*`."""
        return _own(state).settings.maximum_allocation

    def maximum_priority(self, state: State) -> int:
        """`yarn.cluster.max-application-priority`."""
        return _own(state).settings.maximum_application_priority

    def default_partition(self, state: State) -> tuple[Resource, Resource]:
        """The nodes without a label; reservations occupy them too."""
        own = _own(state)
        used = own.queues[ROOT].share.used if ROOT in own.queues else own.none
        return own.total_of(""), used

    def tested_master_limits(
        self, record: Record, state: State
    ) -> Mapping[str, MasterLimit | None]:
        """The Capacity Scheduler tests the limits of a leaf when an application comes, goes or
        moves, and those of all leaves when the cluster changes."""
        return tested_master_limits(record, _own(state))

    # Nodes.

    def node_label(self, state: State, node: Node) -> str:
        """The partition to which a node belongs."""
        assert isinstance(state, CapacityState)
        return state.label_of(node)

    def node_labels(self, state: State) -> CapacityNodeLabels | None:
        """With `yarn.node-labels.enabled`."""
        own = _own(state)
        return CapacityNodeLabels(own) if own.settings.labels_enabled else None

    # Names of queues.

    def queue_by_last_part(self, state: State, name: str) -> str:
        """The last part of a name is enough if no other queue has it."""
        found = [one for one in state.queues if one.rpartition(".")[2] == name]
        return found[0] if len(found) == 1 else ""

    def queue_of_access(self, state: State, name: str) -> str:
        """By its full name or the last part of it."""
        return name if name in state.queues else self.queue_by_last_part(state, name)

    def queue_of_filter(self, state: State, name: str) -> str:
        """By its full name or the last part of it; a name that no queue has is refused."""
        found = self.queue_of_access(state, name)
        if not found:
            raise InputError("unknown-queue", f"Unknown queue: {name}")
        return found

    # Applications.

    def shown_priority(self, application: Application) -> int:
        """Of a refused application the requested priority."""
        if application.state is ApplicationState.REJECTED:
            return application.submission.priority or 0
        return application.priority

    def usage_percentages(self, state: State, application: Application) -> tuple[float, float]:
        """As the configured calculator counts; the queue's part of the cluster is its effective
        minimum."""
        if not counts_use(state, application):
            return 0.0, 0.0
        capacity_state = _own(state)
        used, cluster = application.used, capacity_state.total
        share = capacity_state.queues[application.queue].share
        amounts = used if capacity_state.settings.dominant else used[:1]
        ratio = max(
            (single(amount / most) for amount, most in zip(amounts, cluster, strict=False) if most),
            default=0.0,
        )
        c, minimum = capacity_state.calculator, capacity_state.settings.minimum_allocation
        guarantee = larger(c, cluster, share.effective_minimum, minimum)
        return percent(c.divide(cluster, used, guarantee)), percent(ratio)

    def application_usages(
        self, state: State, application: Application, *, reserved: bool
    ) -> ResourceUsages | UnsetType:
        """Its use in its own partition."""
        return application_usages(_own(state), application, reserved=reserved)

    def why_waits(self, state: State, application: Application) -> str:
        """The limit for masters that holds it back, or the resources of its queue."""
        return why_waits(_own(state), application)

    def waiting_key(self, state: State, application: Application) -> Hashable:
        """Its leaf, stage, label, user and size."""
        return waiting_key(application)

    def refusal(self, application: Application, name: str, code: str, queue: str) -> str:
        """As Hadoop's Capacity Scheduler words it."""
        return refusal(application, name, code, queue)


def _own(state: State) -> CapacityState:
    assert isinstance(state, CapacityState)
    return state
