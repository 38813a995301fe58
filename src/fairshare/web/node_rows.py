"""Owns the rows of nodes: what the list shows of each, cached as bytes until it changes."""

from typing import Any

import msgspec

from fairshare.api.nodes import Node as NamedNode
from fairshare.api.nodes import Nodes
from fairshare.model.nodes import Node
from fairshare.server.server import LiveServer
from fairshare.server.views import node_view
from fairshare.web.answers import encoded, filled
from fairshare.web.slices import brought_up_to_date


class KeptRow(msgspec.Struct, frozen=True):
    """A row, and all values that it was made of."""

    made_of: tuple[Any, ...]
    content: bytes


class NodeRows:
    """The rows of one server's nodes."""

    def __init__(self, server: LiveServer) -> None:
        self._server = server
        self._kept: dict[str, KeptRow] = {}

    async def listed(self) -> bytes:
        """The answer with all nodes, of one instant."""
        nodes = self._server.service.state.nodes
        if len(self._kept) > 2 * len(nodes):
            self._kept = {name: kept for name, kept in self._kept.items() if name in nodes}
        await brought_up_to_date(
            nodes.values, lambda node: not self._fresh(node), self._write, len(nodes)
        )
        rows = [(self._fresh(node) or self._write(node)).content for node in nodes.values()]
        gone = encoded(taken_out(self._server))
        return b'{"nodes":[' + b",".join(rows) + b'],"decommissioned":' + gone + b"}"

    def _fresh(self, node: Node) -> KeptRow | None:
        kept = self._kept.get(node.name)
        return kept if kept is not None and kept.made_of == self._made_of(node) else None

    def _write(self, node: Node) -> KeptRow:
        state = self._server.service.state
        gpus = self._server.gpus_of(node)
        content = encoded(filled(NamedNode, node_view(state, node), state.types, gpus=gpus))
        kept = self._kept[node.name] = KeptRow(self._made_of(node), content)
        return kept

    def _made_of(self, node: Node) -> tuple[Any, ...]:
        state = self._server.service.state
        return (
            node.available,
            node.total,
            len(node.containers),
            node.reservation,
            node.rack,
            node.attributes,
            state.drains.get(node.name),
            state.label_of(node),
            self._server.gpus_of(node),
        )


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
