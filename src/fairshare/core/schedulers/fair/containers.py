"""The order in which Hadoop iterates over containers and nodes to end or to preempt containers.

This is the iteration order of its hash maps (`core/schedulers/hash_order.py`), whose size follows
from the most entries that they ever had: an application's live containers are in a
ConcurrentHashMap, a node's and the nodes themselves in HashMaps. A node's id consists of name and
port there; here the ports are numbered by arrival.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fairshare.core.model.identifiers import ContainerId
from fairshare.core.model.nodes import Node
from fairshare.core.schedulers.fair.attempts import FairAttempt
from fairshare.core.schedulers.hash_order import (
    container_code,
    in_hash_order,
    node_code,
    table_size,
)

if TYPE_CHECKING:
    from fairshare.core.schedulers.fair.state import FairState

FIRST_PORT = 1000


class Tables:
    """The largest numbers of entries that the hash maps have held: the containers at once.

    Only peaks that are over are stored: the largest size of a map is that, or its present size. So
    a grant, which is hot, writes nothing.
    """

    def __init__(self) -> None:
        self._arrivals = 0
        self.most_nodes = 0
        self.most_on_node: dict[str, int] = {}
        self.ports: dict[str, int] = {}  # in the order of insertion into Hadoop's table

    def node_joined(self, name: str, nodes: int) -> None:
        """A node was added; `nodes` is their number, this one included."""
        self.most_nodes = max(self.most_nodes, nodes)
        self.most_on_node[name] = 0
        self.ports[name] = FIRST_PORT + self._arrivals
        self._arrivals += 1

    def node_resized(self, name: str) -> None:
        """A node was resized: Hadoop removes it and adds it again, behind the others."""
        self.ports[name] = self.ports.pop(name)

    def node_left(self, name: str) -> None:
        """A node was removed."""
        del self.most_on_node[name]
        del self.ports[name]


def containers_of_application(state: "FairState", attempt: FairAttempt) -> list[ContainerId]:
    """The live containers of an application."""
    size = table_size(attempt.peak_containers, concurrent=True)
    return _in_order(state, attempt.containers, size)


def containers_of_node(state: "FairState", node: Node) -> list[ContainerId]:
    """The live containers on a node."""
    most = max(state.tables.most_on_node[node.name], node.occupants)  # since the node joined
    size = table_size(most, concurrent=False)
    return _in_order(state, node.containers, size)


def nodes_in_order(state: "FairState") -> list[Node]:
    size = table_size(state.tables.most_nodes, concurrent=False)
    ports = state.tables.ports
    ordered = in_hash_order(ports, lambda name: node_code(name, ports[name]), size)
    return [state.nodes[name] for name in ordered]


def _in_order(
    state: "FairState", containers: Iterable[ContainerId], size: int
) -> list[ContainerId]:
    return in_hash_order(containers, lambda one: container_code(state.epoch_ms, one), size)
