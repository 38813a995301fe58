"""The order in which Hadoop ends containers that end together, and examines reserved nodes.

This is the iteration order of its hash maps (`core/schedulers/hash_order.py`), whose size follows
from the most entries that they ever had. An application's live containers are in a
ConcurrentHashMap; those of a node, the asks with reservations of an application, the nodes reserved
for an ask, all nodes, and the selections of a preemption round are in HashMaps. A node's id
consists of name and port there; here the ports are numbered by arrival.
"""

from collections.abc import Collection, Iterable

from fairshare.core.model.identifiers import ApplicationId, ContainerId
from fairshare.core.model.nodes import Node
from fairshare.core.schedulers.capacity.attempts import CapacityAttempt
from fairshare.core.schedulers.capacity.cluster import CapacityCluster
from fairshare.core.schedulers.hash_order import (
    attempt_code,
    container_code,
    in_hash_order,
    node_code,
    request_code,
    table_size,
)

FIRST_PORT = 1000


def of_application(state: CapacityCluster, attempt: CapacityAttempt) -> list[ContainerId]:
    """The live containers of an application."""
    most = max(attempt.most_containers, len(attempt.containers))
    size = table_size(most, concurrent=True)
    return _in_order(state, attempt.containers, size)


def of_node(state: CapacityCluster, node: Node) -> list[ContainerId]:
    """The live containers on a node."""
    most = max(state.most_on_node[node.name], node.occupants)
    size = table_size(most, concurrent=False)
    return _in_order(state, node.containers, size)


def nodes(state: CapacityCluster, names: Iterable[str]) -> list[str]:
    """Nodes that are reserved for one ask."""
    ports = state.ports
    return in_hash_order(names, lambda name: node_code(name, ports[name]))


def reserved(state: CapacityCluster, attempt: CapacityAttempt) -> list[str]:
    """All nodes that are reserved for an application, ask by ask."""
    by_ask: dict[tuple[int, int], list[str]] = {}
    for name, one in attempt.reservations.items():
        by_ask.setdefault((one.priority, one.request), []).append(name)
    asks = in_hash_order(by_ask, lambda ask: request_code(*ask))
    return [name for ask in asks for name in nodes(state, by_ask[ask])]


def chosen(state: CapacityCluster, found: Collection[ContainerId]) -> list[ContainerId]:
    """Containers of an application that a preemption round has selected."""
    return _in_order(state, found, table_size(len(found), concurrent=False))


def attempts(
    state: CapacityCluster, found: Iterable[ApplicationId], most: int
) -> list[ApplicationId]:
    """Some of the `most` applications from whose attempts a preemption round has selected
    containers."""

    def code(number: ApplicationId) -> int:
        return attempt_code(state.epoch_ms, number, state.attempts[number].number)

    return in_hash_order(found, code, table_size(most, concurrent=False))


def reserved_nodes(state: CapacityCluster) -> list[Node]:
    """All reserved nodes of the cluster."""
    names = [node.name for node in state.nodes.values() if node.reservation is not None]
    size = table_size(max(state.most_nodes, len(state.nodes)), concurrent=False)
    ordered = in_hash_order(names, lambda name: node_code(name, state.ports[name]), size)
    return [state.nodes[name] for name in ordered]


def _in_order(
    state: CapacityCluster, containers: Iterable[ContainerId], size: int
) -> list[ContainerId]:
    return in_hash_order(containers, lambda one: container_code(state.epoch_ms, one), size)
