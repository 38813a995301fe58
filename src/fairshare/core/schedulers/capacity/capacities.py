"""The computation of queues' capacities: fractions of the cluster, effective resources. Computed
for the whole tree whenever nodes, queues or settings change (Hadoop:
ParentQueue.updateClusterResource).

Without the legacy mode capacities have a unit of their own for each type: amounts, percentages,
weights. Types are computed one after another; within a type first the amounts, then percentages,
then weights of the rest (Hadoop: CapacitySchedulerQueueCapacityHandler).
"""

import math

from fairshare.core.model.resources import Resource, add, subtract, total
from fairshare.core.schedulers.calculators import single
from fairshare.core.schedulers.capacity import management, orders
from fairshare.core.schedulers.capacity.calculators import ResourceCalculator, smaller, truncate
from fairshare.core.schedulers.capacity.cluster import CapacityCluster
from fairshare.core.schedulers.capacity.queues import ABSOLUTE, UNSET_WEIGHT, CapacityQueue, Share
from fairshare.core.schedulers.capacity.settings import (
    UNSET,
    Amount,
    Capacity,
    LabelCapacity,
    Percentage,
    Unit,
    Vector,
    Weight,
    is_unset,
)
from fairshare.core.schedulers.capacity.users import NO_FACTOR


def _amounts(capacity: Capacity | None, types: int) -> tuple[Amount, ...]:
    match capacity:
        case Percentage(percent):
            return (Amount(percent, Unit.PERCENTAGE),) * types
        case Weight(weight):
            return (Amount(weight, Unit.WEIGHT),) * types
        case Vector(amounts) if amounts[0].value:
            return amounts
        case _:
            return (Amount(0, Unit.ABSOLUTE),) * types


def _configured(queue: CapacityQueue, label: str) -> tuple[Capacity | None, Capacity | None]:
    """Its capacity and its maximum on a partition. As in Hadoop a template without a capacity gives
    its queues a weight, and then its maximum has no effect; that of the older auto-creation gives
    its leaves nothing."""
    settings = queue.settings
    part = settings.label_capacities.get(label, LabelCapacity()) if label else settings
    if queue.dynamic and is_unset(part.capacity):
        if management.makes_leaves(queue.parent):
            return Percentage(0.0), part.maximum_capacity
        return Weight(1.0), None
    return part.capacity, part.maximum_capacity


def divide(state: CapacityCluster, parent: CapacityQueue, label: str) -> None:
    """Compute the effective resources of a queue's children on a partition.

    Example: of 32768 MB `50%` gives 16384, and of the other half weights 1 and 3 give 4096 and
    12288.
    """
    types = len(state.none)
    above = parent.shares[label]
    cluster = state.root.shares[label].effective_minimum
    # As in Hadoop a queue of the file without a capacity gets nothing at all, and keeps what it had
    # if a reload takes its capacity away.
    children = [one for one in parent.children.values() if not is_unset(_configured(one, label)[0])]
    weights = sum(max(0.0, _weight(child, label)) for child in children)
    demanded = {}
    for child in children:
        capacity, maximum = _configured(child, label)
        demanded[child.name] = _amounts(capacity, types)
        share = child.shares[label]
        weight = _weight(child, label)
        share.normalized_weight = weight / weights if weight > 0 else 0.0
        share.effective_maximum = (
            _maximum(maximum, above.effective_maximum) if child.has_part(label) else state.none
        )
    minimums: dict[str, list[int]] = {child.name: [0] * types for child in children}
    for kind in range(types):
        parts = {name: amounts[kind] for name, amounts in demanded.items()}
        most = {
            child.name: child.shares[label].effective_maximum[kind]
            if not kind or minimums[child.name][0]
            else 0  # a queue without memory gets nothing, and the others share its part
            for child in children
        }
        shares = _divide_type(parts, most, above.effective_minimum[kind], cluster[kind])
        for name, amount in shares.items():
            minimums[name][kind] = amount
    for child in children:
        child.shares[label].effective_minimum = tuple(minimums[child.name])


def _weight(child: CapacityQueue, label: str) -> float:
    """Its weight among siblings; unset for a vector of weights, which is divided by type."""
    if isinstance(_configured(child, label)[0], Vector):
        return UNSET_WEIGHT
    return child.shares[label].weight


def _divide_type(
    parts: dict[str, Amount], most: dict[str, int], whole: int, cluster: int
) -> dict[str, int]:
    """Divide one type among siblings, each of which gets at most `most`: amounts, then percentages,
    then weights of the rest.

    Percentages apply to the part of the cluster that the parent's remaining part represents,
    computed as in Hadoop: 50 % of the 12 vcores that are left of 18 are 5, since two thirds of one
    half of 18 are slightly less than 6 in floating point.
    """
    shares: dict[str, int] = {}
    left = whole
    for unit in (Unit.ABSOLUTE, Unit.PERCENTAGE, Unit.WEIGHT):
        group = {name: part.value for name, part in parts.items() if part.unit == unit}
        summed = sum(group.values())
        base = left
        for name, value in group.items():
            if unit == Unit.ABSOLUTE:
                scale = single(min(1.0, whole / summed)) if summed else 1.0
                amount = math.floor(value * scale * (base / whole)) if whole else 0
            elif unit == Unit.PERCENTAGE:
                part = whole / cluster * (base / whole) * value / 100 if whole else 0.0
                amount = math.floor(cluster * part)
            else:
                amount = math.floor((base * (value / summed)) + 0.5) if summed else 0
            shares[name] = min(amount, most[name], left)
            left -= shares[name]
    return shares


def _maximum(capacity: Capacity | None, above: Resource) -> Resource:
    """A maximum as an amount, or as a part of the parent's; unset or larger values give the
    parent's (Hadoop: CapacitySchedulerQueueCapacityHandler)."""
    amounts = _amounts(Percentage(100.0) if capacity is None else capacity, len(above))
    result = []
    for amount, most in zip(amounts, above, strict=True):
        if amount.unit == Unit.PERCENTAGE:
            value = math.floor(most * amount.value / 100)
        else:
            value = int(amount.value)
        result.append(min(value, most) if value > 0 else most)
    return tuple(result)


def recompute(state: CapacityCluster, top: CapacityQueue) -> None:
    """Recompute all that follows from the cluster's size and the settings, for a queue and
    below."""
    for label in state.labels:
        whole = state.total_of(label)
        if top.parent is None:
            _root(top, label, whole)
        _below(state, top, label, whole)
    queues = below(top)
    for queue in queues:
        for label in state.labels:
            whole = state.total_of(label)
            orders.refresh_use(
                queue, label, state.calculator, whole, state.settings.minimum_allocation
            )
            if queue.leaf:
                queue.users.recount(label, state.calculator, whole)
        if queue.leaf:
            limit_applications(state, queue)
            queue.users.changed()
    for queue in queues:
        orders.renumber(queue)
    _limit_leaves(state, top, state.total_of(""))


def below(top: CapacityQueue) -> list[CapacityQueue]:
    """A queue and all queues below it, parents before children."""
    found = [top]
    _add_below(top, found)
    return found


def _add_below(queue: CapacityQueue, queues: list[CapacityQueue]) -> None:
    for child in queue.children.values():
        queues.append(child)
        if child.children:
            _add_below(child, queues)


def _root(root: CapacityQueue, label: str, whole: Resource) -> None:
    """Root has a whole partition, or nothing of a partition that no queue of the file names. As in
    Hadoop a percentage as its maximum holds for all queues below it, on nodes without a label."""
    share = root.shares[label]
    part = most = 1.0 if root.has_part(label) else 0.0
    written = root.settings.maximum_capacity
    if not label and isinstance(written, Percentage) and written.percent != UNSET:
        most = single(written.percent / 100)
    share.capacity = share.absolute_capacity = part
    share.maximum_capacity, share.absolute_maximum = most, max(0.0, most)
    share.effective_minimum = share.effective_maximum = truncate(whole, part)


def _below(state: CapacityCluster, parent: CapacityQueue, label: str, whole: Resource) -> None:
    children = list(parent.children.values())
    if not children:
        return
    if not state.settings.legacy_queue_mode:
        divide(state, parent, label)
        for child in children:
            _derive(state.calculator, child, label, whole)
            _below(state, child, label, whole)
        return
    weights = 0.0
    for child in children:
        if child.shares[label].weight > 0:
            weights = single(weights + child.shares[label].weight)
    ratios = _minimum_ratios(state, parent, label, whole)
    for child in children:
        share = child.shares[label]
        above = parent.shares[label]
        if weights > 0 and share.weight >= 0:
            share.normalized_weight = single(share.weight / weights)
        fraction = max(share.capacity, share.normalized_weight)
        share.absolute_capacity = single(fraction * above.absolute_capacity)
        share.absolute_maximum = max(0.0, single(share.maximum_capacity * above.absolute_maximum))
        if child.mode == ABSOLUTE and child.has_part(label):
            _absolute(state, child, label, ratios, whole)
            _derive(state.calculator, child, label, state.total)
        else:
            share.effective_minimum = truncate(whole, share.absolute_capacity)
            if label and child.dynamic and label not in child.settings.label_capacities:
                _nothing(state, child, label)
            share.effective_maximum = truncate(whole, share.absolute_maximum)
        _below(state, child, label, whole)


def _nothing(state: CapacityCluster, child: CapacityQueue, label: str) -> None:
    """As in Hadoop a queue created on demand has a weight on each partition of its parent, which
    reduces its siblings' shares, but has no capacity there unless its template names the
    partition."""
    if not management.makes_leaves(child.parent):
        share = child.shares[label]
        share.absolute_maximum = 0.0
        share.effective_minimum = state.none


def _minimum_ratios(
    state: CapacityCluster, parent: CapacityQueue, label: str, whole: Resource
) -> list[float | None]:
    """The factors by which absolute children are scaled down, by type; None: not scaled
    (Hadoop: ParentQueue.calculateEffectiveResourcesAndCapacity)."""
    configured = total(
        (
            child.shares[label].configured_minimum or state.none
            for child in parent.children.values()
        ),
        len(state.none),
    )
    c = state.calculator
    available: Resource | None = None
    if parent.parent is None:
        if any(whole) and c.compare(state.total, whole, configured) < 0:
            available = whole
    elif c.compare(state.total, parent.shares[label].effective_minimum, configured) < 0:
        available = parent.shares[label].effective_minimum
    if available is None:
        return [None] * len(configured)
    return [single(a / w) if w else None for a, w in zip(available, configured, strict=True)]


def _absolute(
    state: CapacityCluster,
    child: CapacityQueue,
    label: str,
    ratios: list[float | None],
    whole: Resource,
) -> None:
    share = child.shares[label]
    parent = child.path[1]
    share.effective_minimum = tuple(
        amount if ratio is None else int(single(amount * ratio))
        for amount, ratio in zip(share.configured_minimum or state.none, ratios, strict=True)
    )
    above = parent.shares[label]
    base = above.configured_maximum or above.effective_maximum
    own = share.configured_maximum
    share.effective_maximum = base if own is None else smaller(state.calculator, whole, own, base)


def _derive(c: ResourceCalculator, child: CapacityQueue, label: str, whole: Resource) -> None:
    """Compute the fractions of a queue whose resources are known
    (Hadoop: AbstractCSQueue.deriveCapacityFromAbsoluteConfigurations).

    `whole` determines the dominant type: the partition's resources, or in legacy mode the
    cluster's.
    """
    share = child.shares[label]
    parent = child.path[1]
    above = parent.shares[label]
    share.capacity = _finite(c.divide(whole, share.effective_minimum, above.effective_minimum))
    share.maximum_capacity = _finite(
        c.divide(whole, share.effective_maximum, above.effective_maximum)
    )
    share.absolute_capacity = single(share.capacity * above.absolute_capacity)
    share.absolute_maximum = single(share.maximum_capacity * above.absolute_maximum)


def _finite(quotient: float) -> float:
    return quotient if math.isfinite(quotient) else 0.0


def limit_applications(state: CapacityCluster, leaf: CapacityQueue) -> None:
    """Compute how many applications a leaf, and one user in it, may have
    (Hadoop: LeafQueue.getMaxApplications and getMaxApplicationsPerUser).

    Its own maximum, else the one for all queues, else its part of the system's: 10 % of 10000 is
    1000.
    """
    settings = state.settings
    every = settings.queue_maximum_applications
    base = settings.maximum_applications
    if every > 0:
        base = min(every, base)
    own = leaf.settings.maximum_applications
    most = -1 if own is None else own
    if most < 0:
        if every > 0 and leaf.mode != ABSOLUTE:
            most = base
        else:
            for label in state.labels:
                part = leaf.shares[label].absolute_capacity
                most = max(most, int(single(base * part)))
    leaf.maximum_applications = most
    leaf.maximum_per_user = most
    if leaf.user_limit_factor != NO_FACTOR:
        part = single(most * single(leaf.user_limit_percent / 100))
        leaf.maximum_per_user = min(most, int(single(part * leaf.user_limit_factor)))


def child_limit(
    c: ResourceCalculator,
    limit: Resource,
    blocked: Resource,
    parent: Share,
    child: Share,
    minimum: Resource,
) -> Resource:
    """The limit of a child: what its parent has left, plus what the child uses
    (Hadoop: ParentQueue.getResourceLimitsOfChild)."""
    room = subtract(subtract(limit, blocked), subtract(parent.used, parent.killable))
    return c.round_down(add(room, child.used), minimum)


def leaf_limit(state: CapacityCluster, leaf: CapacityQueue, limit: Resource) -> Resource:
    """What a leaf can reach, for its masters' limit and its headroom
    (Hadoop: LeafQueue.updateCurrentResourceLimits)."""
    c = state.calculator
    most = c.round_down(leaf.share.effective_maximum, state.settings.minimum_allocation)
    return smaller(c, state.total, most, limit)


def _limit_leaves(state: CapacityCluster, queue: CapacityQueue, limit: Resource) -> None:
    """Set the limits that hold until a heartbeat computes others
    (Hadoop: LeafQueue.updateClusterResource)."""
    if queue.leaf:
        queue.limit = leaf_limit(state, queue, limit)
        return
    c = state.calculator
    share = queue.share
    limit = smaller(c, state.total, limit, share.effective_maximum)
    for child in queue.children.values():
        below = child_limit(
            c, limit, state.none, share, child.share, state.settings.minimum_allocation
        )
        _limit_leaves(state, child, below)
