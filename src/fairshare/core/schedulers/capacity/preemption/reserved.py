"""Owns the choice of victims on reserved nodes, where applications wait for room
(Hadoop: ReservedContainerCandidatesSelector)."""

from fairshare.core.model.events import ContainerAllocated
from fairshare.core.model.nodes import Node
from fairshare.core.model.resources import Resource, add, subtract
from fairshare.core.schedulers.capacity import containers
from fairshare.core.schedulers.capacity.preemption.selection import Selection
from fairshare.core.schedulers.capacity.preemption.snapshot import Claim
from fairshare.core.schedulers.capacity.state import CapacityState

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
        found = _on_node(state, selection, targets, node, trial=True)
        if found is not None:
            size = state.none
            for record in found:
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
