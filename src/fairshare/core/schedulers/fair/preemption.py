"""Preemption: what a starved application asks for, the choice of victims, and when they are killed.

Starvation is an amount; it is distributed over the application's asks until nothing of it is left
(Hadoop: FSAppAttempt.getStarvedResourceRequests). The application gets containers of applications
above their fair share: they are first marked (their masters are notified), then, after a wait,
killed (Hadoop: FSPreemptionThread).
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from fairshare.core.model.asks import Ask, AskKey
from fairshare.core.model.events import (
    ContainerAllocated,
    ContainerCompleted,
    ContainerMarked,
    ExitCode,
    PreemptedRoomChanged,
    StarvationServed,
)
from fairshare.core.model.identifiers import ApplicationId
from fairshare.core.model.nodes import Node
from fairshare.core.model.resources import Resource, add, fits, scale, subtract
from fairshare.core.model.work import ANYWHERE
from fairshare.core.schedulers.bookings import protects
from fairshare.core.schedulers.calculators import take_from
from fairshare.core.schedulers.entitlement import PREEMPTED
from fairshare.core.schedulers.fair.attempts import FairAttempt
from fairshare.core.schedulers.fair.containers import containers_of_node, nodes_in_order
from fairshare.core.schedulers.fair.state import FairState
from fairshare.core.schedulers.hash_order import (
    application_code,
    in_hash_order,
    request_code,
    table_size,
    text_code,
)

if TYPE_CHECKING:
    from fairshare.core.schedulers.protocol import Step


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
    keys = [key for key in attempt.asks.keys.values() if key.places or key.anywhere]
    size = table_size(len(keys), concurrent=True)
    for key in in_hash_order(keys, lambda key: request_code(*key.order), size):
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


class Answer(NamedTuple):
    """The containers that one node could give up for one container; `masters` of them run a
    master."""

    node: Node
    containers: tuple[ContainerAllocated, ...]
    masters: int


def serve_starved(state: FairState, step: "Step") -> None:
    """Select victims for all starved applications, one after another."""
    for number in tuple(state.starved):
        attempt = state.attempts.get(number)
        if attempt is not None:
            _serve(state, step, attempt)


ENDED_ATTEMPTS: ApplicationId = 0
"""The key of the room that a node keeps for attempts that have ended, until its next heartbeat. No
application has this number."""


def forget_room_made_before(state: FairState, step: "Step", application: ApplicationId) -> None:
    """At a new attempt, take the room promised to the previous one from the application.

    Example: node n1 reserves 1024 MB for an application whose master is then lost. Its next attempt
    competes for that room like any other, but until the next heartbeat of n1 the room does not
    count as free where victims are chosen, as in Hadoop, which keeps it for the ended attempt
    (FSSchedulerNode.cleanupPreemptionList).
    """
    for node in state.nodes.values():
        room = node.promised.get(application)
        if room is not None:
            kept = add(node.promised.get(ENDED_ATTEMPTS, state.none), room)
            step.emit(PreemptedRoomChanged(node.name, application, state.none))
            step.emit(PreemptedRoomChanged(node.name, ENDED_ATTEMPTS, kept))


def kill_due(state: FairState, step: "Step") -> None:
    """Kill the marked containers that are due, without further checks
    (Hadoop: FSPreemptionThread.PreemptContainersTask)."""
    due = [container for container, at_ms in state.kills.items() if at_ms <= step.now_ms]
    for container in due:
        step.emit(ContainerCompleted(container, ExitCode.PREEMPTED, PREEMPTED))


def _serve(state: FairState, step: "Step", attempt: FairAttempt) -> None:
    settings = state.settings
    kill_at_ms = step.now_ms + settings.wait_before_kill_ms
    for request in preemption_requests(state, attempt):
        for _ in range(request.times):
            answer = _best_answer(state, request)
            if answer is None or not answer.containers:
                continue
            room = answer.node.promised.get(attempt.id, state.none)
            # Hadoop groups the containers of an answer by application in a hash map.
            for record in in_hash_order(
                answer.containers,
                lambda record: application_code(state.epoch_ms, record.application),
            ):
                step.emit(ContainerMarked(record.container, attempt.id, kill_at_ms))
                room = add(room, record.resource)
            step.emit(PreemptedRoomChanged(answer.node.name, attempt.id, room))
    wait_ms = settings.wait_before_kill_ms + settings.wait_before_next_starvation_check_ms
    step.emit(StarvationServed(attempt.id, step.now_ms + wait_ms))


def _best_answer(state: FairState, request: PreemptionRequest) -> Answer | None:
    """The node that gives up the fewest masters; the first one with none
    (Hadoop: FSPreemptionThread.identifyContainersToPreemptOnNode)."""
    if request.location == ANYWHERE:
        return _best_of(state, nodes_in_order(state), request.resource, None)
    node = state.nodes.get(request.location)
    near = [node] if node is not None else list(state.racks[request.location].values())
    best = _best_of(state, near, request.resource, None)
    if best is not None and best.masters and request.relax:
        names = {one.name for one in near}
        others = [one for one in nodes_in_order(state) if one.name not in names]
        return _best_of(state, others, request.resource, best.masters) or best
    return best


def _best_of(
    state: FairState, nodes: list[Node], wanted: Resource, masters: int | None
) -> Answer | None:
    best: Answer | None = None
    for node in nodes:
        if node.name in state.drains:  # it grants nothing, even if room is made there
            continue
        answer = _answer_of(state, node, wanted, masters)
        if answer is not None:
            best = answer
            masters = answer.masters
            if masters == 0:
                break
    return best


def _answer_of(
    state: FairState, node: Node, wanted: Resource, most_masters: int | None
) -> Answer | None:
    """Containers of a node that make room for one of the wanted size; None: there are too few.

    Masters come last. Free room counts, but only after a first container was considered.
    """
    kept_free = state.none if node.reservation is None else node.reservation.keeps
    for promised in node.promised.values():
        kept_free = add(kept_free, promised)
    room = take_from(node.available, kept_free)
    chosen: list[ContainerAllocated] = []
    by_application: dict[int, Resource] = {}
    masters = 0
    for record in _candidates(state, node):
        number = record.application
        picked = by_application.get(number, state.none)
        if _takeable(state, record, picked):
            if _is_master(state, record):
                masters += 1
                if most_masters is not None and masters >= most_masters:
                    return None
            chosen.append(record)
            by_application[number] = add(picked, record.resource)
            room = add(room, record.resource)
        if fits(wanted, room):
            return Answer(node, tuple(chosen), masters)
    return None


def _candidates(state: FairState, node: Node) -> list[ContainerAllocated]:
    """The unmarked containers: those of the hash map in reverse order, masters last."""
    order = containers_of_node(state, node)
    records = [node.containers[container] for container in order if container not in node.marked]
    masters = [record for record in records if _is_master(state, record)]
    others = [record for record in reversed(records) if not _is_master(state, record)]
    return others + masters


def _is_master(state: FairState, record: ContainerAllocated) -> bool:
    return state.attempts[record.application].master == record.container


def _takeable(state: FairState, record: ContainerAllocated, picked: Resource) -> bool:
    """Whether a container may be preempted: its application must keep its fair share
    (Hadoop: FSAppAttempt.canContainerBePreempted)."""
    victim = state.attempts[record.application]
    leaf = victim.leaf
    if not leaf.allow_preemption:
        return False
    if state.kept and protects(state, victim, record.resource):
        return False
    if _is_master(state, record):
        settings = state.settings
        if not settings.master_preemption_queues.get(leaf.name, settings.master_preemption):
            return False
    left = subtract(subtract(victim.used, record.resource), picked)
    for container in victim.to_preempt:
        left = subtract(left, victim.containers[container].resource)
    return leaf.policy.calculator(state.total, left, victim.fair_share, True) >= 0
