"""Owns the text of a queue's configured capacity, type by type: `[memory-mb=30.0%,...]`."""

from msgspec import UNSET

from fairshare.families.capacity.yarn_queue_documents import CapacityVector, VectorEntry
from fairshare.families.yarn.resources import shortest
from fairshare.schedulers.capacity.queues import CapacityQueue
from fairshare.schedulers.capacity.settings import (
    Amount,
    Capacity,
    LabelCapacity,
    Percentage,
    Unit,
    Vector,
    Weight,
)
from fairshare.schedulers.capacity.state import CapacityState
from fairshare.schedulers.hash_order import in_hash_order, text_code
from fairshare.schedulers.rounding import single


def capacity_vector(state: CapacityState, queue: CapacityQueue, label: str) -> CapacityVector:
    """The configured capacity of a queue in a partition; the types in the order of Java's map."""
    names = state.types.names
    amounts = dict(zip(names, _amounts(_capacity(queue, label), len(names)), strict=False))
    texts = {
        name: _amount_text(amounts[name])
        for name in in_hash_order(names, text_code)
        if name in amounts
    }
    listed = ",".join(f"{name}={text}" for name, text in texts.items())
    found = [VectorEntry(name, text) for name, text in texts.items()]
    return CapacityVector(f"[{listed}]", found or UNSET)


def _capacity(queue: CapacityQueue, label: str) -> Capacity | None:
    if queue.name == "root" and not label:
        return Percentage(100.0)
    if label:
        return queue.settings.label_capacities.get(label, LabelCapacity()).capacity
    if queue.settings.capacity is None and queue.dynamic:
        return Weight(queue.share.weight)
    return queue.settings.capacity


def _amounts(capacity: Capacity | None, types: int) -> tuple[Amount, ...]:
    match capacity:
        case Percentage(percent=part):
            return (Amount(part, Unit.PERCENTAGE),) * types
        case Weight(weight=weight):
            return (Amount(weight, Unit.WEIGHT),) * types
        case Vector(amounts=amounts):
            return amounts
        case _:
            return ()


def _amount_text(amount: Amount) -> str:
    """`30.0%`, `2.0w`, `4096.0`."""
    suffix = {Unit.PERCENTAGE: "%", Unit.WEIGHT: "w", Unit.ABSOLUTE: ""}[amount.unit]
    return f"{shortest(single(float(amount.value)))}{suffix}"
