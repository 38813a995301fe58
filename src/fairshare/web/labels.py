"""Owns the paths of partitions (node labels): the list of them, and the orders to change them."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fairshare.live.server import LiveServer
from fairshare.model.inputs import AddLabels, LabelNodes, RemoveLabels
from fairshare.schedulers.protocol import Partitioned
from fairshare.web.actors import Actor, believed_administrator, groups_of
from fairshare.web.answers import answer
from fairshare.web.bodies import ActorBody, AddLabelsBody, LabelNodesBody, RemoveLabelsBody
from fairshare.web.requests import read_body, read_parameters, server_of


async def list_labels(request: Request) -> Response:
    """GET /labels: by name, with the nodes of each. Empty for a scheduler without partitions."""
    read_parameters(request)
    return _labels(server_of(request))


async def add_labels(request: Request) -> Response:
    """POST /admin/labels/add: existing partitions are skipped."""
    body = await read_body(request, AddLabelsBody)
    server = server_of(request)
    await server.service.ask(AddLabels(body.labels, *await _actor(request, body)))
    return _labels(server)


async def remove_labels(request: Request) -> Response:
    """POST /admin/labels/remove: 409 if some queue names one of them; then none is removed."""
    body = await read_body(request, RemoveLabelsBody)
    server = server_of(request)
    await server.service.ask(RemoveLabels(body.labels, *await _actor(request, body)))
    return _labels(server)


async def label_nodes(request: Request) -> Response:
    """POST /admin/labels/assign: an empty label puts a node into the default partition."""
    body = await read_body(request, LabelNodesBody)
    server = server_of(request)
    await server.service.ask(LabelNodes(body.nodes, body.known, *await _actor(request, body)))
    return _labels(server)


async def _actor(request: Request, body: ActorBody) -> Actor:
    server = server_of(request)
    user = believed_administrator(request, body.user)
    return user, await groups_of(server, user) if server.controls_access else ()


def _labels(server: LiveServer) -> Response:
    scheduler = server.scheduler
    state = server.service.state
    if not isinstance(scheduler, Partitioned):
        return answer({"labels": []})
    nodes: dict[str, list[str]] = {}
    for node in state.nodes.values():
        nodes.setdefault(state.label_of(node), []).append(node.name)
    labels = [
        {"name": name, "exclusive": exclusive, "nodes": nodes.get(name, [])}
        for name, exclusive in scheduler.labels().items()
    ]
    return answer({"labels": labels})


ROUTES = [
    Route("/labels", list_labels),
    Route("/admin/labels/add", add_labels, methods=["POST"]),
    Route("/admin/labels/remove", remove_labels, methods=["POST"]),
    Route("/admin/labels/assign", label_nodes, methods=["POST"]),
]
