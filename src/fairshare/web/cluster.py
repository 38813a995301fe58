"""Owns the paths of the cluster as a whole: its state, its changes, and its shutdown."""

from starlette.requests import Request
from starlette.responses import Response

from fairshare import __version__
from fairshare.api.cluster import Cluster, ShutdownBody, Stopping, Version
from fairshare.config.engines import runs_here
from fairshare.families.registry import family_of
from fairshare.this_machine import this_machine
from fairshare.web.actors import check_administrator
from fairshare.web.answers import answer, filled
from fairshare.web.openapi.operation import AT, NUMBER, SECONDS, Parameter, get, post
from fairshare.web.queues import moment_at
from fairshare.web.requests import read_body, read_parameters, seconds, server_of, whole_number

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
    family = family_of(server.scheduler_name)
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
            machine=this_machine() if runs_here(server.engine_name) else "",
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


ROUTES = [
    get("/cluster", show_cluster, "cluster", Cluster, AT),
    get(
        "/changes",
        wait_for_change,
        "cluster",
        Version,
        Parameter("since", "The version that is known.", NUMBER),
        Parameter("timeout", "Seconds to wait at most, 300 at most.", SECONDS),
    ),
    post("/shutdown", shut_down, "administration", ShutdownBody, Stopping, 202),
]
