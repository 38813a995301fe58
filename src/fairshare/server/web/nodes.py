"""The paths of the nodes: their list, one node with its containers, and their partitions (node
labels).
"""

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from fairshare.api import routes
from fairshare.api.nodes import (
    AddLabelsBody,
    Label,
    LabelNodesBody,
    Labels,
    NodeContainer,
    NodeDetails,
    Nodes,
    RemoveLabelsBody,
)
from fairshare.api.nodes import Node as NamedNode
from fairshare.core.model.identifiers import application_name, container_name
from fairshare.core.model.inputs import AddLabels, LabelNodes, RemoveLabels
from fairshare.errors import InputError
from fairshare.server.server import LiveServer
from fairshare.server.views import node_row
from fairshare.server.web.actors import administrator_of
from fairshare.server.web.answers import answer, encoded, encoded_in_slices
from fairshare.server.web.openapi.operation import get, serve
from fairshare.server.web.requests import read_body, read_parameters, server_of


def node_rows(server: LiveServer) -> Nodes:
    """The nodes and the decommissioned ones."""
    nodes = tuple(with_gpus(server, row) for row in server.node_rows.all().values())
    return Nodes(nodes, taken_out(server))


def with_gpus(server: LiveServer, row: NamedNode) -> NamedNode:
    """The row of a registered node with what is measured of its GPUs."""
    gpus = server.gpus_of(server.service.state.nodes[row.name])
    return msgspec.structs.replace(row, gpus=gpus) if gpus else row


def taken_out(server: LiveServer) -> tuple[str, ...]:
    """The names of nodes that administrators have decommissioned, and that are gone."""
    state = server.service.state
    return tuple(
        name
        for name, drain in state.drains.items()
        if drain.deadline_ms is not None and name not in state.nodes
    )


async def list_nodes(request: Request) -> Response:
    """GET /nodes: in the order of registration, and the names of those that administrators have
    decommissioned."""
    read_parameters(request)
    server = server_of(request)
    rows = await server.node_rows.of_one_instant(lambda: server.service.state.nodes)
    gone = encoded(taken_out(server))
    nodes = await encoded_in_slices([with_gpus(server, row) for row in rows.values()])
    content = b'{"nodes":[' + nodes + b'],"decommissioned":' + gone + b"}"
    return Response(content, media_type="application/json")


async def show_node(request: Request) -> Response:
    """GET /nodes/NAME: the node, the time it registered, its containers in the order of their
    allocation. 404 for an unknown node."""
    read_parameters(request)
    server = server_of(request)
    state = server.service.state
    name = request.path_params["node"]
    if name not in state.nodes:
        gone = server.projections.nodes.inactive.get(name)
        raise unknown_node(name, "any more" if gone is None else f"any more: it is {gone.state}")
    history = server.projections.history
    containers = tuple(
        NodeContainer(
            id=container_name(state.epoch_ms, container),
            application=application_name(state.epoch_ms, grant.application),
            name=state.applications[grant.application].submission.name,
            user=state.applications[grant.application].user,
            queue=state.applications[grant.application].queue,
            resources=state.types.mapping(grant.resource),
            master=grant.master,
            allocated_ms=grant.allocated_ms,
            marked=container in state.nodes[name].marked,
            gpus=() if (record := history.container(container)) is None else record.gpus,
        )
        for container, grant in state.nodes[name].containers.items()
    )
    joined_ms = server.projections.nodes.joined_ms.get(name)
    row = with_gpus(server, node_row(state, state.nodes[name]))
    return answer(
        NodeDetails(**msgspec.structs.asdict(row), joined_ms=joined_ms, running=containers)
    )


def unknown_node(name: str, when: str) -> InputError:
    """The refusal for an unknown node; `when` ends the sentence."""
    return InputError("unknown-node", f"there is no node '{name}' {when}")


async def list_labels(request: Request) -> Response:
    """GET /labels: by name, with the nodes of each. Empty for a scheduler without partitions."""
    read_parameters(request)
    return _labels(server_of(request))


async def add_labels(request: Request) -> Response:
    """POST /admin/labels/add: existing partitions are skipped."""
    body = await read_body(request, AddLabelsBody)
    server = server_of(request)
    await server.service.ask(AddLabels(body.labels, *await administrator_of(request, body)))
    return _labels(server)


async def remove_labels(request: Request) -> Response:
    """POST /admin/labels/remove: 409 if some queue names one of them; then none is removed."""
    body = await read_body(request, RemoveLabelsBody)
    server = server_of(request)
    await server.service.ask(RemoveLabels(body.labels, *await administrator_of(request, body)))
    return _labels(server)


async def label_nodes(request: Request) -> Response:
    """POST /admin/labels/assign: an empty label puts a node into the default partition."""
    body = await read_body(request, LabelNodesBody)
    server = server_of(request)
    await server.service.ask(
        LabelNodes(body.nodes, body.known, *await administrator_of(request, body))
    )
    return _labels(server)


def _labels(server: LiveServer) -> Response:
    scheduler = server.scheduler
    state = server.service.state
    nodes: dict[str, list[str]] = {}
    for node in state.nodes.values():
        nodes.setdefault(state.label_of(node), []).append(node.name)
    labels = [
        Label(name, exclusive, tuple(nodes.get(name, ())))
        for name, exclusive in scheduler.labels().items()
    ]
    return answer(Labels(labels))


ROUTES = [
    serve(routes.LIST_NODES, list_nodes, "nodes"),
    get("/nodes/{node}", show_node, "nodes", NodeDetails),
    serve(routes.LIST_LABELS, list_labels, "nodes"),
    serve(routes.ADD_LABELS, add_labels, "nodes"),
    serve(routes.REMOVE_LABELS, remove_labels, "nodes"),
    serve(routes.LABEL_NODES, label_nodes, "nodes"),
]
