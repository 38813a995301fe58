"""Owns the existing partitions (node labels), and the partition of each node.

Only events change them; `labels.py` decides which changes are allowed. A node that changes its
partition takes its containers along: queues and users use them there from then on, a reservation on
it is dropped, and a master counts towards the masters' limit there (Hadoop: RMNodeLabelsManager).
"""

from collections.abc import Mapping

from fairshare.core.model.nodes import Node
from fairshare.core.model.resources import subtract
from fairshare.core.schedulers.capacity import accounting
from fairshare.core.schedulers.capacity.cluster import CapacityCluster
from fairshare.core.schedulers.capacity.queues import Share
from fairshare.core.schedulers.capacity.settings import CapacitySettings

NODE_ATTRIBUTE = "partition"
"""The key in a node's attributes of the partition that the node reports."""


def configured(settings: CapacitySettings) -> dict[str, None]:
    """Partitions that the file names for a queue or a template, whether the cluster has them or
    not."""
    sources = list(settings.queues.values())
    for template in settings.templates.values():
        sources += (template.common, template.leaf, template.parent, template.legacy_leaf)
    return {label: None for own in sources for label in own.label_capacities if label}


def belongs(state: CapacityCluster, node: Node) -> str:
    """A node's partition: assigned by an administrator, else by the configuration, else as
    reported.

    A partition that the cluster does not have counts as the default one. If nodes report their
    partitions (`configuration-type` distributed), only the report counts.
    """
    settings = state.settings
    label = node.attributes.get(NODE_ATTRIBUTE, "")
    if not settings.labels_distributed:
        label = settings.label_of_node.get(node.name, label)
        label = state.assigned_labels.get(node.name, label)
    return label if label in state.partitions else ""


def change_something(state: CapacityCluster, nodes: Mapping[str, str]) -> bool:
    """Whether a node's partition would change or a node is not registered yet: then Hadoop
    recomputes all shares. It skips nodes whose assignment is unchanged."""
    for name, label in nodes.items():
        node = state.nodes.get(name)
        before = state.assigned_labels.get(name)
        if before is None and node is not None:
            before = belongs(state, node)
        if label != before:
            return True
    return False


def follow(state: CapacityCluster) -> bool:
    """Update the state to the present partitions; returns whether a node's partition changed.

    A removed partition stays known, since applications may still ask for it.
    """
    names = ("", *configured(state.settings), *state.partitions, *state.labels)
    state.labels = tuple(dict.fromkeys(names))
    for queue in state.all_queues():
        for label in state.labels:
            if label not in queue.shares:
                queue.shares[label] = Share(state.none)
    moved = False
    for node in state.nodes.values():
        before, after = state.partition_of.get(node.name, ""), belongs(state, node)
        if before != after:
            _move(state, node, before, after)
            moved = True
    state.count_totals()
    return moved


def _move(state: CapacityCluster, node: Node, before: str, after: str) -> None:
    state.drop_reservation(node)
    for container, record in node.containers.items():
        attempt = state.attempts[record.application]
        leaf = attempt.leaf
        amount = record.resource
        released = subtract(state.none, amount)
        accounting.charge(state, leaf, attempt.user, before, released)
        accounting.charge(state, leaf, attempt.user, after, amount)
        if container in node.marked:
            accounting.change_killable(leaf, before, released)
            accounting.change_killable(leaf, after, amount)
        if container == attempt.master:
            accounting.move_master(attempt, after)
    state.partition_of[node.name] = after
