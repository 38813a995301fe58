"""Owns the paths of partitions (node labels): the list of them, and the orders to change them."""

from starlette.requests import Request
from starlette.responses import Response

from fairshare.api.nodes import AddLabelsBody, Label, LabelNodesBody, Labels, RemoveLabelsBody
from fairshare.api.values import ActorBody
from fairshare.model.inputs import AddLabels, LabelNodes, RemoveLabels
from fairshare.schedulers.protocol import Partitioned
from fairshare.server.server import LiveServer
from fairshare.web.actors import Actor, believed_administrator, groups_of
from fairshare.web.answers import answer
from fairshare.web.openapi.operation import get, post
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
        return answer(Labels([]))
    nodes: dict[str, list[str]] = {}
    for node in state.nodes.values():
        nodes.setdefault(state.label_of(node), []).append(node.name)
    labels = [
        Label(name, exclusive, tuple(nodes.get(name, ())))
        for name, exclusive in scheduler.labels().items()
    ]
    return answer(Labels(labels))


ROUTES = [
    get("/labels", list_labels, "nodes", Labels),
    post("/admin/labels/add", add_labels, "nodes", AddLabelsBody, Labels),
    post("/admin/labels/remove", remove_labels, "nodes", RemoveLabelsBody, Labels),
    post("/admin/labels/assign", label_nodes, "nodes", LabelNodesBody, Labels),
]
