"""Owns the path of the nodes."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fairshare.live.server import LiveServer
from fairshare.web.answers import answer, named
from fairshare.web.requests import read_parameters, server_of


async def list_nodes(request: Request) -> Response:
    """GET /nodes: in the order in which they joined, and the names of those that administrators
    have taken out."""
    read_parameters(request)
    return answer(node_rows(server_of(request)))


def node_rows(server: LiveServer) -> dict[str, Any]:
    """The answer of this path."""
    state = server.service.state
    return {
        "nodes": [named(view, state.types) for view in server.service.views.nodes],
        "decommissioned": [
            name
            for name, drain in state.drains.items()
            if drain.deadline_ms is not None and name not in state.nodes
        ],
    }


ROUTES = [Route("/nodes", list_nodes)]
