"""Owns the nodes of the cluster as data: their totals, and the containers that hold room on them.

A part of the state; decides nothing. Frees the room of completed containers that held it until
their node's report; `state.py` accounts for all other changes of usage.
"""

from fairshare.core.model.events import (
    ContainerAllocated,
    NodeAdded,
    NodeDrained,
    NodeRemoved,
    NodeTotalChanged,
    RoomFreed,
)
from fairshare.core.model.identifiers import ContainerId
from fairshare.core.model.nodes import Node
from fairshare.core.model.operations import Handlers, Operations
from fairshare.core.model.resources import Resource, ResourceTypes, add, largest, subtract


class Machines(Operations):
    """The nodes by name and by rack; `total` is the sum of their totals. `hosts` has the nodes that
    are not named like their hosts, by host.

    `running` has the containers that an engine reported as running, and whether each holds its room
    until the engine reports its end. `ending` has the completed containers that still hold their
    room, with their nodes (`SchedulerNode.releaseContainer`).
    """

    def __init__(self, types: ResourceTypes) -> None:
        super().__init__()
        self.types = types
        self.none: Resource = types.none
        self.total: Resource = types.none
        self.nodes: dict[str, Node] = {}
        self.racks: dict[str, dict[str, Node]] = {}
        self.hosts: dict[str, dict[str, Node]] = {}
        self.running: dict[ContainerId, bool] = {}
        self.ending: dict[ContainerId, str] = {}
        self._largest_node: Resource | None = None

    def largest_node(self) -> Resource:
        """The maximum of the nodes' totals, in each type separately; cached until nodes change."""
        if self._largest_node is None:
            biggest = self.none
            for node in self.nodes.values():
                biggest = largest(biggest, self.offered(node))
            self._largest_node = biggest
        return self._largest_node

    def node_on(self, host: str) -> Node | None:
        """A node of a host, which may have several; None: no node is there."""
        found = self.nodes.get(host)
        if found is not None and found.host == host:
            return found
        return next(iter(self.hosts.get(host, {}).values()), None)

    def event_handlers(self) -> Handlers:
        """Adds the handlers of node events."""
        return {
            **super().event_handlers(),
            NodeAdded: self._node_added,
            NodeRemoved: self._node_removed,
            NodeTotalChanged: self._node_total_changed,
            RoomFreed: self._room_freed,
        }

    def _node_added(self, now_ms: int, event: NodeAdded) -> None:
        node = Node(event.node, event.rack, event.total, event.attributes, event.host)
        self.nodes[event.node] = node
        self.racks.setdefault(event.rack, {})[event.node] = node
        if node.host != node.name:
            self.hosts.setdefault(node.host, {})[node.name] = node
        self.total = add(self.total, event.total)
        self._largest_node = None

    def _node_removed(self, now_ms: int, event: NodeRemoved) -> None:
        node = self.nodes.pop(event.node)
        self.failing.pop(event.node, None)
        for container in node.ending:
            del self.ending[container]
        rack = self.racks[node.rack]
        del rack[event.node]
        if not rack:
            del self.racks[node.rack]
        if node.host != node.name:
            here = self.hosts[node.host]
            del here[node.name]
            if not here:
                del self.hosts[node.host]
        self.total = subtract(self.total, node.total)
        self._largest_node = None

    def _node_total_changed(self, now_ms: int, event: NodeTotalChanged) -> None:
        node = self.nodes[event.node]
        self.total = add(subtract(self.total, node.total), event.total)
        node.resize(event.total)
        self._largest_node = None

    def _node_drained(self, now_ms: int, event: NodeDrained) -> None:
        super()._node_drained(now_ms, event)
        self._largest_node = None

    def _hold_room(self, node: Node, record: ContainerAllocated) -> None:
        """Let a completed container keep its room, which was freed before, until its node reports
        its end."""
        node.ending[record.container] = record
        self.ending[record.container] = node.name
        node.available = subtract(node.available, record.resource)

    def _room_freed(self, now_ms: int, event: RoomFreed) -> None:
        node = self.nodes[self.ending.pop(event.container)]
        record = node.ending.pop(event.container)
        node.available = add(node.available, record.resource)
