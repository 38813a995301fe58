"""Owns how settings become a queue's own: defaults, inheritance, and what a reload rereads.

Everything is computed from `state.settings`; decides nothing
(Hadoop: QueueManager.updateAllocationConfiguration).
"""

import msgspec

from fairshare.core.model.resources import UNBOUNDED, Resource, largest
from fairshare.core.schedulers.fair.cluster import FairCluster
from fairshare.core.schedulers.fair.policies import POLICIES, Policy
from fairshare.core.schedulers.fair.queues import FairQueue
from fairshare.core.schedulers.fair.settings import (
    AllocationSettings,
    Amount,
    FairSettings,
    QueueSettings,
)


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


def configure(state: FairCluster, queue: FairQueue, *, policy: bool = True) -> None:
    """Apply the configuration to a queue; its policy only if `policy`.

    `limit_by_parent` applies its parent's maxChildResources afterwards.
    """
    allocations = state.settings.allocations
    own = allocations.queues.get(queue.name)
    _take_limits(state, queue, own)
    _take_preemption(queue, own or QueueSettings(queue.name), allocations)
    if policy:
        queue.policy = policy_of(allocations, queue.name)
    queue.order.follow(queue.policy, state.total)
    queue.shares_stale = True
    queue.sizes_stale = True
    _bound(state, queue)


def limit_by_parent(state: FairCluster, queue: FairQueue) -> None:
    """Apply the parent's maximum for children to a queue that the file does not name."""
    parent = queue.parent
    made_on_demand = queue.name not in state.settings.allocations.queues
    if made_on_demand and parent is not None and parent.max_child_amount is not None:
        queue.max_amount = parent.max_child_amount
    _bound(state, queue)  # also since its ancestors may have new bounds


def _bound(state: FairCluster, queue: FairQueue) -> None:
    parent = queue.parent
    unbounded = state.types.unbounded
    queue.resolve_maximum(state.total, unbounded)
    own_bound = (queue,) if queue.max_share != unbounded else ()
    queue.bounded = own_bound + (parent.bounded if parent is not None else ())


def _take_limits(state: FairCluster, queue: FairQueue, own: QueueSettings | None) -> None:
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
    own = settings.min_share_timeout_ms
    queue.min_share_timeout_ms = minimum if own is None else own
    own = settings.fair_share_timeout_ms
    queue.fair_share_timeout_ms = share if own is None else own
    own_threshold = settings.fair_share_threshold
    queue.fair_share_threshold = threshold if own_threshold is None else own_threshold
    queue.allow_preemption = settings.preemptable and (parent is None or parent.allow_preemption)
