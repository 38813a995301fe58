"""What is read of leaf queues from time to time: fair share, demand, entitlement, guarantee.

A queue is entitled to the smaller of its demand and its fair share. Demand is what its applications
use and request. The guarantee is a capacity, or a minimum share; without either there is none.
Reads the scheduler between two instants.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from fairshare.core.model.identifiers import ApplicationId
from fairshare.core.model.resources import Resource, add, smallest, subtract
from fairshare.core.schedulers.protocol import Scheduler, State

KINDS: Final = ("fair_share", "demand", "entitled", "guaranteed")


class Demands:
    """The demand of each queue, kept in step with the state: an application is looked at again only
    after an event that may have changed what it uses or requests. Those are in `stale`, and the
    queues whose demand has changed since it was last emptied in `changed`."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.stale: dict[ApplicationId, None] = {}
        self.changed: dict[str, None] = {}
        self._known: dict[ApplicationId, tuple[str, Resource]] = {}
        self._of_queue: dict[str, Resource] = {}

    def by_queue(self) -> dict[str, Resource]:
        """The demands of the queues that have, or had, applications."""
        levels, none, known = self._of_queue, self._state.none, self._known
        applications = self._state.applications
        for number in self.stale:
            before = known.get(number)
            application = applications.get(number)
            if application is None or application.finished_ms is not None:
                now = None
            else:
                attempt = application.attempt
                now = application.queue, add(attempt.used, attempt.asks.pending)
            if now == before:
                continue
            if before is not None:
                queue, demand = before
                levels[queue] = subtract(levels[queue], demand)
                self.changed[queue] = None
            if now is None:
                del known[number]
                continue
            queue, demand = known[number] = now
            levels[queue] = add(levels.get(queue, none), demand)
            self.changed[queue] = None
        self.stale.clear()
        return levels


class Levels:
    """All levels of the leaf queues of a scheduler, made again only of queues of which something
    has changed."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._none = scheduler.state.none
        self._shares: dict[str, Resource] = {}
        self._guarantees: dict[str, Resource] = {}
        self._levels: dict[str, Resource] = {}
        self.demands = Demands(scheduler.state)

    def read(self) -> dict[str, Resource]:
        """By leaf queue, the amounts of all KINDS one after the other, as one vector. What has not
        changed since the last reading is the same object again; no table is changed later."""
        none = self._none
        demands = self.demands.by_queue()
        shares, guarantees = self._scheduler.leaf_shares(), self._scheduler.leaf_guarantees()
        names: Iterable[str] = self.demands.changed
        if shares != self._shares or guarantees != self._guarantees:
            self._shares, self._guarantees = shares, guarantees
            before = self._levels
            self._levels = {name: before.get(name, ()) for name in shares}
            names = shares
        elif names:
            self._levels = dict(self._levels)
        for name in names:
            if name in shares:
                share, demand = shares[name], demands.get(name, none)
                guarantee = guarantees.get(name, none)
                now = (*share, *demand, *smallest(demand, share), *guarantee)
                if now != self._levels[name]:
                    self._levels[name] = now
        self.demands.changed.clear()
        return self._levels


def divided(amounts: Resource) -> Iterator[Resource]:
    """The amounts of each of KINDS."""
    size = len(amounts) // len(KINDS)
    return (amounts[begin : begin + size] for begin in range(0, len(amounts), size))
