"""Owns the cached JSON of registered nodes: written when a node has changed.

The time of a node's last heartbeat fills a gap between two cached pieces.
"""

from collections.abc import Callable, Collection

from fairshare.families.yarn.documents import Document
from fairshare.model.nodes import Node
from fairshare.projections.node_history import InactiveNode, Utilization
from fairshare.server.list_rows import NodeLines
from fairshare.server.row_cache import cut
from fairshare.server.slices import rows_of_one_instant, sliced
from fairshare.web.yarn.gateway import Gateway
from fairshare.web.yarn.rendering import encoder

_UNMEASURED = Utilization()


def state_of(gateway: Gateway, node: Node) -> str:
    """YARN's word for the state of a registered node."""
    return "DECOMMISSIONING" if node.name in gateway.node_history.draining else "RUNNING"


class NodeCache(NodeLines[tuple[bytes, ...]]):
    """The documents of one server's nodes: `present` makes that of a registered node, `gone` that
    of any other."""

    def __init__(
        self,
        gateway: Gateway,
        present: Callable[[Gateway, Node], Document],
        gone: Callable[[Gateway, InactiveNode], Document],
    ) -> None:
        super().__init__(gateway.scheduler.state)
        self._gateway = gateway
        self._present = present
        self._gone = gone

    async def written(self, states: Collection[str] | None) -> list[bytes]:
        """The JSON of each node in these states (None: in all), all of one instant: as they
        joined, and then those that are gone."""
        gateway = self._gateway
        nodes, rows = await rows_of_one_instant(
            self,
            lambda: (
                node
                for node in self.things().values()
                if states is None or state_of(gateway, node) in states
            ),
        )
        heard = [gateway.last_beat_ms(node.name) for node in nodes]
        gone = [
            encoder.encode(self._gone(gateway, node))
            for node in gateway.node_history.inactive.values()
            if states is None or node.state in states
        ]
        present = [
            b"%s%d%s" % (before, heard_ms, after)
            async for (before, after), heard_ms in sliced(zip(rows, heard, strict=True))
        ]
        return present + gone

    def fingerprint(self, item: Node) -> tuple[object, ...]:
        """The same, and what only YARN's document has."""
        gateway, book = self._gateway, self._gateway.node_history
        return (
            *super().fingerprint(item),
            item.name in book.draining,
            book.utilization.get(item.name, _UNMEASURED),
            gateway.yarn.node_label(self._state, item),
        )

    def make(self, item: Node) -> tuple[bytes, ...]:
        """The two pieces of a node's document."""
        content = encoder.encode(self._present(self._gateway, item))
        return cut(content, (b',"lastHealthUpdate":', b","))
