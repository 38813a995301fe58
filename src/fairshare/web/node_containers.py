"""Owns the path of one node: its properties, and its containers."""

from starlette.requests import Request
from starlette.responses import Response

from fairshare.api.nodes import NodeContainer, NodeDetails
from fairshare.errors import InputError
from fairshare.model.identifiers import application_name, container_name
from fairshare.web.answers import answer, filled
from fairshare.web.openapi.operation import get
from fairshare.web.requests import read_parameters, server_of


async def show_node(request: Request) -> Response:
    """GET /nodes/NAME: the node, the time it registered, its containers in the order of their
    allocation. 404 for an unknown node."""
    read_parameters(request)
    server = server_of(request)
    state = server.service.state
    name = request.path_params["node"]
    view = next((one for one in server.service.views.nodes if one.name == name), None)
    if view is None:
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
    gpus = server.gpus_of(state.nodes[name])
    return answer(
        filled(NodeDetails, view, state.types, joined_ms=joined_ms, running=containers, gpus=gpus)
    )


def unknown_node(name: str, when: str) -> InputError:
    """The refusal for an unknown node; `when` ends the sentence."""
    return InputError("unknown-node", f"there is no node '{name}' {when}")


ROUTES = [get("/nodes/{node}", show_node, "nodes", NodeDetails)]
