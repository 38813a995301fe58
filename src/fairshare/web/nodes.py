"""Owns the path of the nodes."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fairshare.web.answers import answer, named
from fairshare.web.requests import read_parameters, server_of


async def list_nodes(request: Request) -> Response:
    """GET /nodes: in the order in which they joined."""
    read_parameters(request)
    service = server_of(request).service
    types = service.state.types
    return answer({"nodes": [named(view, types) for view in service.views.nodes]})


ROUTES = [Route("/nodes", list_nodes)]
