"""How settings become a queue's own: defaults, inheritance, templates, and what a reload rereads.

Everything is computed from `state.settings` (Hadoop:
CapacitySchedulerConfiguration, AutoCreatedQueueTemplate).
"""

from typing import Any, TypeVar

import msgspec

from fairshare.core.model.queues import ROOT
from fairshare.core.model.resources import MEMORY, VCORES, Resource, ResourceTypes
from fairshare.core.schedulers.calculators import single
from fairshare.core.schedulers.capacity import management, orders, partitions
from fairshare.core.schedulers.capacity.cluster import CapacityCluster
from fairshare.core.schedulers.capacity.queues import (
    ABSOLUTE,
    PERCENTAGE,
    RUNNING,
    STOPPED,
    UNSET_WEIGHT,
    WEIGHT,
    CapacityQueue,
    Share,
)
from fairshare.core.schedulers.capacity.settings import (
    PARENT_POLICIES,
    UNSET,
    Capacity,
    CapacitySettings,
    LabelCapacity,
    Percentage,
    QueueSettings,
    Template,
    Unit,
    Vector,
    Weight,
    is_unset,
)
from fairshare.core.schedulers.capacity.users import NO_FACTOR
from fairshare.core.schedulers.hash_order import in_hash_order, table_size, text_code

Value = TypeVar("Value")

DYNAMIC_LEAF = QueueSettings(user_limit_factor=NO_FACTOR, maximum_master_share=1.0)
"""The settings of a leaf created on demand, unless a template overrides them
(Hadoop: AutoCreatedQueueTemplate)."""

_MERGED = ("user_weights", "label_capacities")
"""Settings with a property for each user or label."""


def decode(settings: bytes) -> CapacitySettings:
    """Decode the settings of an event."""
    return msgspec.json.decode(settings, type=CapacitySettings)


def overlay(base: QueueSettings, over: QueueSettings) -> QueueSettings:
    """The values of `over`, else those of `base`; user weights and labels are merged."""
    changes: dict[str, Any] = {}
    for name in QueueSettings.__struct_fields__:
        value = getattr(over, name)
        if value is None or value == {}:
            continue
        changes[name] = {**getattr(base, name), **value} if name in _MERGED else value
    if base.unreadable:
        # What cannot be read of `base` matters only where `over` says nothing.
        kept = {
            key: message
            for key, message in base.unreadable.items()
            if getattr(over, key.partition(":")[2], None) in (None, {})
        }
        changes["unreadable"] = kept | over.unreadable
    return msgspec.structs.replace(base, **changes) if changes else base


def templates_for(settings: CapacitySettings, owner: str) -> list[Template]:
    """The templates that apply below a queue, in ascending precedence
    (Hadoop: AutoCreatedQueueTemplate).

    Trailing parts of an owner's name may be `*`; the name with the fewest of them wins.
    """
    templates: list[Template] = []
    parts = owner.split(".")
    for stars in range(len(parts) - 1, -1, -1):
        name = ".".join(parts[: len(parts) - stars] + ["*"] * stars)
        if name in settings.templates:
            templates.append(settings.templates[name])
    return templates


def settings_of(
    settings: CapacitySettings, name: str, *, leaf: bool, dynamic: bool
) -> QueueSettings:
    """A queue's settings in the file; for one created on demand also those of templates."""
    configured = settings.queues.get(name, QueueSettings())
    if not dynamic:
        return configured
    owner = name.rpartition(".")[0]
    older = bool(settings.queues.get(owner, QueueSettings()).legacy_dynamic_leaves)
    result = DYNAMIC_LEAF if leaf and not older else QueueSettings()
    for template in templates_for(settings, owner):
        result = overlay(result, template.common)
        result = overlay(result, template.leaf if leaf else template.parent)
    result = overlay(result, configured)
    if leaf and older:
        # As in Hadoop the older template takes precedence over the file's settings of the leaf
        # itself, which do not affect its capacities at all.
        over = settings.templates.get(owner, Template()).legacy_leaf
        result = msgspec.structs.replace(
            overlay(result, over),
            capacity=over.capacity,
            maximum_capacity=over.maximum_capacity,
            label_capacities=over.label_capacities,
        )
    # As in Hadoop a template's weights of users have no effect (UserWeights.createByConfig).
    return msgspec.structs.replace(result, user_weights=configured.user_weights)


def configure(state: CapacityCluster, queue: CapacityQueue, *, first: bool = False) -> None:
    """Apply the configuration to a queue whose parent is configured already."""
    settings = state.settings
    effective = settings_of(settings, queue.name, leaf=queue.leaf, dynamic=queue.dynamic)
    parent = queue.parent
    for one in queue.path[:2]:
        orders.settle(one)
    if parent is None:
        # Root has 100 % of each partition that any queue names, although the file does not say so.
        whole = LabelCapacity(Percentage(100.0), Percentage(100.0))
        every = dict.fromkeys(partitions.configured(settings), whole)
        effective = (
            overlay(QueueSettings(label_capacities=every), effective) if every else effective
        )
    queue.settings = effective
    if first:
        queue.allow_zero_sum = bool(effective.allow_zero_capacity_sum)
    queue.priority = effective.priority or 0
    queue.maximum_parallel = _or(
        effective.maximum_parallel_applications, settings.maximum_parallel_applications
    )
    queue.maximum_allocation = maximum_allocation(state.types, settings, effective, parent)
    if queue.leaf:
        queue.policy = effective.ordering_policy or "fifo"
    elif effective.ordering_policy in PARENT_POLICIES:
        queue.policy = effective.ordering_policy
    else:
        queue.policy = "utilization" if queue.parent is None else queue.parent.policy
    _take_preemption(settings, queue, effective)
    _take_lifetimes(queue, effective)
    _take_labels(queue, effective)
    _take_state(queue, effective, first=first)
    take_capacities(state, queue)
    queue.dynamic_eligible = bool(effective.dynamic_children) or queue.dynamic
    if not queue.leaf:
        return
    queue.default_priority = effective.default_application_priority or 0
    queue.priority_rules = effective.priority_rules or ()
    queue.user_limit_percent = _or(
        effective.minimum_user_limit_percent, settings.minimum_user_limit_percent
    )
    queue.user_limit_factor = _or(effective.user_limit_factor, settings.user_limit_factor)
    queue.size_based = bool(effective.size_based_weight)
    queue.users.reweigh(user_weights(settings, queue))


def _or(value: Value | None, default: Value) -> Value:
    return default if value is None else value


def user_weights(settings: CapacitySettings, queue: CapacityQueue) -> dict[str, float]:
    """The user weights in force in a queue: from root down, the nearest queue wins
    (Hadoop: UserWeights)."""
    weights: dict[str, float] = {}
    for above in reversed(queue.path):
        weights.update(above.settings.user_weights)
    return weights


def maximum_allocation(
    types: ResourceTypes,
    settings: CapacitySettings,
    own: QueueSettings,
    parent: CapacityQueue | None,
) -> Resource:
    """The largest container of a queue: its own setting, else its parent's, else the cluster's
    (Hadoop: CapacitySchedulerConfiguration.getQueueMaximumAllocation).

    As in Hadoop a `maximum-allocation` sets the types that it does not name to 0, while
    `maximum-allocation-mb` and `-vcores` inherit the others.
    """
    if own.maximum_allocation is not None:
        return types.vector({**dict.fromkeys(types.names, 0), **own.maximum_allocation})
    inherited = settings.maximum_allocation if parent is None else parent.maximum_allocation
    named = types.mapping(inherited)
    if own.maximum_allocation_mb not in (None, UNSET):
        named[MEMORY] = own.maximum_allocation_mb
    if own.maximum_allocation_vcores not in (None, UNSET):
        named[VCORES] = own.maximum_allocation_vcores
    return types.vector(named)


def _take_preemption(settings: CapacitySettings, queue: CapacityQueue, own: QueueSettings) -> None:
    parent = queue.parent
    monitor = settings.monitor
    disabled = own.preemption_disabled
    if disabled is None:
        disabled = False if parent is None else not parent.preemptable
    queue.preemptable = monitor.monitor_on and not disabled
    disabled = own.intra_queue_preemption_disabled
    if disabled is None:
        disabled = False if parent is None else not parent.intra_preemptable
    queue.intra_preemptable = monitor.monitor_on and monitor.intra_queue.enabled and not disabled


def _take_lifetimes(queue: CapacityQueue, own: QueueSettings) -> None:
    parent = queue.parent
    above = -1 if parent is None else parent.maximum_lifetime_s
    configured = -1 if own.maximum_lifetime_s is None else own.maximum_lifetime_s
    queue.maximum_lifetime_s = configured if configured >= 0 else above
    default = -1 if own.default_lifetime_s is None else own.default_lifetime_s
    if default < 0:
        inherited = _configured_default(queue.parent)
        default = queue.maximum_lifetime_s
        if inherited is not None:
            default = inherited
            if queue.maximum_lifetime_s > 0:
                default = min(inherited, queue.maximum_lifetime_s)
    queue.default_lifetime_s = default if default > 0 else queue.maximum_lifetime_s


def _configured_default(queue: CapacityQueue | None) -> int | None:
    """The default lifetime set by the nearest queue above, capped at that queue's own maximum."""
    while queue is not None:
        own = queue.settings.default_lifetime_s
        if own is not None and own >= 0:
            return queue.default_lifetime_s
        queue = queue.parent
    return None


def _take_labels(queue: CapacityQueue, own: QueueSettings) -> None:
    parent = queue.parent
    if queue.name == ROOT or parent is None:
        queue.accessible = frozenset(("*",))
    elif own.accessible_labels is not None:
        queue.accessible = frozenset(own.accessible_labels)
    else:
        queue.accessible = parent.accessible
    if own.default_label_expression is not None:
        queue.default_label = own.default_label_expression
    elif parent is not None and queue.accessible >= parent.accessible:
        queue.default_label = parent.default_label
    else:
        queue.default_label = ""


def _take_state(queue: CapacityQueue, own: QueueSettings, *, first: bool) -> None:
    """Initially its own state, else its parent's; at a reload an unset state changes nothing
    (Hadoop: QueueStateHelper.setQueueState)."""
    parent = queue.parent
    configured = own.state
    if first:
        above = RUNNING if parent is None or parent.state == RUNNING else STOPPED
        queue.state = configured or above
        return
    if configured == STOPPED and queue.state == RUNNING:
        queue.stop()
    elif configured == RUNNING and queue.state != RUNNING:
        queue.state = RUNNING


def take_capacities(state: CapacityCluster, queue: CapacityQueue) -> None:
    """Apply a queue's capacities on all partitions: 0 where it has none of its own.

    As in Hadoop root has 100 % of a partition if any queue has a capacity there.
    """
    settings = queue.settings
    master = _or(settings.maximum_master_share, state.settings.maximum_master_share)
    for label in state.labels:
        share = queue.shares.get(label)
        if share is None:
            share = queue.shares[label] = Share(state.none)
        part = settings.label_capacities.get(label, LabelCapacity()) if label else None
        capacity = settings.capacity if part is None else part.capacity
        maximum = settings.maximum_capacity if part is None else part.maximum_capacity
        share.master_share = master
        if part is not None and part.maximum_master_share is not None:
            share.master_share = part.maximum_master_share
        if not queue.has_part(label):
            capacity = maximum = Percentage(0.0)
        elif management.is_made(queue) and not management.has_capacity(state, queue, label):
            capacity = Percentage(0.0)
        elif queue.name == ROOT:
            capacity, maximum = Percentage(100.0), Percentage(100.0)
        _take_share(queue, share, capacity, maximum)
        unset = is_unset(capacity) or (
            capacity == Percentage(0.0) and state.settings.legacy_queue_mode
        )
        if unset and queue.dynamic and not management.is_made(queue):
            share.weight = 1.0
    queue.mode = mode_of(settings.capacity if queue.name != ROOT else Percentage(100.0))
    if queue.dynamic and state.settings.legacy_queue_mode and isinstance(settings.capacity, Vector):
        # As in Hadoop a vector without memory in a template leaves the queue nothing, and yet its
        # weight of 1 reduces the shares of its siblings.
        queue.mode = ABSOLUTE
    for one in (queue, *queue.children.values()):  # a parent's policy affects its children
        one.reconsider()


def mode_of(capacity: Capacity | None) -> str:
    """The form of a capacity: percentage, weight or absolute."""
    if isinstance(capacity, Weight) and capacity.weight >= 0:
        return WEIGHT
    if isinstance(capacity, Vector) and absolute_amount(capacity) is not None:
        return ABSOLUTE
    return PERCENTAGE


def absolute_amount(capacity: Capacity | None) -> Resource | None:
    """An absolute vector's amounts; a vector without memory counts as not configured
    (Hadoop: CapacitySchedulerConfiguration.getMinimumResourceRequirement)."""
    if not isinstance(capacity, Vector):
        return None
    amounts = capacity.absolute
    return amounts if amounts is not None and amounts[0] > 0 else None


def _take_share(
    queue: CapacityQueue, share: Share, capacity: Capacity | None, maximum: Capacity | None
) -> None:
    share.capacity = share.absolute_capacity = share.absolute_maximum = 0.0
    share.normalized_weight = 0.0
    share.weight = UNSET_WEIGHT
    share.configured_minimum = absolute_amount(capacity)
    share.configured_maximum = absolute_amount(maximum)
    match capacity:
        case Percentage(percent):
            share.capacity = single(percent / 100)
        case Weight(weight):
            share.weight = weight
        case Vector(amounts) if not is_unset(capacity):
            if {amount.unit for amount in amounts} == {Unit.WEIGHT}:
                weights = {amount.value for amount in amounts}
                share.weight = weights.pop() if len(weights) == 1 else UNSET_WEIGHT
        case _:
            pass
    share.maximum_capacity = 1.0
    if isinstance(maximum, Percentage) and maximum.percent != -1:
        share.maximum_capacity = single(maximum.percent / 100)


def order_children(queue: CapacityQueue) -> None:
    """Order the children as in the file, then those that it does not name.

    As in Hadoop a reload uses the order of a hash map instead, which decides between children
    with the same used capacity. Leaves of the older auto-creation keep the order of their
    creation: their parent does not reread its children.
    """
    if queue.ranked and management.makes_leaves(queue):
        return
    if queue.ranked:
        size = table_size(len(queue.children), concurrent=False)
        names = in_hash_order(queue.children, text_code, size)
        queue.children = {name: queue.children[name] for name in names}
        return
    names = [f"{queue.name}.{short}" for short in queue.settings.children or ()]
    named = {name: queue.children[name] for name in names if name in queue.children}
    queue.children = named | queue.children
