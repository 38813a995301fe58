"""The tree of the Fair Scheduler's queues: how settings become a queue's own (defaults,
inheritance, what a reload rereads), and how queues are created, converted and removed: on demand,
by a reload, and when empty (Hadoop: QueueManager)."""

from typing import TYPE_CHECKING, Final

import msgspec

from fairshare.core.model.events import Event, QueueCreated, QueueDynamicChanged, QueueRemoved
from fairshare.core.model.queues import ROOT, full_name
from fairshare.core.model.resources import UNBOUNDED, Resource, largest
from fairshare.core.placement.rules import BLANKS
from fairshare.core.schedulers.fair import orders
from fairshare.core.schedulers.fair.policies import POLICIES, Policy
from fairshare.core.schedulers.fair.queues import FairQueue
from fairshare.core.schedulers.fair.settings import (
    AllocationSettings,
    Amount,
    FairSettings,
    QueueSettings,
)
from fairshare.core.schedulers.hash_order import in_hash_order, table_size, text_code
from fairshare.core.schedulers.protocol import Refusal, Step

if TYPE_CHECKING:
    from fairshare.core.schedulers.fair.state import FairState


class QueueConversionPending(Event, frozen=True):
    """A queue will become a leaf, or a parent, as soon as the queues in the way are empty.

    `pending` False: it has been converted, or the conversion is no longer configured.
    """

    queue: str
    leaf: bool
    pending: bool


EVENTS: Final = (QueueConversionPending,)


def decode(settings: bytes) -> FairSettings:
    """Decode the settings of an event."""
    return msgspec.json.decode(settings, type=FairSettings)


def reservation_threshold(settings: FairSettings) -> Resource:
    """The smallest size that may reserve a node: increment x multiple, truncated
    (Hadoop: FairScheduler.isAtLeastReservationThreshold)."""
    return tuple(
        int(increment * settings.reservation_threshold_multiple)
        for increment in settings.increment_allocation
    )


def policy_of(allocations: AllocationSettings, name: str) -> Policy:
    """A queue's policy in the file: its own, else the file's default."""
    own = allocations.queues.get(name)
    if own is not None and own.policy is not None:
        return POLICIES[own.policy]
    return POLICIES[allocations.default_policy]


def configure(state: "FairState", queue: FairQueue, *, policy: bool = True) -> None:
    """Apply the configuration to a queue; its policy only if `policy`.

    `limit_by_parent` applies its parent's maxChildResources afterwards.
    """
    allocations = state.settings.allocations
    own = allocations.queues.get(queue.name)
    _take_limits(state, queue, own)
    _take_preemption(queue, own or QueueSettings(queue.name), allocations)
    if policy:
        queue.policy = policy_of(allocations, queue.name)
    orders.follow(queue, state.total, remembers=state.remembers)
    queue.shares_stale = True
    queue.sizes_stale = True
    _bound(state, queue)


def limit_by_parent(state: "FairState", queue: FairQueue) -> None:
    """Apply the parent's maximum for children to a queue that the file does not name."""
    parent = queue.parent
    made_on_demand = queue.name not in state.settings.allocations.queues
    if made_on_demand and parent is not None and parent.max_child_amount is not None:
        queue.max_amount = parent.max_child_amount
    _bound(state, queue)  # also since its ancestors may have new bounds


def _bound(state: "FairState", queue: FairQueue) -> None:
    parent = queue.parent
    unbounded = state.types.unbounded
    queue.resolve_maximum(state.total, unbounded)
    bound = (queue,) if queue.max_share != unbounded else ()
    queue.bounded = bound + (parent.bounded if parent is not None else ())


def _take_limits(state: "FairState", queue: FairQueue, own: QueueSettings | None) -> None:
    allocations = state.settings.allocations
    none = state.none
    settings = own or QueueSettings(queue.name)
    queue.weight = settings.weight
    queue.min_share = largest(settings.min_share or none, none)
    queue.max_child_amount = _in_32_bits(settings.max_child_share)
    queue.max_amount = _in_32_bits(settings.max_share or allocations.queue_max_share_default)
    parent = queue.parent
    queue.max_running = (
        allocations.queue_max_applications_default
        if settings.max_running_applications is None
        else settings.max_running_applications
    )
    queue.max_master_share = (
        allocations.queue_max_master_share_default
        if settings.max_master_share is None
        else settings.max_master_share
    )
    queue.max_container = _vcores_in_32_bits(settings.max_container)
    if queue.max_container is None and parent is not None:
        queue.max_container = parent.max_container


def _in_32_bits(amount: Amount | None) -> Amount | None:
    if amount is None or amount.absolute is None:
        return amount
    return Amount(absolute=_vcores_in_32_bits(amount.absolute))


def _vcores_in_32_bits(resource: Resource | None) -> Resource | None:
    """A maximum in which the file does not name vcores: Hadoop truncates the largest long to 32
    bits, -1.

    So `memory-mb=4096` alone as maxResources forbids all vcores, and with them all containers.
    """
    if resource is None or resource[1] != UNBOUNDED:
        return resource
    return (resource[0], -1, *resource[2:])


def _take_preemption(
    queue: FairQueue, settings: QueueSettings, allocations: AllocationSettings
) -> None:
    parent = queue.parent
    minimum, share, threshold = (
        (parent.min_share_timeout_ms, parent.fair_share_timeout_ms, parent.fair_share_threshold)
        if parent is not None
        else (
            allocations.min_share_timeout_ms,
            allocations.fair_share_timeout_ms,
            allocations.fair_share_threshold,
        )
    )
    timeout_ms = settings.min_share_timeout_ms
    queue.min_share_timeout_ms = minimum if timeout_ms is None else timeout_ms
    timeout_ms = settings.fair_share_timeout_ms
    queue.fair_share_timeout_ms = share if timeout_ms is None else timeout_ms
    own_threshold = settings.fair_share_threshold
    queue.fair_share_threshold = threshold if own_threshold is None else own_threshold
    queue.allow_preemption = settings.preemptable and (parent is None or parent.allow_preemption)


def check_name(name: str) -> None:
    """Raise Refusal if a part of a full name is empty or has blanks around it."""
    offset = 0
    for node in name.split("."):
        if not node or node != node.strip(BLANKS):
            raise Refusal(
                "invalid-queue-name", f"Illegal node name at offset {offset} for queue name {name}"
            )
        offset += len(node) + 1


def get_or_create(state: "FairState", step: Step, name: str, *, leaf: bool) -> FairQueue | None:
    """The queue, created with its missing ancestors; None if a leaf or a policy forbids it.

    As in Hadoop the levels that were created before the walk was stopped are kept
    (Hadoop: QueueManager.createNewQueues).
    """
    name = full_name(name)
    found = state.queues.get(name)
    if found is not None:
        return found if found.leaf == leaf else None
    check_name(name)
    nodes = name.split(".")
    missing = []
    while (above := ".".join(nodes)) not in state.queues:
        missing.append(above)
        nodes.pop()
    parent = state.queues[above]
    if parent.leaf:
        return None
    for new in reversed(missing):
        is_leaf = leaf and new == name
        policy = policy_of(state.settings.allocations, new)
        if not parent.policy.allows_child(policy) or (policy.leaf_only and not is_leaf):
            return None
        step.emit(QueueCreated(new, is_leaf, True))
        parent = state.queues[new]
    return parent


def queue_of_plan(allocations: AllocationSettings, name: str) -> str:
    """The queue in which an application of the queue `name` (in full) runs: itself, or for a queue
    with <reservation/> the child for applications without a reservation
    (Hadoop: FairScheduler.resolveReservationQueueName).

    `root.plan` becomes `root.plan.plan-default`.
    """
    settings = allocations.queues.get(name)
    if settings is None or not settings.reservable:
        return name
    return f"{name}.{name.rpartition('.')[2]}-default"


def tidy(state: "FairState", step: Step) -> None:
    """The periodic check: remove empty dynamic queues, retry pending conversions
    (Hadoop: QueueManager.removeEmptyDynamicQueues)."""
    parents: dict[str, FairQueue] = {}
    for queue in list(state.queues.values()):
        if queue.dynamic and not queue.children and queue.name != ROOT and queue.empty:
            step.emit(QueueRemoved(queue.name))
            if queue.parent is not None and queue.parent.dynamic:
                parents[queue.parent.name] = queue.parent
    for name in list(parents):
        parent = state.queues.get(name)
        while parent is not None and parent.dynamic and parent.name != ROOT and parent.empty:
            above = parent.parent
            remove_with_children(state, step, parent)
            parent = above
    for name, leaf in list(state.conversions.items()):
        if _make_way(state, step, name, leaf=leaf):
            step.emit(QueueConversionPending(name, leaf, False))
            configured = name in state.settings.allocations.queues
            if configured and name not in state.queues:
                get_or_create(state, step, name, leaf=leaf)
            _mark_static(state, step, name)


def remove_with_children(state: "FairState", step: Step, queue: FairQueue) -> None:
    """Remove an empty queue and all (empty) queues below it."""
    for child in list(queue.children.values()):
        remove_with_children(state, step, child)
    step.emit(QueueRemoved(queue.name))


def _make_way(state: "FairState", step: Step, name: str, *, leaf: bool) -> bool:
    """Remove an obstacle to a configured queue; False if the obstacle is not empty
    (Hadoop: QueueManager.removeEmptyIncompatibleQueues)."""
    obstacle = state.queues.get(name)
    if obstacle is None:
        above = name
        while obstacle is None:
            above = above.rpartition(".")[0]
            obstacle = state.queues.get(above)
        if not obstacle.leaf:
            return True
    elif obstacle.leaf == leaf:
        return True
    if not obstacle.empty:
        return False
    remove_with_children(state, step, obstacle)
    return True


def follow_configuration(state: "FairState", step: Step, before: frozenset[str]) -> None:
    """Create the queues that the file names, leaves first; `before` are those that it named before.

    The order among leaves is that of a hash set. It matters where a parent's policy forbids a
    child's: which queues have their new policy by then depends on the order of creation
    (Hadoop: FSQueue.verifyAndSetPolicyFromConf).
    """
    named = state.settings.allocations.queues
    for leaf in (True, False):
        names = [name for name, settings in named.items() if settings.parent != leaf]
        for name in in_hash_order(names, text_code, table_size(len(names), concurrent=False)):
            if name != ROOT and not name.startswith("root.default."):
                if not _make_way(state, step, name, leaf=leaf):
                    step.emit(QueueConversionPending(name, leaf, True))
                    continue
                if name in state.conversions:
                    step.emit(QueueConversionPending(name, leaf, False))
            if name not in state.queues:
                get_or_create(state, step, name, leaf=leaf)
            _mark_static(state, step, name)
    for name in sorted(before - named.keys()):
        queue = state.queues.get(name)
        if queue is not None and not queue.dynamic and name != ROOT:
            step.emit(QueueDynamicChanged(name, True))


def _mark_static(state: "FairState", step: Step, name: str) -> None:
    queue = state.queues.get(name)
    if queue is not None and queue.dynamic and name in state.settings.allocations.queues:
        step.emit(QueueDynamicChanged(name, False))


def policies_to_change(state: "FairState") -> tuple[str, ...]:
    """The queues that may take their new policy; a violation stops the walk
    (Hadoop: FSQueue.verifyAndSetPolicyFromConf)."""
    allocations = state.settings.allocations
    allowed: list[str] = []

    def visit(queue: FairQueue) -> bool:
        policy = policy_of(allocations, queue.name)
        for child in queue.children.values():
            if not policy.allows_child(policy_of(allocations, child.name)) or not visit(child):
                return False
        allowed.append(queue.name)
        return True

    visit(state.root)
    return tuple(allowed)
