"""Owns the preemption requests of a starved application: so many containers of one size at one
place.

Starvation is an amount; it is distributed over the application's asks until nothing of it is left
(Hadoop: FSAppAttempt.getStarvedResourceRequests). Knows neither victims nor the nodes' free
resources.
"""

from collections.abc import Iterator
from typing import NamedTuple

from fairshare.core.model.asks import Ask, AskKey
from fairshare.core.model.resources import Resource, scale
from fairshare.core.model.work import ANYWHERE
from fairshare.core.schedulers.calculators import take_from
from fairshare.core.schedulers.fair.attempts import FairAttempt
from fairshare.core.schedulers.fair.state import FairState
from fairshare.core.schedulers.hash_order import in_hash_order, request_code, table_size, text_code


class PreemptionRequest(NamedTuple):
    """So many containers of one size at one place."""

    location: str
    resource: Resource
    times: int
    relax: bool


def preemption_requests(state: FairState, attempt: FairAttempt) -> Iterator[PreemptionRequest]:
    """The preemption requests that an application's starvation amounts to; counted by memory alone.

    Example: an application that lacks 5120 MB and has asked for 3 containers of 2048 MB anywhere
    requests 2 of them. The asks are processed in the order of Hadoop's hash maps.
    """
    pending = attempt.starvation
    visited: dict[tuple[int, Resource], Visits] = {}
    for key in _keys(attempt):
        for location, ask in _requests(key):
            if not any(pending):
                return
            visits = visited.setdefault((key.order[0], ask.resource), Visits(state))
            if not visits.visit(location):
                continue
            fitting = pending[0] // ask.resource[0] if ask.resource[0] else 0
            if fitting == 0:
                continue
            times = min(fitting, ask.count)
            pending = take_from(pending, scale(ask.resource, times))
            yield PreemptionRequest(location, ask.resource, times, ask.relax or times < ask.count)


def _keys(attempt: FairAttempt) -> list[AskKey]:
    keys = [key for key in attempt.asks.keys.values() if key.places or key.anywhere]
    size = table_size(len(keys), concurrent=True)
    return in_hash_order(keys, lambda key: request_code(*key.order), size)


def _requests(key: AskKey) -> list[tuple[str, Ask]]:
    requests = list(key.places.items())
    if key.anywhere is not None:
        requests.append((ANYWHERE, key.anywhere))
    size = table_size(len(requests), concurrent=True)
    return in_hash_order(requests, lambda request: text_code(request[0]), size)


class Visits:
    """Counts only one level of locality among the requests of one priority and size.

    A node's counts unless anywhere or its rack was visited, a rack's unless anywhere or a node of
    it was, the one for anywhere unless any node or rack was.
    """

    def __init__(self, state: FairState) -> None:
        self._state = state
        self._anywhere = False
        self._racks: set[str] = set()
        self._racks_of_nodes: set[str] = set()

    def visit(self, location: str) -> bool:
        """Visit a place; returns whether its request counts. A place that does not exist never
        counts."""
        if location == ANYWHERE:
            if not self._racks and not self._racks_of_nodes:
                self._anywhere = True
            return self._anywhere
        node = self._state.nodes.get(location)
        if node is None and location not in self._state.racks:
            return False
        visited, others = self._racks, self._racks_of_nodes
        rack = location
        if node is not None:
            visited, others = others, visited
            rack = node.rack
        if self._anywhere or rack in others:
            return False
        visited.add(rack)
        return True
