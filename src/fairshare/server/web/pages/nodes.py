"""The paths by which the pages list and map nodes, now and at a past moment."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from fairshare.api.nodes import Node, NodeContainer
from fairshare.api.pages import NodeLines, NodeMap
from fairshare.core.model.identifiers import application_name, application_of, container_name
from fairshare.errors import InputError
from fairshare.server.web.answers import answer
from fairshare.server.web.nodes import taken_out, unknown_node
from fairshare.server.web.openapi.operation import AT, Parameter, get
from fairshare.server.web.pages.listings import (
    PART,
    instant_of,
    listings_of,
    part_of,
    sort_of,
    text_of,
)
from fairshare.server.web.requests import read_parameters, server_of

COLUMNS = ("name", "rack", "state", "containers")
"""The columns by which a list may be sorted, beside the resource types."""


async def list_node_lines(request: Request) -> Response:
    """GET /pages/nodes: in the order of registration, a screenful at a time.

    `only` is `reserved`, `draining` (or leaving), or `=LABEL`; `search` a part of name, rack, label
    or an attribute; `sort` a column or a resource type; `order` and `at` as in
    GET /pages/applications. `used`, `total`, `containers` and `idle` are sums over all that match.
    """
    parameters = read_parameters(request)
    at_ms = instant_of(request, parameters)
    server = server_of(request)
    types = server.service.state.types
    column, down = sort_of(parameters, (*COLUMNS, *types.names))
    lists = listings_of(request)
    lines = await lists.nodes(at_ms)
    keys = list(lines)
    if column:
        about = ("nodes", column, down, at_ms)
        value = _value_of(column, types.names)
        keys = lists.order(text_of(parameters, "order"), about, lines, value, down=down)
    matching, counts, labels = _matching(lines, keys, parameters)
    offset, shown = part_of(parameters, [line.name for line in matching])
    rows = [lines[name] for name in shown]
    return answer(
        NodeLines(
            at_ms=at_ms,
            known=len(lines),
            matching=len(matching),
            counts=counts,
            labels=labels,
            used={name: sum(one.used[name] for one in matching) for name in types.names},
            total={name: sum(one.total[name] for one in matching) for name in types.names},
            containers=sum(one.containers for one in matching),
            idle=sum(1 for one in matching if not one.containers),
            decommissioned=taken_out(server) if at_ms is None else None,
            offset=offset,
            rows=tuple(rows),
        )
    )


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
    lines = await listings_of(request).nodes(at_ms)
    matching, _, _ = _matching(lines, list(lines), parameters)
    matching.sort(key=lambda one: (one.rack, one.name))
    return answer(
        NodeMap(
            at_ms=at_ms,
            by=by,
            names=[one.name for one in matching],
            racks=[one.rack for one in matching],
            totals=[one.total[by] for one in matching],
            used=[one.used[by] for one in matching],
            containers=[one.containers for one in matching],
            marks=[
                (one.reserved_for is not None) + 2 * (one.state != "RUNNING") for one in matching
            ],
        )
    )


async def show_past_node(request: Request) -> Response:
    """GET /pages/nodes/NAME: the node at the past moment `at`, and its containers.

    `forgotten` is how many of its containers are no longer remembered. 404 if it did not exist.
    """
    parameters = read_parameters(request)
    at_ms = instant_of(request, parameters)
    if at_ms is None:
        raise InputError("bad-request", "at: the instant in milliseconds is needed")
    server = server_of(request)
    state = server.service.state
    name = request.path_params["node"]
    line = server.past_views.nodes.one(name, at_ms)
    if line is None:
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
    return answer(
        {
            "at_ms": at_ms,
            **{
                name: value
                for name, value in msgspec.structs.asdict(line).items()
                if name != "gpus"
            },
            "joined_ms": None,
            "running": running,
            "forgotten": max(0, line.containers - len(running)),
        }
    )


def _matching(
    lines: Mapping[str, Node], keys: list[str], parameters: Mapping[str, str]
) -> tuple[list[Node], dict[str, int], dict[str, int]]:
    """The requested lines, how many have a mark, and how many have each label."""
    only, low = text_of(parameters, "only"), text_of(parameters, "search").casefold()
    if only not in ("", "reserved", "draining") and not only.startswith("="):
        raise InputError("bad-request", f"only={only}: reserved, draining or =LABEL is needed")
    counts = {"reserved": 0, "draining": 0}
    labels: Counter[str] = Counter()
    found = []
    for key in keys:
        one = lines[key]
        reserved, draining = one.reserved_for is not None, one.state != "RUNNING"
        counts["reserved"] += reserved
        counts["draining"] += draining
        if one.label:
            labels[one.label] += 1
        marked = {"": True, "reserved": reserved, "draining": draining}.get(
            only, one.label == only[1:]
        )
        if marked and (not low or low in _words_of(one)):
            found.append(one)
    return found, counts, dict(sorted(labels.items()))


def _words_of(one: Node) -> str:
    return " ".join((one.name, one.rack, one.label, *one.attributes.values())).casefold()


def _value_of(column: str, types: tuple[str, ...]) -> Callable[[Node], Any]:
    if column in types:
        return lambda one: one.used[column] / one.total[column] if one.total[column] else 0.0
    match column:
        case "rack":
            return lambda one: one.rack
        case "state":
            return lambda one: (one.state, one.label, one.reserved_for or "")
        case "containers":
            return lambda one: one.containers
        case _:
            return lambda one: one.name


ROUTES = [
    get(
        "/pages/nodes",
        list_node_lines,
        "pages",
        NodeLines,
        Parameter("only", "reserved, draining, or =LABEL."),
        *PART,
    ),
    get(
        "/pages/node-map",
        draw_map,
        "pages",
        NodeMap,
        Parameter("only", "reserved, draining, or =LABEL."),
        Parameter("search", "A part of name, rack, label or an attribute."),
        Parameter("by", "A resource type."),
        AT,
    ),
    get("/pages/nodes/{node}", show_past_node, "pages", dict[str, Any], AT),
]
