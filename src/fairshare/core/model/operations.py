"""Owns the operational state that administrators control: drained nodes, overcommitted nodes and
the safe mode; and beside it the nodes that cannot start containers.

A part of the state; decides nothing. The manager checks permissions and handles consequences.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from fairshare.core.model.events import (
    NodeDrained,
    NodeFailing,
    NodeOvercommitted,
    NodeRecovered,
    NodeTried,
    NodeUndrained,
    SafeModeChanged,
)
from fairshare.core.model.nodes import Node
from fairshare.core.model.resources import Resource

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


class Operations:
    """The operational state, and the health of nodes as far as their containers show it.

    `drains` has nodes by name, including absent ones: a node that left with a deadline is
    decommissioned, and cannot join by itself. `overcommits` has the deadlines, in milliseconds, of
    overcommitted nodes; a node without a time limit has no entry. `failing` has the present nodes
    that could not start containers.
    """

    def __init__(self) -> None:
        self.drains: dict[str, Drain] = {}
        self.overcommits: dict[str, int] = {}
        self.failing: dict[str, Failing] = {}
        self.safe_mode = False
        self.handlers = self.event_handlers()

    def derive(self) -> None:
        """Rebuild the derived values, which snapshots do not contain."""
        self.handlers = self.event_handlers()

    def offered(self, node: Node) -> Resource:
        """A node's total, or, while it is drained, its total afterwards."""
        drain = self.drains.get(node.name)
        return node.total if drain is None else drain.total

    def is_overcommitted(self, node: Node) -> bool:
        """Whether a node's containers use more than its total, in the types that count."""
        return self.lacks(node.available)

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
            NodeDrained: self._node_drained,
            NodeUndrained: self._node_undrained,
            NodeOvercommitted: self._node_overcommitted,
            SafeModeChanged: self._safe_mode_changed,
            NodeFailing: self._node_failing,
            NodeTried: self._node_tried,
            NodeRecovered: self._node_recovered,
        }

    def _nothing_changes(self, now_ms: int, event: object) -> None:
        """For events that only inform readers, and do not change the state."""

    def _node_drained(self, now_ms: int, event: NodeDrained) -> None:
        before = self.drains.get(event.node)
        since_ms = now_ms if before is None else before.since_ms
        self.drains[event.node] = Drain(event.total, since_ms, event.deadline_ms)

    def _node_undrained(self, now_ms: int, event: NodeUndrained) -> None:
        del self.drains[event.node]

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
