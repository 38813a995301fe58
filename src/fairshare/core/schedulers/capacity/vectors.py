"""Owns capacities with a unit of its own for each type: amounts, percentages, weights.

Used without the legacy mode only (Hadoop: CapacitySchedulerQueueCapacityHandler). Types are
computed one after another; within a type first the amounts, then percentages, then weights of the
rest.
"""

import math

from fairshare.core.model.resources import Resource, smallest, subtract
from fairshare.core.schedulers.capacity.cluster import CapacityCluster
from fairshare.core.schedulers.capacity.queues import UNSET_WEIGHT, CapacityQueue
from fairshare.core.schedulers.capacity.settings import (
    Amount,
    Capacity,
    LabelCapacity,
    Percentage,
    Unit,
    Vector,
    Weight,
)


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
    own = queue.settings
    if label:
        part = own.label_capacities.get(label, LabelCapacity())
        return part.capacity, part.maximum_capacity
    return own.capacity, own.maximum_capacity


def divide(state: CapacityCluster, parent: CapacityQueue, label: str) -> None:
    """Compute the effective resources of a queue's children on a partition.

    Example: of 32768 MB `50%` gives 16384, and of the other half weights 1 and 3 give 4096 and
    12288.
    """
    types = len(state.none)
    above = parent.shares[label]
    cluster = state.root.shares[label].effective_minimum
    children = list(parent.children.values())
    minimums: dict[str, list[int]] = {child.name: [0] * types for child in children}
    wanted = {}
    for child in children:
        capacity = _configured(child, label)[0]
        if child.dynamic and capacity is None:
            capacity = Weight(1.0)
        wanted[child.name] = _amounts(capacity, types)
    for kind in range(types):
        parts = {name: amounts[kind] for name, amounts in wanted.items()}
        idle = {name for name, least in minimums.items() if kind and not least[0]}
        shares = _divide_type(parts, idle, above.effective_minimum[kind], cluster[kind])
        for name, amount in shares.items():
            minimums[name][kind] = amount
    left = above.effective_minimum
    weights = sum(max(0.0, _weight(child, label)) for child in children)
    for child in children:
        share = child.shares[label]
        weight = _weight(child, label)
        share.normalized_weight = weight / weights if weight > 0 else 0.0
        maximum = _maximum(_configured(child, label)[1], above.effective_maximum)
        if not child.has_part(label):
            maximum = state.none
        least: Resource = tuple(minimums[child.name])
        if least[0] == 0:
            least = (0,) * types
        least = smallest(smallest(least, maximum), left)
        share.effective_minimum = least
        share.effective_maximum = maximum
        left = subtract(left, least)


def _weight(child: CapacityQueue, label: str) -> float:
    """Its weight among siblings; unset for a vector of weights, which is divided by type."""
    if isinstance(_configured(child, label)[0], Vector):
        return UNSET_WEIGHT
    return child.shares[label].weight


def _divide_type(
    parts: dict[str, Amount], idle: set[str], whole: int, cluster: int
) -> dict[str, int]:
    """Divide one type among siblings: amounts, then percentages, then weights of the rest. An
    `idle` sibling, which has no memory, gets 0, and the others share its part.

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
                scale = min(1.0, whole / summed) if summed else 1.0
                amount = math.floor(value * scale * (base / whole)) if whole else 0
            elif unit == Unit.PERCENTAGE:
                part = whole / cluster * (base / whole) * value / 100 if whole else 0.0
                amount = math.floor(cluster * part)
            else:
                amount = _round(base * (value / summed)) if summed else 0
            shares[name] = 0 if name in idle else amount
            left -= shares[name]
    return shares


def _round(value: float) -> int:
    return math.floor(value + 0.5)


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
