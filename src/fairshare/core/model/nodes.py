"""The nodes of the cluster as data: the total, the containers and the reservation of each; and what
administrators control: drained nodes, overcommitted nodes and the safe mode; and beside it the
nodes that cannot start containers.

A part of the state. Frees the room of completed containers that held it until their node's report;
`state.py` accounts for all other changes of usage. The manager checks permissions and handles
consequences.
"""

from collections import Counter
from collections.abc import Callable
from functools import reduce
from typing import Any

import msgspec

from fairshare.core.model.events import (
    ContainerAllocated,
    NodeAdded,
    NodeDrained,
    NodeFailing,
    NodeOvercommitted,
    NodeRecovered,
    NodeRemoved,
    NodeTotalChanged,
    NodeTried,
    NodeUndrained,
    RoomFreed,
    SafeModeChanged,
)
from fairshare.core.model.identifiers import ApplicationId, ContainerId
from fairshare.core.model.resources import Resource, ResourceTypes, add, largest, subtract


class Reservation(msgspec.Struct, frozen=True):
    """The reservation of a node for one ask of one application; it uses no resources of the node
    until it is fulfilled.

    `kept` are the places of the resource types of which as much as the ask needs is kept free for
    it since `since_ms`; the rest others may take. Without any the ask has waited here since then,
    and nothing is kept yet. None: the whole node is kept, as in Hadoop. `share` is what its queue
    was entitled to when it began.
    """

    application: ApplicationId
    node: str
    resource: Resource
    priority: int
    request: int
    kept: tuple[int, ...] | None = None
    since_ms: int = 0
    share: Resource = ()

    @property
    def whole(self) -> bool:
        """Whether nothing of the node is left for others."""
        return self.kept is None

    @property
    def keeps(self) -> Resource:
        """What is kept free for it once it is there."""
        if self.kept is None:
            return self.resource
        return tuple(
            amount if place in self.kept else 0 for place, amount in enumerate(self.resource)
        )


class Node:
    """One node. `host` is what requests and blacklists name; several nodes may share one.

    `available` may be negative after a node became smaller.

    `ending` has the completed containers that hold their room until the node reports their end.
    `promised` is the room kept free for applications on whose behalf containers were preempted.
    """

    __slots__ = (
        "attributes",
        "available",
        "containers",
        "ending",
        "host",
        "marked",
        "name",
        "promised",
        "rack",
        "reservation",
        "total",
    )

    def __init__(
        self,
        name: str,
        rack: str,
        total: Resource,
        attributes: dict[str, str],
        host: str = "",
    ) -> None:
        self.name = name
        self.host = host or name
        self.rack = rack
        self.total = total
        self.available = total
        self.attributes = attributes
        self.containers: dict[ContainerId, ContainerAllocated] = {}
        self.ending: dict[ContainerId, ContainerAllocated] = {}
        self.reservation: Reservation | None = None
        self.marked: dict[ContainerId, ContainerAllocated] = {}
        self.promised: dict[ApplicationId, Resource] = {}

    @property
    def used(self) -> Resource:
        """The resources of all its containers, including those that are ending."""
        return subtract(self.total, self.available)

    def for_others(self, room: Resource) -> Resource:
        """What is left of a room here for applications without a reservation.

        >>> node = Node("n", "/r", (8192, 4), {})
        >>> node.reservation = Reservation(1, "n", (4096, 2), 0, 0, kept=(1,))
        >>> node.for_others((8192, 1)), node.for_others((8192, 3))
        ((8192, 0), (8192, 1))
        """
        reservation = self.reservation
        if reservation is None:
            return room
        if reservation.whole:
            return tuple(min(amount, 0) for amount in room)
        return tuple(
            max(amount - kept, min(amount, 0)) if kept else amount
            for amount, kept in zip(room, reservation.keeps, strict=True)
        )

    @property
    def kept_whole(self) -> bool:
        """Whether the node is kept for one application, so that no other one gets anything."""
        return self.reservation is not None and self.reservation.whole

    @property
    def occupants(self) -> int:
        """The number of containers that hold room on the node."""
        return len(self.containers) + len(self.ending)

    def resize(self, total: Resource) -> None:
        """Change the total; the containers stay."""
        self.available = subtract(total, self.used)
        self.total = total


FIRST_PAUSE_MS = 1_000
LONGEST_PAUSE_MS = 60_000


def pause_ms(before: int) -> int:
    """How long something that fails at once waits before it is tried again, after so many pauses
    before: `pause_ms(0) == 1000`, `pause_ms(3) == 8000`, at most a minute."""
    return min(FIRST_PAUSE_MS << min(before, 16), LONGEST_PAUSE_MS)


Handlers = dict[type, Callable[[int, Any], None]]
"""The handler of each type of event; it gets the instant (ms) and the event."""


class Drain(msgspec.Struct, frozen=True):
    """A node that gets no new containers.

    `total` is the node's total when it is not drained: from its next heartbeat on, its total in
    the state is what its containers use, as of a decommissioning node in Hadoop. At `deadline_ms`,
    or as soon as it is empty, it leaves the cluster; None: it stays.
    """

    total: Resource
    since_ms: int
    deadline_ms: int | None = None


class Failing(msgspec.Struct, frozen=True):
    """A node that could not start containers, `failures` times in a row, because of `reason`.

    It gets none until `until_ms`; None: it is tried, and the next report says whether it has
    recovered.
    """

    failures: int
    until_ms: int | None
    reason: str


MANY_FAILURES = 3
"""After so many failures in a row a node counts as unhealthy."""


class Nodes:
    """The nodes by name and by rack; `total` is the sum of their totals. `hosts` has the nodes that
    are not named like their hosts, by host. `sizes` counts the nodes of each total and, while they
    are drained, of each total afterwards: few sizes, however many nodes.

    `running` has the containers that an engine reported as running, and whether each holds its room
    until the engine reports its end. `ending` has the completed containers that still hold their
    room, with their nodes (`SchedulerNode.releaseContainer`).

    `drains` has nodes by name, including absent ones: a node that left with a deadline is
    decommissioned, and cannot join by itself. `overcommits` has the deadlines, in milliseconds, of
    overcommitted nodes; a node without a time limit has no entry. `failing` has the present nodes
    that could not start containers.
    """

    def __init__(self, types: ResourceTypes) -> None:
        self.types = types
        self.none: Resource = types.none
        self.total: Resource = types.none
        self.nodes: dict[str, Node] = {}
        self.racks: dict[str, dict[str, Node]] = {}
        self.hosts: dict[str, dict[str, Node]] = {}
        self.running: dict[ContainerId, bool] = {}
        self.ending: dict[ContainerId, str] = {}
        self.sizes: Counter[tuple[Resource, Resource]] = Counter()
        self._largest_node: Resource = types.none
        self.drains: dict[str, Drain] = {}
        self.overcommits: dict[str, int] = {}
        self.failing: dict[str, Failing] = {}
        self.safe_mode = False
        self.handlers = self.event_handlers()

    def derive(self) -> None:
        """Rebuild the derived values, which snapshots do not contain."""
        self.handlers = self.event_handlers()
        self.sizes = Counter((node.total, self.offered(node)) for node in self.nodes.values())
        self._largest_node = self._largest_offered()

    def largest_node(self) -> Resource:
        """The maximum of the nodes' totals, in each type separately. That of a drained node is the
        one afterwards."""
        return self._largest_node

    def largest_total(self) -> Resource:
        """The same with the totals that drained nodes have meanwhile."""
        return reduce(largest, (total for total, _ in self.sizes), self.none)

    def _count_size(self, node: Node, change: int) -> None:
        """Called with -1 before a node's size changes, and with 1 after it."""
        size = node.total, self.offered(node)
        self.sizes[size] += change
        if self.sizes[size]:
            self._largest_node = largest(self._largest_node, size[1])
        else:
            del self.sizes[size]
            self._largest_node = self._largest_offered()

    def _largest_offered(self) -> Resource:
        return reduce(largest, (offered for _, offered in self.sizes), self.none)

    def node_on(self, host: str) -> Node | None:
        """A node of a host, which may have several; None: no node is there."""
        node = self.nodes.get(host)
        if node is not None and node.host == host:
            return node
        return next(iter(self.hosts.get(host, {}).values()), None)

    def offered(self, node: Node) -> Resource:
        """A node's total, or, while it is drained, its total afterwards."""
        drain = self.drains.get(node.name)
        return node.total if drain is None else drain.total

    def waits_for_node(self, name: str) -> bool:
        """Whether a node could not start containers lately, and gets none now."""
        known = self.failing.get(name) if self.failing else None
        return known is not None and known.until_ms is not None

    @property
    def counts_memory_alone(self) -> bool:
        """Whether containers are placed by memory alone: other types may be exceeded at any
        time. Not by default."""
        return False

    def lacks(self, room: Resource) -> bool:
        """Whether a vector is negative in some type that counts."""
        return room[0] < 0 if self.counts_memory_alone else any(amount < 0 for amount in room)

    def event_handlers(self) -> Handlers:
        """The handlers of events, by type. Derived classes add their own."""
        return {
            NodeAdded: self._node_added,
            NodeRemoved: self._node_removed,
            NodeTotalChanged: self._node_total_changed,
            RoomFreed: self._room_freed,
            NodeDrained: self._node_drained,
            NodeUndrained: self._node_undrained,
            NodeOvercommitted: self._node_overcommitted,
            SafeModeChanged: self._safe_mode_changed,
            NodeFailing: self._node_failing,
            NodeTried: self._node_tried,
            NodeRecovered: self._node_recovered,
        }

    def _node_added(self, now_ms: int, event: NodeAdded) -> None:
        node = Node(event.node, event.rack, event.total, event.attributes, event.host)
        self.nodes[event.node] = node
        self.racks.setdefault(event.rack, {})[event.node] = node
        if node.host != node.name:
            self.hosts.setdefault(node.host, {})[node.name] = node
        self.total = add(self.total, event.total)
        self._count_size(node, 1)

    def _node_removed(self, now_ms: int, event: NodeRemoved) -> None:
        node = self.nodes.pop(event.node)
        self._count_size(node, -1)
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

    def _node_total_changed(self, now_ms: int, event: NodeTotalChanged) -> None:
        node = self.nodes[event.node]
        self.total = add(subtract(self.total, node.total), event.total)
        self._count_size(node, -1)
        node.resize(event.total)
        self._count_size(node, 1)

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

    def _nothing_changes(self, now_ms: int, event: object) -> None:
        """For events that only inform readers, and do not change the state."""

    def _node_drained(self, now_ms: int, event: NodeDrained) -> None:
        before = self.drains.get(event.node)
        since_ms = now_ms if before is None else before.since_ms
        node = self.nodes[event.node]
        self._count_size(node, -1)
        self.drains[event.node] = Drain(event.total, since_ms, event.deadline_ms)
        self._count_size(node, 1)

    def _node_undrained(self, now_ms: int, event: NodeUndrained) -> None:
        node = self.nodes.get(event.node)
        if node is not None:
            self._count_size(node, -1)
        del self.drains[event.node]
        if node is not None:
            self._count_size(node, 1)

    def _node_failing(self, now_ms: int, event: NodeFailing) -> None:
        self.failing[event.node] = Failing(event.failures, event.until_ms, event.reason)

    def _node_tried(self, now_ms: int, event: NodeTried) -> None:
        known = self.failing[event.node]
        self.failing[event.node] = msgspec.structs.replace(known, until_ms=None)

    def _node_recovered(self, now_ms: int, event: NodeRecovered) -> None:
        del self.failing[event.node]

    def _node_overcommitted(self, now_ms: int, event: NodeOvercommitted) -> None:
        self.overcommits.pop(event.node, None)
        if event.deadline_ms is not None:
            self.overcommits[event.node] = event.deadline_ms

    def _safe_mode_changed(self, now_ms: int, event: SafeModeChanged) -> None:
        self.safe_mode = event.on
