"""Owns when drained nodes beat, to offer no more than they use, and when those of them that are
decommissioned leave: when they are empty, or their time is over.

Lets none of them beat or go itself.
"""

from collections.abc import Iterator

from fairshare.model.inputs import NodeBeat, NodeLost
from fairshare.schedulers.protocol import State

LEFT_EMPTY = "decommissioned: it was empty"
LEFT_LATE = "decommissioned: its time was over"


class Drains:
    """The drained nodes of a state. There are few, and the state lists them."""

    def __init__(self, state: State) -> None:
        self._state = state

    def next_ms(self) -> int | None:
        """When the next node must leave at the latest; None if none has to."""
        return min((deadline_ms for _, deadline_ms in self._leaving()), default=None)

    def take(self, now_ms: int) -> list[NodeLost]:
        """Those that leave now, in the order of their decommissioning."""
        due: list[NodeLost] = []
        for name, deadline_ms in self._leaving():
            if not self._state.nodes[name].occupants:
                due.append(NodeLost(name, "DECOMMISSIONED", LEFT_EMPTY))
            elif deadline_ms <= now_ms:
                due.append(NodeLost(name, "DECOMMISSIONED", LEFT_LATE))
        return due

    def beats(self) -> list[NodeBeat]:
        """The beats of those that offer something else than what they use."""
        nodes = self._state.nodes
        drained = (nodes[name] for name in self._state.drains if name in nodes)
        return [NodeBeat(node.name) for node in drained if node.total != node.used]

    def _leaving(self) -> Iterator[tuple[str, int]]:
        for name, drain in self._state.drains.items():
            if drain.deadline_ms is not None and name in self._state.nodes:
                yield name, drain.deadline_ms
