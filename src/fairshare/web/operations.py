"""Owns the paths by which administrators operate the cluster: draining nodes, and the safe mode."""

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response

from fairshare.api.cluster import SafeMode, SafeModeBody
from fairshare.api.nodes import DecommissionBody, Nodes, NodesBody
from fairshare.api.values import ActorBody
from fairshare.engines.protocol import NodeOffer
from fairshare.model.inputs import (
    DecommissionNode,
    DrainNode,
    Input,
    NodeJoined,
    SetSafeMode,
    UndrainNode,
)
from fairshare.server.server import LiveServer
from fairshare.web.actors import Actor, believed_administrator, groups_of
from fairshare.web.answers import answer
from fairshare.web.node_rows import node_rows
from fairshare.web.openapi.operation import get, post
from fairshare.web.requests import read_body, read_parameters, server_of


async def drain_nodes(request: Request) -> Response:
    """POST /admin/nodes/drain: the nodes take no new containers; running containers go on."""
    body = await read_body(request, NodesBody)
    actor = await _actor(request, body)
    return await _order(request, [DrainNode(node, *actor) for node in body.nodes])


async def decommission_nodes(request: Request) -> Response:
    """POST /admin/nodes/decommission: drains the nodes, which leave when they are empty or after
    `timeout_ms`; containers still running then are killed, and their tasks wait again."""
    body = await read_body(request, DecommissionBody)
    user, groups = await _actor(request, body)
    orders = [DecommissionNode(node, body.timeout_ms, user, groups) for node in body.nodes]
    return await _order(request, orders)


async def undrain_nodes(request: Request) -> Response:
    """POST /admin/nodes/undrain: the nodes take containers again; those that have left come
    back."""
    body = await read_body(request, NodesBody)
    actor = await _actor(request, body)
    server = server_of(request)
    gone = [node for node in body.nodes if node not in server.service.state.nodes]
    response = await _order(request, [UndrainNode(node, *actor) for node in body.nodes])
    if not gone:
        return response
    for offer in server.engine.nodes():
        if offer.node in gone:
            await server.service.ask(_joined(server, offer))
    return answer(node_rows(server))


async def show_safe_mode(request: Request) -> Response:
    """GET /admin/safe-mode."""
    read_parameters(request)
    return answer(SafeMode(server_of(request).service.state.safe_mode))


async def set_safe_mode(request: Request) -> Response:
    """POST /admin/safe-mode: stops or resumes admissions and grants."""
    body = await read_body(request, SafeModeBody)
    server = server_of(request)
    await server.service.ask(SetSafeMode(body.on, *await _actor(request, body)))
    return answer(SafeMode(server.service.state.safe_mode))


async def _order(request: Request, orders: Sequence[Input]) -> Response:
    """Carry out all orders, or none if one names an unknown node."""
    server = server_of(request)
    state = server.service.state
    for order in orders:
        name = getattr(order, "node", "")
        if name not in state.nodes and not (
            isinstance(order, UndrainNode) and name in state.drains
        ):
            await server.service.ask(order)  # refused, with the core's message
    for order in orders:
        await server.service.ask(order)
    return answer(node_rows(server))


def _joined(server: LiveServer, offer: NodeOffer) -> NodeJoined:
    total = tuple(offer.resources.get(one, 0) for one in server.service.state.types.names)
    return NodeJoined(offer.node, total, offer.rack, offer.attributes)


async def _actor(request: Request, body: ActorBody) -> Actor:
    server = server_of(request)
    user = believed_administrator(request, body.user)
    return user, await groups_of(server, user) if server.controls_access else ()


ROUTES = [
    post("/admin/nodes/drain", drain_nodes, "nodes", NodesBody, Nodes),
    post("/admin/nodes/decommission", decommission_nodes, "nodes", DecommissionBody, Nodes),
    post("/admin/nodes/undrain", undrain_nodes, "nodes", NodesBody, Nodes),
    get("/admin/safe-mode", show_safe_mode, "administration", SafeMode),
    post("/admin/safe-mode", set_safe_mode, "administration", SafeModeBody, SafeMode),
]
