"""Owns the path of the nodes."""

from starlette.requests import Request
from starlette.responses import Response

from fairshare.api.nodes import Nodes
from fairshare.web.node_rows import NodeRows
from fairshare.web.openapi.operation import get
from fairshare.web.requests import read_parameters


async def list_nodes(request: Request) -> Response:
    """GET /nodes: in the order of registration, and the names of those that administrators have
    decommissioned."""
    read_parameters(request)
    rows: NodeRows = request.app.state.node_rows
    return Response(await rows.listed(), media_type="application/json")


ROUTES = [get("/nodes", list_nodes, "nodes", Nodes)]
