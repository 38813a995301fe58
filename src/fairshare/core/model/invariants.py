"""The invariants of the state. Called by tests after each step, and on demand."""

from collections import Counter
from functools import reduce
from typing import Any

from fairshare.core.model.resources import Resource, add, largest, total
from fairshare.core.model.state import ClusterState
from fairshare.errors import InvariantViolation


def check(state: ClusterState[Any, Any]) -> None:
    """Raise InvariantViolation for the first invariant that does not hold."""
    _check_nodes(state)
    _check_applications(state)
    _check_queues(state)
    _check_usage(state)


def _claim(claim: bool, *parts: object) -> None:
    if not claim:
        raise InvariantViolation(" ".join(str(part) for part in parts))


def _check_nodes(state: ClusterState[Any, Any]) -> None:
    size = len(state.none)
    for node in state.nodes.values():
        here = (*node.containers.values(), *node.ending.values())
        used = total((c.resource for c in here), size)
        _claim(used == node.used, "node", node.name, "uses", used, "but says", node.used)
        for container in node.ending:
            _claim(state.ending.get(container) == node.name, "is unaware of", container)
            _claim(container not in node.containers, container, "is over, and is not")
        reservation = node.reservation
        if reservation is not None:
            owner = state.applications[reservation.application]
            _claim(
                owner.attempt.reservations.get(node.name) is reservation,
                "node", node.name, "is reserved for", owner.id, "who does not know",
            )  # fmt: skip
        for container in node.marked:
            _claim(container in node.containers, "marked container", container, "is not there")
    offered = total((n.total for n in state.nodes.values()), size)
    _claim(offered == state.total, "cluster total", state.total, "but nodes offer", offered)
    sizes = Counter((node.total, state.offered(node)) for node in state.nodes.values())
    _claim(sizes == state.sizes, "nodes have the sizes", sizes, "but counted are", state.sizes)
    most = reduce(largest, (state.offered(node) for node in state.nodes.values()), state.none)
    _claim(most == state.largest_node(), "largest node", state.largest_node(), "but offered", most)
    _claim(len(state.ending) == sum(len(n.ending) for n in state.nodes.values()), "who is ending?")
    over = total((c.resource for n in state.nodes.values() for c in n.ending.values()), size)
    used = total((n.used for n in state.nodes.values()), size)
    _claim(used == add(state.used, over), "cluster used", state.used, "but nodes use", used)


def _check_applications(state: ClusterState[Any, Any]) -> None:
    size = len(state.none)
    places = {
        container: node.name for node in state.nodes.values() for container in node.containers
    }
    seen = 0
    for application in state.applications.values():
        seen += len(application.containers)
        for container, record in application.containers.items():
            _claim(
                places.get(container) == record.node,
                "container", container, "should be on", record.node,
            )  # fmt: skip
        used = total((c.resource for c in application.containers.values()), size)
        _claim(used == application.used, "application", application.id, "uses", used)
        asks = application.attempt.asks
        wanting = [k for _, k in sorted(asks.keys.items()) if k.pending]
        served = sorted((*asks.wanting, *asks.withheld))
        _claim(wanting == served, "application", application.id, "wanting")
        if not asks.closed:
            _claim(not asks.withheld, "application", application.id, "withheld")
        withheld = [key.order for key in asks.withheld]
        for reservation in application.attempt.reservations.values():
            kept = (reservation.priority, reservation.request) in withheld
            _claim(not kept, "application", application.id, "reserves what is withheld")
        if not application.attempt.active:
            _claim(not application.containers, "inactive application", application.id, "runs")
    _claim(seen == len(places), "some container belongs to no application")


def _check_queues(state: ClusterState[Any, Any]) -> None:
    size = len(state.none)
    sums = dict.fromkeys(state.queues.values(), state.none)
    for application in state.applications.values():
        if application.attempt.active:
            try:
                path = state.ancestry(application.queue)  # the queue may not be listed any more
            except KeyError:
                raise InvariantViolation(f"queue {application.queue} is not there") from None
            _claim(
                application.id in path[0].attempts,
                "application", application.id, "is not in", application.queue,
            )  # fmt: skip
            for queue in path:
                sums[queue] = total((sums.get(queue, state.none), application.used), size)
    for queue, used in sums.items():
        _claim(used == queue.used, "queue", queue.name, "uses", used, "says", queue.used)


def _check_usage(state: ClusterState[Any, Any]) -> None:
    if state.ledger is None:
        return
    size = len(state.none)
    used: dict[tuple[str, str], Resource] = {}
    for attempt in state.attempts.values():
        key = (attempt.application.queue, attempt.user)
        used[key] = add(used.get(key, state.none), attempt.used)
    for key, cell in state.ledger.at(state.ledger.now_ms).cells.items():
        present = used.pop(key, state.none)
        _claim(cell.used == present, key, "use", present, "and the ledger says", cell.used)
        _claim(min(cell.past) >= 0 and len(cell.past) == size, key, "used", cell.past, "before")
    _claim(not any(map(any, used.values())), "the ledger does not know", used)
