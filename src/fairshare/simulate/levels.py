"""Owns what is read of leaf queues from time to time: fair share, demand, entitlement, guarantee.

A queue is entitled to the smaller of its demand and its fair share. Demand is what its applications
use and request. The guarantee is a capacity, or a minimum share; without either there is none.
Reads the scheduler between two instants.
"""

from collections.abc import Iterator
from typing import Any, Final

from fairshare.model.resources import Resource, add, smallest
from fairshare.schedulers.protocol import Scheduler

KINDS: Final = ("fair_share", "demand", "entitled", "guaranteed")


def levels(scheduler: Scheduler) -> dict[str, Resource]:
    """By leaf queue, the amounts of all KINDS one after the other, as one vector."""
    state = scheduler.state
    none = state.none
    demands: dict[str, Resource] = {}
    for application in state.applications.values():
        if not application.over:
            wanted = add(application.used, application.attempt.asks.pending)
            before = demands.get(application.queue)
            demands[application.queue] = wanted if before is None else add(before, wanted)
    found = {}
    for name, share in scheduler.leaf_shares().items():
        demand = demands.get(name, none)
        guarantee = _guarantee(state.queues.get(name), none)
        found[name] = (*share, *demand, *smallest(demand, share), *guarantee)
    return found


def _guarantee(queue: Any, none: Resource) -> Resource:
    capacity = getattr(getattr(queue, "share", None), "effective_minimum", None)
    found: Resource = getattr(queue, "min_share", none) if capacity is None else capacity
    return found if len(found) == len(none) else none


def divided(amounts: Resource) -> Iterator[Resource]:
    """The amounts of each of KINDS."""
    size = len(amounts) // len(KINDS)
    return (amounts[begin : begin + size] for begin in range(0, len(amounts), size))
