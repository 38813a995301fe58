"""The choice of victims on reserved nodes: where applications wait for room, and, for reservations
of queues with a higher priority, even in queues below their guarantee (Hadoop:
ReservedContainerCandidatesSelector, QueuePriorityContainerCandidateSelector)."""

from functools import cmp_to_key
from typing import TYPE_CHECKING

from fairshare.core.model.events import ContainerAllocated, ReservationMoved
from fairshare.core.model.nodes import Node
from fairshare.core.model.resources import Resource, add, subtract
from fairshare.core.schedulers.capacity import containers
from fairshare.core.schedulers.capacity.naming import ambiguous
from fairshare.core.schedulers.capacity.preemption.ideal import Claim
from fairshare.core.schedulers.capacity.preemption.selection import Selection
from fairshare.core.schedulers.capacity.queues import CapacityQueue
from fairshare.core.schedulers.capacity.state import CapacityState

if TYPE_CHECKING:
    from fairshare.core.schedulers.protocol import Step


Targets = dict[tuple[str, str], Resource]
"""What may be taken, by leaf and partition."""


def take_for_reservations(
    state: CapacityState, selection: Selection, leaves: list[Claim], wait_ms: int
) -> None:
    """Select containers on reserved nodes until the reservations fit; the cheapest nodes first.

    Nodes of equal cost are in the order of Hadoop's map of nodes.
    """
    c = state.calculator
    targets: Targets = {
        (leaf.queue.name, leaf.label): leaf.target
        for leaf in leaves
        if c.compare(state.total, leaf.target, state.none) > 0
    }
    costs: list[tuple[float, Node]] = []
    for node in containers.reserved_nodes(state):
        assert node.reservation is not None
        victims = _on_node(state, selection, targets, node, trial=True)
        if victims is not None:
            size = state.none
            for record in victims:
                size = add(size, record.resource)
            costs.append((c.ratio(size, node.reservation.resource), node))
    for _, node in sorted(costs, key=lambda cost: cost[0]):
        for record in _on_node(state, selection, targets, node, trial=False) or ():
            selection.containers[record.container] = wait_ms


def _on_node(
    state: CapacityState, selection: Selection, targets: Targets, node: Node, *, trial: bool
) -> list[ContainerAllocated] | None:
    """The containers that would have to be killed, the newest first; None: they would not suffice.

    A trial does not reduce targets and budget: it checks each container separately. If the
    containers do not suffice, the targets are restored, but not the budget, as in Hadoop.
    """
    c = state.calculator
    reservation = node.reservation
    assert reservation is not None
    room = node.available
    for record in node.marked.values():
        room = add(room, record.resource)
    if c.fits(reservation.resource, room):
        return None
    label = state.label_of(node)
    chosen: list[ContainerAllocated] = []
    for record in sorted(node.containers.values(), key=lambda r: r.container, reverse=True):
        attempt = state.attempts[record.application]
        if record.container in node.marked or record.container == attempt.master:
            continue
        if selection.booked(record):
            continue
        key = (attempt.leaf.name, label)
        target = targets.get(key)
        if target is None or not c.fits(record.resource, target):
            continue
        if not c.fits(record.resource, selection.budget):
            continue
        if not trial:
            targets[key] = subtract(target, record.resource)
            selection.budget = subtract(selection.budget, record.resource)
        if record.container not in selection.containers:
            chosen.append(record)
        room = add(room, record.resource)
        if c.fits(reservation.resource, room):
            return chosen
    if not trial:
        for record in chosen:
            key = (state.attempts[record.application].leaf.name, label)
            targets[key] = add(targets[key], record.resource)
    return None


Held = tuple[CapacityQueue, str, int]
"""A leaf, the node that is reserved for it, and since when (ms)."""


def relative_priority(one: CapacityQueue, other: CapacityQueue) -> int:
    """The difference of two leaves' priorities, below their lowest common ancestor."""
    above_one = list(reversed(one.path))
    above_other = list(reversed(other.path))
    for place, (a, b) in enumerate(zip(above_one, above_other, strict=False)):
        if a is not b:
            parent = above_one[place - 1]
            if parent.policy != "priority-utilization":
                return 0
            return a.priority - b.priority
    return 0


def take_for_priority(
    state: CapacityState, step: "Step", selection: Selection, wait_ms: int
) -> None:
    """Serve reservations that are old enough, of leaves that are below their guarantee and have a
    higher priority than some other leaf: the highest priority first, else the oldest.

    A reservation that cannot be served on its node moves to one where it can, if configured.
    """
    now_ms = step.now_ms
    touched: dict[str, None] = {}
    monitor = state.settings.monitor
    promised: dict[str, Resource] = {}
    for leaf, node, since_ms in _urgent_reservations(state):
        if since_ms + monitor.underutilized_delay_ms > now_ms:
            continue
        place = state.nodes[node]
        reservation = place.reservation
        assert reservation is not None
        share = leaf.shares[state.label_of(place)]
        has = add(subtract(share.used, share.reserved), promised.get(leaf.name, state.none))
        if state.calculator.compare(state.total, has, share.effective_minimum) >= 0:
            continue
        victims = _victims(state, selection, leaf, place, reservation.resource)
        if victims is None:
            if monitor.underutilized_move_reservation and not monitor.observe_only:
                _move(state, step, selection, leaf, place, touched)
            continue
        touched[node] = None
        for record in victims:
            selection.containers[record.container] = wait_ms
            selection.budget = subtract(selection.budget, record.resource)
        before = promised.get(leaf.name, state.none)
        promised[leaf.name] = add(before, reservation.resource)


def _urgent_reservations(state: CapacityState) -> list[Held]:
    """Leaf, node and time of the reservations of leaves with a higher priority than some other
    leaf.

    Hadoop looks up a container's leaf by its short name, and thus ignores leaves with an ambiguous
    one.
    """
    reserved = []
    leaves = [queue for queue in state.queues.values() if queue.leaf]
    urgent: dict[str, bool] = {}
    for node, since_ms in sorted(state.reserved_ms.items(), key=lambda item: (item[1], item[0])):
        reservation = state.nodes[node].reservation
        assert reservation is not None
        leaf = state.attempts[reservation.application].leaf
        if leaf.name not in urgent:
            more = any(relative_priority(leaf, other) > 0 for other in leaves)
            urgent[leaf.name] = more and not ambiguous(state, leaf.short_name)
        if urgent[leaf.name]:
            reserved.append((leaf, node, since_ms))

    def more_urgent(one: Held, other: Held) -> int:
        return relative_priority(other[0], one[0])

    return sorted(reserved, key=cmp_to_key(more_urgent))


def _move(
    state: CapacityState,
    step: "Step",
    selection: Selection,
    leaf: CapacityQueue,
    node: Node,
    touched: dict[str, None],
) -> None:
    """Move a reservation to another node where enough can be preempted: one of the ask's partition
    that is not reserved, and only if the ask relaxes locality."""
    reservation = node.reservation
    assert reservation is not None
    attempt = state.attempts[reservation.application]
    key = attempt.asks.keys[(reservation.priority, reservation.request)]
    if key.anywhere is None or not key.anywhere.relax:
        return
    for target in state.nodes.values():
        if target.reservation is not None or target.name in touched:
            continue
        if state.label_of(target) != key.label or key.label != state.label_of(node):
            continue
        if not state.calculator.fits(reservation.resource, target.total):
            continue
        if _victims(state, selection, leaf, target, reservation.resource) is not None:
            step.emit(ReservationMoved(node.name, target.name))
            touched[target.name] = None
            return


def _victims(
    state: CapacityState,
    selection: Selection,
    leaf: CapacityQueue,
    node: Node,
    wanted: Resource,
) -> list[ContainerAllocated] | None:
    """Containers of leaves with a lower priority on a node that make room; None: there are too
    few."""
    c = state.calculator
    room = node.available
    for record in node.containers.values():
        if record.container in node.marked or record.container in selection.containers:
            room = add(room, record.resource)
    if c.fits(wanted, room):
        return []
    budget = selection.budget
    chosen: list[ContainerAllocated] = []
    for _, record in _candidates(state, selection, leaf, node):
        if not c.fits(record.resource, budget):
            continue
        budget = subtract(budget, record.resource)
        room = add(room, record.resource)
        chosen.append(record)
        if c.fits(wanted, room):
            return chosen
    return None


def _candidates(
    state: CapacityState, selection: Selection, leaf: CapacityQueue, node: Node
) -> list[tuple[int, ContainerAllocated]]:
    """Possible victims on a node, the lowest queue priority first, then the oldest container."""
    candidates = []
    for record in node.containers.values():
        attempt = state.attempts[record.application]
        other = attempt.leaf
        if other is leaf or record.container == attempt.master:
            continue
        if record.container in selection.containers or record.container in node.marked:
            continue
        if selection.booked(record):
            continue
        priority = relative_priority(leaf, other)
        if priority > 0 and not ambiguous(state, other.short_name):
            candidates.append((-priority, record))
    return sorted(candidates, key=lambda item: (item[0], item[1].container))
