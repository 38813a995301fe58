"""The paths of the cluster as a whole: its state, its changes, its health, its shutdown, and the
orders of administrators to nodes and for the safe mode.

The health checks reveal nothing of the cluster, and therefore need no authentication.
"""

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fairshare import __version__
from fairshare.api import routes
from fairshare.api.cluster import Cluster, SafeMode, SafeModeBody, ShutdownBody, Stopping, Version
from fairshare.api.nodes import DecommissionBody, NodesBody
from fairshare.core.model.inputs import (
    DecommissionNode,
    DrainNode,
    Input,
    NodeJoined,
    SetSafeMode,
    UndrainNode,
)
from fairshare.server.views import filled
from fairshare.server.web.actors import administrator_of, check_administrator
from fairshare.server.web.answers import answer
from fairshare.server.web.nodes import node_rows
from fairshare.server.web.openapi.operation import AT, NUMBER, SECONDS, Parameter, serve
from fairshare.server.web.queues import moment_at
from fairshare.server.web.requests import (
    read_body,
    read_parameters,
    seconds,
    server_of,
    whole_number,
)
from fairshare.settings.engines import runs_here, shares_files
from fairshare.settings.registry import family_of
from fairshare.this_machine import this_machine

MAX_WAIT_S = 300.0
DEFAULT_WAIT_S = 30.0


async def show_cluster(request: Request) -> Response:
    """GET /cluster; with `at` its state at that instant (see GET /queues)."""
    parameters = read_parameters(request)
    server = server_of(request)
    if "at" in parameters:
        view = moment_at(request, whole_number(parameters, "at", 0, 2**63 - 1)).cluster
    else:
        view = server.service.views.cluster
    family, here = family_of(server.scheduler_name), runs_here(server.engine_name)
    shared = shares_files(server.engine_name, server.settings.run_as)
    return answer(
        filled(
            Cluster,
            view,
            server.service.state.types,
            name="fairshare",
            version=__version__,
            scheduler=server.scheduler_name,
            engine=server.engine_name,
            state_directory=str(server.directory.path),
            epoch_ms=server.service.state.epoch_ms,
            started_ms=server.started_ms,
            now_ms=server.service.now_ms(),
            disk_problem=server.disk.problem,
            scheduler_title=family.title,
            has_priorities=family.has_priorities,
            moves_applications=family.moves_applications,
            machine=this_machine() if here else "",
            files_of=this_machine() if shared else "",
        )
    )


async def wait_for_change(request: Request) -> Response:
    """GET /changes: answers as soon as the version is not `since`, or at the timeout."""
    parameters = read_parameters(request)
    timeout_s = seconds(parameters, "timeout", DEFAULT_WAIT_S, MAX_WAIT_S)
    service = server_of(request).service
    since = whole_number(parameters, "since", -1, 2**63 - 1)
    return answer(Version(await service.changed(since, timeout_s)))


async def shut_down(request: Request) -> Response:
    """POST /shutdown: answers, and then stops the server."""
    body = await read_body(request, ShutdownBody)
    await check_administrator(request, body)
    server = server_of(request)
    server.request_stop(body.stop_containers)
    applications, containers = server.running_work()
    return answer(Stopping(True, server.stop_containers, applications, containers), 202)


async def show_health(request: Request) -> Response:
    """GET /healthz: 200 as long as the server decides; 503: restart it, running containers go
    on."""
    service = server_of(request).service
    failed = service.failure is not None
    checks = {"writer": "failed" if failed else "ended" if service.ended.is_set() else "ok"}
    return _checks_answer(checks, "ok" if checks["writer"] == "ok" else "failed")


async def show_readiness(request: Request) -> Response:
    """GET /readyz: 200 when it accepts work, 503 while it starts, stops, or cannot keep up."""
    server = server_of(request)
    service = server.service
    failing = sorted(server.background.failing)
    checks = {
        "started": "ok" if server.started else "starting",
        "writer": "ok" if service.failure is None and not service.ended.is_set() else "failed",
        "stopping": "stopping" if service.stopping else "ok",
        "inbox": "full" if service.full else "ok",
        "safe_mode": "on" if service.state.safe_mode else "ok",
        "engine": server.engine.trouble() or "ok",
        "disk": server.disk.shortage or "ok",
        **server.database_check,
        # The reasons are only logged, as these paths need no authentication.
        "background": f"failing: {', '.join(failing)}" if failing else "ok",
    }
    ready = all(word == "ok" for word in checks.values())
    return _checks_answer(checks, "ready" if ready else "not ready")


def _checks_answer(checks: dict[str, str], status: str) -> Response:
    code = 200 if status in ("ok", "ready") else 503
    return answer({"status": status, "checks": checks}, code)


async def drain_nodes(request: Request) -> Response:
    """POST /admin/nodes/drain: the nodes take no new containers; running containers go on."""
    body = await read_body(request, NodesBody)
    actor = await administrator_of(request, body)
    return await _order(request, [DrainNode(node, *actor) for node in body.nodes])


async def decommission_nodes(request: Request) -> Response:
    """POST /admin/nodes/decommission: drains the nodes, which leave when they are empty or after
    `timeout_ms`; containers still running then are killed, and their tasks wait again."""
    body = await read_body(request, DecommissionBody)
    user, groups = await administrator_of(request, body)
    orders = [DecommissionNode(node, body.timeout_ms, user, groups) for node in body.nodes]
    return await _order(request, orders)


async def undrain_nodes(request: Request) -> Response:
    """POST /admin/nodes/undrain: the nodes take containers again; those that have left come
    back."""
    body = await read_body(request, NodesBody)
    actor = await administrator_of(request, body)
    server = server_of(request)
    gone = [node for node in body.nodes if node not in server.service.state.nodes]
    response = await _order(request, [UndrainNode(node, *actor) for node in body.nodes])
    if not gone:
        return response
    for offer in server.engine.nodes():
        if offer.node in gone:
            total = tuple(offer.resources.get(name, 0) for name in server.service.state.types.names)
            joined = NodeJoined(offer.node, total, offer.rack, offer.attributes)
            await server.service.ask(joined)
    return answer(node_rows(server))


async def show_safe_mode(request: Request) -> Response:
    """GET /admin/safe-mode."""
    read_parameters(request)
    return answer(SafeMode(server_of(request).service.state.safe_mode))


async def set_safe_mode(request: Request) -> Response:
    """POST /admin/safe-mode: stops or resumes admissions and grants."""
    body = await read_body(request, SafeModeBody)
    server = server_of(request)
    await server.service.ask(SetSafeMode(body.on, *await administrator_of(request, body)))
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


ROUTES = [
    serve(routes.SHOW_CLUSTER, show_cluster, "cluster", AT),
    serve(
        routes.WAIT_FOR_CHANGE,
        wait_for_change,
        "cluster",
        Parameter("since", "The version that is known.", NUMBER),
        Parameter("timeout", "Seconds to wait at most, 300 at most.", SECONDS),
    ),
    serve(routes.SHUT_DOWN, shut_down, "administration"),
    serve(routes.DRAIN_NODES, drain_nodes, "nodes"),
    serve(routes.DECOMMISSION_NODES, decommission_nodes, "nodes"),
    serve(routes.UNDRAIN_NODES, undrain_nodes, "nodes"),
    serve(routes.SHOW_SAFE_MODE, show_safe_mode, "administration"),
    serve(routes.SET_SAFE_MODE, set_safe_mode, "administration"),
]

HEALTH_ROUTES = [Route("/healthz", show_health), Route("/readyz", show_readiness)]
"""These are not below `/api/v1`."""
