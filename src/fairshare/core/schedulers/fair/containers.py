"""Owns the order in which Hadoop iterates over containers and nodes to end or to preempt
containers.

This is the iteration order of its hash maps (`core/schedulers/hash_order.py`), whose size follows
from the most entries that they ever had: an application's live containers are in a
ConcurrentHashMap, a node's and the nodes themselves in HashMaps. A node's id consists of name and
port there; here the ports are numbered by arrival.
"""

from collections.abc import Iterable

from fairshare.core.model.identifiers import ContainerId
from fairshare.core.model.nodes import Node
from fairshare.core.schedulers.fair.attempts import FairAttempt
from fairshare.core.schedulers.fair.cluster import FairCluster
from fairshare.core.schedulers.hash_order import (
    container_code,
    in_hash_order,
    node_code,
    table_size,
)


def containers_of_application(state: FairCluster, attempt: FairAttempt) -> list[ContainerId]:
    """The live containers of an application."""
    size = table_size(attempt.peak_containers, concurrent=True)
    return _in_order(state, attempt.containers, size)


def containers_of_node(state: FairCluster, node: Node) -> list[ContainerId]:
    """The live containers on a node."""
    size = table_size(state.tables.peak_on_node(node), concurrent=False)
    return _in_order(state, node.containers, size)


def nodes_in_order(state: FairCluster) -> list[Node]:
    """All nodes."""
    size = table_size(state.tables.most_nodes, concurrent=False)
    ports = state.tables.ports
    ordered = in_hash_order(ports, lambda name: node_code(name, ports[name]), size)
    return [state.nodes[name] for name in ordered]


def _in_order(
    state: FairCluster, containers: Iterable[ContainerId], size: int
) -> list[ContainerId]:
    return in_hash_order(containers, lambda one: container_code(state.epoch_ms, one), size)
