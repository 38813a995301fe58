"""Owns what is read of leaf queues from time to time: fair share, demand, entitlement, guarantee.

A queue is entitled to the smaller of its demand and its fair share. Demand is what its applications
use and request. The guarantee is a capacity, or a minimum share; without either there is none.
Reads the scheduler between two instants.
"""

from collections.abc import Iterator
from typing import Final

from fairshare.model.identifiers import ApplicationId
from fairshare.model.resources import Resource, add, smallest, subtract
from fairshare.schedulers.protocol import Scheduler, State

KINDS: Final = ("fair_share", "demand", "entitled", "guaranteed")


class Demands:
    """The demand of each queue, kept in step with the state: an application is looked at again only
    after an event that may have changed what it uses or requests."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._stale: dict[ApplicationId, None] = {}
        self._known: dict[ApplicationId, tuple[str, Resource]] = {}
        self._of_queue: dict[str, Resource] = {}

    def changed(self, number: ApplicationId) -> None:
        """Look at an application again before the next reading."""
        self._stale[number] = None

    def by_queue(self) -> dict[str, Resource]:
        """The demands of the queues that have applications."""
        found, none = self._of_queue, self._state.none
        for number in self._stale:
            queue, wanted = self._known.pop(number, ("", none))
            if queue:
                found[queue] = subtract(found[queue], wanted)
            application = self._state.applications.get(number)
            if application is None or application.over:
                continue
            queue = application.queue
            wanted = add(application.used, application.attempt.asks.pending)
            self._known[number] = queue, wanted
            found[queue] = add(found.get(queue, none), wanted)
        self._stale.clear()
        return found


def levels(scheduler: Scheduler, demands: dict[str, Resource]) -> dict[str, Resource]:
    """By leaf queue, the amounts of all KINDS one after the other, as one vector."""
    none = scheduler.state.none
    guarantees = scheduler.leaf_guarantees()
    found = {}
    for name, share in scheduler.leaf_shares().items():
        demand = demands.get(name, none)
        guarantee = guarantees.get(name, none)
        found[name] = (*share, *demand, *smallest(demand, share), *guarantee)
    return found


def divided(amounts: Resource) -> Iterator[Resource]:
    """The amounts of each of KINDS."""
    size = len(amounts) // len(KINDS)
    return (amounts[begin : begin + size] for begin in range(0, len(amounts), size))
