"""Owns the sizes of Hadoop's hash maps of containers and nodes, which their order follows from
(`containers.py`)."""

from fairshare.core.model.nodes import Node
from fairshare.core.schedulers.fair.attempts import FairAttempt

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

    def will_shrink(self, attempt: FairAttempt, node: Node) -> None:
        """A container of an application is about to leave a node."""
        count = len(attempt.containers)
        if count > attempt.most_containers:
            attempt.most_containers = count
        count = len(node.containers) + len(node.ending)  # `occupants`, written out
        if count > self.most_on_node[node.name]:
            self.most_on_node[node.name] = count

    def peak_on_node(self, node: Node) -> int:
        """The largest number of containers at once since the node joined."""
        return max(self.most_on_node[node.name], node.occupants)
