"""The paths of the nodes: their list and their map, one node with its containers, both now and at a
past moment, and their partitions (node labels).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType
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
    NodesPage,
    RemoveLabelsBody,
)
from fairshare.api.nodes import Node as NamedNode
from fairshare.api.pages import NodeMap
from fairshare.core.model.identifiers import application_name, application_of, container_name
from fairshare.core.model.inputs import AddLabels, LabelNodes, RemoveLabels
from fairshare.errors import InputError
from fairshare.server.server import LiveServer
from fairshare.server.views import node_row
from fairshare.server.web.actors import administrator_of
from fairshare.server.web.answers import answer, listed
from fairshare.server.web.listings import PART, instant_of, listings_of, part_of, sort_of, text_of
from fairshare.server.web.openapi.operation import AT, Parameter, get, serve
from fairshare.server.web.requests import read_body, read_parameters, server_of

COLUMNS = ("name", "rack", "state", "containers")
"""The columns by which a list may be sorted, beside the resource types."""

ONLY: Final = Parameter("only", "reserved, draining, or =LABEL.")


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
    decommissioned.

    `only` is `reserved`, `draining` (or leaving), or `=LABEL`; `search` a part of name, rack, label
    or an attribute; `sort` a column or a resource type; `order` and `at` as in GET /applications.
    """
    parameters = read_parameters(request)
    at_ms, part = instant_of(request, parameters), part_of(parameters)
    server = server_of(request)
    types = server.service.state.types.names
    column, down = sort_of(parameters, (*COLUMNS, *types))
    listings = listings_of(request)
    rows = await listings.nodes(at_ms)
    names = list(rows)
    if column:
        about = ("nodes", column, down, at_ms)
        value = _value_of(column, types)
        names = listings.order(text_of(parameters, "order"), about, rows, value, down=down)
    matching, counts, labels = _matching([rows[name] for name in names], parameters)
    page: NodesPage | UnsetType = UNSET
    if "offset" in parameters:
        page = NodesPage(
            at_ms=at_ms,
            known=len(rows),
            matching=len(matching),
            counts=counts,
            labels=labels,
            used={name: sum(row.used[name] for row in matching) for name in types},
            total={name: sum(row.total[name] for row in matching) for name in types},
            containers=sum(row.containers for row in matching),
            idle=sum(1 for row in matching if not row.containers),
            offset=part.start,
        )
    shown = matching[part]
    content = await listed(
        "nodes",
        [with_gpus(server, row) for row in shown] if at_ms is None else shown,
        decommissioned=taken_out(server) if at_ms is None else (),
        page=page,
    )
    return Response(content, media_type="application/json")


def _matching(
    rows: Iterable[NamedNode], parameters: Mapping[str, str]
) -> tuple[list[NamedNode], dict[str, int], dict[str, int]]:
    """The requested rows, how many have a mark, and how many have each label."""
    only, low = text_of(parameters, "only"), text_of(parameters, "search").casefold()
    if only not in ("", "reserved", "draining") and not only.startswith("="):
        raise InputError("bad-request", f"only={only}: reserved, draining or =LABEL is needed")
    counts = {"reserved": 0, "draining": 0}
    labels: Counter[str] = Counter()
    matching = []
    for node in rows:
        reserved, draining = node.reserved_for is not None, node.state != "RUNNING"
        counts["reserved"] += reserved
        counts["draining"] += draining
        if node.label:
            labels[node.label] += 1
        marked = {"": True, "reserved": reserved, "draining": draining}.get(
            only, node.label == only[1:]
        )
        words = " ".join((node.name, node.rack, node.label, *node.attributes.values()))
        if marked and (not low or low in words.casefold()):
            matching.append(node)
    return matching, counts, dict(sorted(labels.items()))


def _value_of(column: str, types: tuple[str, ...]) -> Callable[[NamedNode], Any]:
    if column in types:
        return lambda node: node.used[column] / node.total[column] if node.total[column] else 0.0
    match column:
        case "rack":
            return lambda node: node.rack
        case "state":
            return lambda node: (node.state, node.label, node.reserved_for or "")
        case "containers":
            return lambda node: node.containers
        case _:
            return lambda node: node.name


async def draw_map(request: Request) -> Response:
    """GET /pages/node-map: all nodes that match, by rack and name, in columns.

    `by` is a resource type, of which `totals` and `used` are. `marks`: 1 for a reservation, 2 for a
    node that is drained or leaves, 3 for both.
    """
    parameters = read_parameters(request)
    at_ms = instant_of(request, parameters)
    types = server_of(request).service.state.types
    by = parameters.get("by", types.names[0])
    if by not in types.names:
        raise InputError("bad-request", f"by={by}: the types are {', '.join(types.names)}")
    rows = await listings_of(request).nodes(at_ms)
    matching, _, _ = _matching(rows.values(), parameters)
    matching.sort(key=lambda node: (node.rack, node.name))
    return answer(
        NodeMap(
            at_ms=at_ms,
            by=by,
            names=[node.name for node in matching],
            racks=[node.rack for node in matching],
            totals=[node.total[by] for node in matching],
            used=[node.used[by] for node in matching],
            containers=[node.containers for node in matching],
            marks=[
                (node.reserved_for is not None) + 2 * (node.state != "RUNNING") for node in matching
            ],
        )
    )


async def show_node(request: Request) -> Response:
    """GET /nodes/NAME: the node, the time it registered, its containers in the order of their
    allocation. 404 for an unknown node.

    `at`: the node at a past moment. 404 if it did not exist, or is no longer remembered.
    """
    at_ms = instant_of(request, read_parameters(request))
    if at_ms is not None:
        return answer(_past_node(request, at_ms))
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


def _past_node(request: Request, at_ms: int) -> NodeDetails:
    """The node that the path names at a past moment, and its containers."""
    server = server_of(request)
    state, name = server.service.state, request.path_params["node"]
    row = server.past_views.nodes.one(name, at_ms)
    if row is None:
        raise unknown_node(name, "at that moment, or it is not remembered any more")
    running = []
    for record in server.projections.history.on_node(name, at_ms):
        number = application_of(record.container)
        owner = server.past_views.applications.one(number, at_ms)
        running.append(
            NodeContainer(
                id=container_name(state.epoch_ms, record.container),
                application=application_name(state.epoch_ms, number),
                name=owner.name if owner else "",
                user=owner.user if owner else "",
                queue=owner.queue if owner else "",
                resources=state.types.mapping(record.resource),
                master=record.master,
                allocated_ms=record.allocated_ms,
                marked=False,
                gpus=record.gpus,
            )
        )
    return NodeDetails(
        **msgspec.structs.asdict(row),
        running=tuple(running),
        at_ms=at_ms,
        forgotten=max(0, row.containers - len(running)),
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
    serve(routes.LIST_NODES, list_nodes, "nodes", ONLY, *PART),
    get("/nodes/{node}", show_node, "nodes", NodeDetails, AT),
    get(
        "/pages/node-map",
        draw_map,
        "pages",
        NodeMap,
        ONLY,
        Parameter("search", "A part of name, rack, label or an attribute."),
        Parameter("by", "A resource type."),
        AT,
    ),
    serve(routes.LIST_LABELS, list_labels, "nodes"),
    serve(routes.ADD_LABELS, add_labels, "nodes"),
    serve(routes.REMOVE_LABELS, remove_labels, "nodes"),
    serve(routes.LABEL_NODES, label_nodes, "nodes"),
]
