"""Owns how administrators run the cluster, as data: which nodes are drained, and the safe mode.

A part of the state. Decides nothing; who may change it, and what follows, the manager knows.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from fairshare.model.events import NodeDrained, NodeOvercommitted, NodeUndrained, SafeModeChanged
from fairshare.model.nodes import Node
from fairshare.model.resources import Resource

Handlers = dict[type, Callable[[int, Any], None]]
"""What applies an event of each kind, at an instant."""


class Drain(msgspec.Struct, frozen=True):
    """A node that takes no new containers.

    `total` is what it offers when it is not drained: from its next beat on it offers what its
    containers use, as a decommissioning node of Hadoop does. At `deadline_ms` it leaves the
    cluster, or as soon as it is empty; None: it stays.
    """

    total: Resource
    since_ms: int
    deadline_ms: int | None = None


class Operations:
    """What administrators have ordered.

    `drains` has a node by its name, also while it is not there: one that left with a deadline is
    decommissioned, and does not come back by itself. `overcommits` says of nodes that run more
    than they offer when that must be over, in milliseconds; those that may stay so are not in it.
    """

    def __init__(self) -> None:
        self.drains: dict[str, Drain] = {}
        self.overcommits: dict[str, int] = {}
        self.safe_mode = False
        self.handlers = self.event_handlers()

    def derive(self) -> None:
        """Make what follows from the rest, and is not in a snapshot."""
        self.handlers = self.event_handlers()

    def offered(self, node: Node) -> Resource:
        """What a node offers, or will offer again when it is no longer drained."""
        drain = self.drains.get(node.name)
        return node.total if drain is None else drain.total

    def is_overcommitted(self, node: Node) -> bool:
        """Whether more runs on a node than it offers, of the types that are looked at."""
        return self.lacks(node.available)

    def lacks(self, room: Resource) -> bool:
        """Whether this is less than nothing, of the types that are looked at."""
        return any(amount < 0 for amount in room)

    def event_handlers(self) -> Handlers:
        """The handlers of events, by kind. Derived classes add their own."""
        return {
            NodeDrained: self._node_drained,
            NodeUndrained: self._node_undrained,
            NodeOvercommitted: self._node_overcommitted,
            SafeModeChanged: self._safe_mode_changed,
        }

    def _nothing_changes(self, now_ms: int, event: object) -> None:
        """For events that are told to somebody, and leave the state as it is."""

    def _node_drained(self, now_ms: int, event: NodeDrained) -> None:
        before = self.drains.get(event.node)
        since_ms = now_ms if before is None else before.since_ms
        self.drains[event.node] = Drain(event.total, since_ms, event.deadline_ms)

    def _node_undrained(self, now_ms: int, event: NodeUndrained) -> None:
        del self.drains[event.node]

    def _node_overcommitted(self, now_ms: int, event: NodeOvercommitted) -> None:
        self.overcommits.pop(event.node, None)
        if event.deadline_ms is not None:
            self.overcommits[event.node] = event.deadline_ms

    def _safe_mode_changed(self, now_ms: int, event: SafeModeChanged) -> None:
        self.safe_mode = event.on
