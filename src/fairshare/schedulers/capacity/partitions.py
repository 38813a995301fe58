"""Owns which partitions (node labels) there are, and which one each node belongs to.

Changed by events alone; who may change them is decided in `labels.py`. A node that changes its
partition takes what runs on it along: queues and users use it there from then on, a reservation on
it is dropped, and a master counts for the limit of masters there (spec/capacity.md 15.6, 28).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fairshare.model.nodes import Node
from fairshare.model.resources import subtract
from fairshare.schedulers.capacity import accounting
from fairshare.schedulers.capacity.queues import Share
from fairshare.schedulers.capacity.settings import CapacitySettings

if TYPE_CHECKING:
    from fairshare.schedulers.capacity.cluster import CapacityCluster

NODE_ATTRIBUTE = "partition"
"""In the attributes of a node: the partition that it reports by itself."""


def configured(settings: CapacitySettings) -> dict[str, None]:
    """Partitions of which the file says anything for a queue or a template, whether the cluster has
    them or not."""
    told = list(settings.queues.values())
    for template in settings.templates.values():
        told += (template.common, template.leaf, template.parent, template.legacy_leaf)
    return {label: None for own in told for label in own.label_capacities if label}


def of_cluster(state: "CapacityCluster") -> dict[str, bool]:
    """The cluster's partitions: by name, whether each is exclusive."""
    return {**state.settings.labels, **state.added_labels}


def belongs(state: "CapacityCluster", node: Node) -> str:
    """Where a node belongs: as an administrator said, as the configuration says, as it reports.

    A partition that the cluster does not have is the default one. Where nodes speak for themselves
    (`configuration-type` distributed) nobody else is asked.
    """
    settings = state.settings
    label = node.attributes.get(NODE_ATTRIBUTE, "")
    if not settings.labels_distributed:
        label = settings.label_of_node.get(node.name, label)
        label = state.assigned_labels.get(node.name, label)
    return label if label in of_cluster(state) else ""


def change_something(state: "CapacityCluster", nodes: Mapping[str, str]) -> bool:
    """Whether a node would have another partition than before, or is not there yet: then Hadoop
    computes all shares again. What it is told of nodes that are as told it passes over."""
    for name, label in nodes.items():
        node = state.nodes.get(name)
        before = state.assigned_labels.get(name)
        if before is None and node is not None:
            before = belongs(state, node)
        if label != before:
            return True
    return False


def follow(state: "CapacityCluster") -> bool:
    """Let everything follow what is said of partitions now; whether a node has another one.

    A partition that is gone stays known, since applications may still ask for it.
    """
    names = ("", *configured(state.settings), *of_cluster(state), *state.labels)
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


def _move(state: "CapacityCluster", node: Node, before: str, after: str) -> None:
    state.drop_reservation(node)
    for container, record in node.containers.items():
        application = state.applications[record.application]
        leaf = application.leaf
        if leaf is None:
            continue
        amount = record.resource
        released = subtract(state.none, amount)
        accounting.charge(state, leaf, application.user, before, released)
        accounting.charge(state, leaf, application.user, after, amount)
        if container in node.marked:
            accounting.change_killable(leaf, before, released)
            accounting.change_killable(leaf, after, amount)
        if container == application.master:
            accounting.move_master(application, after)
    state.partition_of[node.name] = after
