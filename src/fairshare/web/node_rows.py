"""Owns the rows of nodes: what the list shows of each, cached as bytes until it changes."""

from fairshare.api.nodes import Node as NamedNode
from fairshare.api.nodes import Nodes
from fairshare.model.nodes import Node
from fairshare.server.list_rows import NodeLines
from fairshare.server.server import LiveServer
from fairshare.server.slices import rows_of_one_instant
from fairshare.server.views import node_view
from fairshare.web.answers import encoded, filled


class NodeRows(NodeLines[bytes]):
    """The rows of one server's nodes."""

    def __init__(self, server: LiveServer) -> None:
        super().__init__(server.service.state)
        self._server = server

    async def listed(self) -> bytes:
        """The answer with all nodes, of one instant."""
        _, rows = await rows_of_one_instant(self, self.things().values)
        gone = encoded(taken_out(self._server))
        return b'{"nodes":[' + b",".join(rows) + b'],"decommissioned":' + gone + b"}"

    def fingerprint(self, item: Node) -> tuple[object, ...]:
        """The same, and the use of its GPUs."""
        return *super().fingerprint(item), self._server.gpus_of(item)

    def make(self, item: Node) -> bytes:
        """The JSON of a node."""
        state = self._server.service.state
        gpus = self._server.gpus_of(item)
        return encoded(filled(NamedNode, node_view(state, item), state.types, gpus=gpus))


def node_rows(server: LiveServer) -> Nodes:
    """The nodes and the decommissioned ones."""
    state = server.service.state
    nodes = tuple(
        filled(NamedNode, view, state.types, gpus=server.gpus_of(state.nodes[view.name]))
        for view in server.service.views.nodes
    )
    return Nodes(nodes, taken_out(server))


def taken_out(server: LiveServer) -> tuple[str, ...]:
    """The names of nodes that administrators have decommissioned, and that are gone."""
    state = server.service.state
    return tuple(
        name
        for name, drain in state.drains.items()
        if drain.deadline_ms is not None and name not in state.nodes
    )
