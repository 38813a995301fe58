"""Owns the cached JSON of registered nodes: written when a node has changed.

The time of a node's last heartbeat fills a gap between two cached pieces.
"""

from collections.abc import Callable, Collection
from typing import Any

import msgspec

from fairshare.families.yarn.documents import Document
from fairshare.model.nodes import Node
from fairshare.projections.node_history import InactiveNode, Utilization
from fairshare.web.slices import brought_up_to_date, sliced
from fairshare.web.yarn.gateway import Gateway
from fairshare.web.yarn.rendering import encoder

_HEARD = b',"lastHealthUpdate":'
_UNMEASURED = Utilization()


class CachedNode(msgspec.Struct, frozen=True):
    """The two pieces, and all values that they were made of."""

    made_of: tuple[Any, ...]
    before: bytes
    after: bytes


def state_of(gateway: Gateway, node: Node) -> str:
    """YARN's word for the state of a registered node."""
    return "DECOMMISSIONING" if node.name in gateway.node_history.draining else "RUNNING"


class NodeCache:
    """The documents of one server's nodes: `present` makes that of a registered node, `gone` that
    of any other."""

    def __init__(
        self,
        gateway: Gateway,
        present: Callable[[Gateway, Node], Document],
        gone: Callable[[Gateway, InactiveNode], Document],
    ) -> None:
        self._gateway = gateway
        self._present = present
        self._gone = gone
        self._kept: dict[str, CachedNode] = {}

    async def written(self, states: Collection[str] | None) -> list[bytes]:
        """The JSON of each node in these states (None: in all), all of one instant: as they
        joined, and then those that are gone."""
        nodes = self._gateway.scheduler.state.nodes
        if len(self._kept) > 2 * len(nodes):
            self._kept = {name: kept for name, kept in self._kept.items() if name in nodes}

        def wanted(node: Node) -> bool:
            return states is None or state_of(self._gateway, node) in states

        await brought_up_to_date(
            lambda: filter(wanted, nodes.values()),
            lambda node: not self._fresh(node),
            self._write,
            len(nodes),
        )
        found = [
            (self._fresh(node) or self._write(node), self._gateway.last_beat_ms(node.name))
            for node in nodes.values()
            if wanted(node)
        ]
        gone = [
            encoder.encode(self._gone(self._gateway, node))
            for node in self._gateway.node_history.inactive.values()
            if states is None or node.state in states
        ]
        present = [
            b"%s%s%d%s" % (kept.before, _HEARD, heard_ms, kept.after)
            async for kept, heard_ms in sliced(found)
        ]
        return present + gone

    def _fresh(self, node: Node) -> CachedNode | None:
        kept = self._kept.get(node.name)
        return kept if kept is not None and kept.made_of == self._made_of(node) else None

    def _write(self, node: Node) -> CachedNode:
        content = encoder.encode(self._present(self._gateway, node))
        begin = content.index(_HEARD)
        end = content.index(b",", begin + len(_HEARD))
        made_of = self._made_of(node)
        kept = self._kept[node.name] = CachedNode(made_of, content[:begin], content[end:])
        return kept

    def _made_of(self, node: Node) -> tuple[Any, ...]:
        state, book = self._gateway.scheduler.state, self._gateway.node_history
        return (
            node.available,
            node.total,
            node.occupants,
            node.rack,
            node.name in book.draining,
            book.utilization.get(node.name, _UNMEASURED),
            self._gateway.yarn.node_label(state, node),
        )
