"""The paths of drivers: the calls of one application's master, authorized by its token only.

The driver's container has the token in its environment. A token of an earlier attempt, or of
another application, is refused.
"""

from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from fairshare.api import routes
from fairshare.api.applications import Launched
from fairshare.api.values import NothingBody
from fairshare.api.work import FinishBody, Launch, ReleaseBody, RequestsBody, TasksBody
from fairshare.core.model.applications import Application
from fairshare.core.model.identifiers import application_of
from fairshare.core.model.inputs import (
    AddTasks,
    FinishApplication,
    LaunchContainer,
    MasterRegistered,
    ReleaseContainers,
    RequestContainers,
)
from fairshare.errors import InputError
from fairshare.server.access.submitted_bytes import size_of_command, size_of_group
from fairshare.server.rows import application_row
from fairshare.server.web.actors import check_commands
from fairshare.server.web.answers import answer
from fairshare.server.web.limits import check_asks, check_places, check_tasks, room_for
from fairshare.server.web.openapi.operation import serve
from fairshare.server.web.requests import (
    container_of,
    read_application,
    read_body,
    read_container,
    server_of,
)
from fairshare.server.web.submissions import Translation, caller_key


def check_token(request: Request, application: Application) -> None:
    """Raise InputError (`no-token`, `wrong-token`) unless the application's own master calls."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise InputError(
            "no-token",
            "only the application's driver may do this: send 'Authorization: Bearer TOKEN' with "
            "the FAIRSHARE_TOKEN of its environment",
        )
    tokens = server_of(request).tokens
    if not tokens.accepts(token.strip(), application.id, application.attempt.number):
        raise InputError(
            "wrong-token",
            "this token is not that of the application's current driver: "
            f"attempt {application.attempt.number} has its own in FAIRSHARE_TOKEN",
        )


def own_application(request: Request) -> Application:
    """The application of the path, if the caller is its master; else raises InputError."""
    application = read_application(request)
    check_token(request, application)
    return application


def _translation(request: Request) -> Translation:
    """The translation of a master's body, which may name what the master has uploaded."""
    server = server_of(request)
    uploaded = partial(server.uploads.find, caller_key(request))
    return Translation(server.service.state.types, server.settings.limits, uploaded)


async def register_master(request: Request) -> Response:
    """POST /applications/ID/register."""
    application = own_application(request)
    await read_body(request, NothingBody)
    await server_of(request).service.ask(MasterRegistered(application.id))
    return answer(application_row(server_of(request).service, application))


async def request_containers(request: Request) -> Response:
    """POST /applications/ID/requests."""
    application = own_application(request)
    body = await read_body(request, RequestsBody)
    server = server_of(request)
    check_asks(server.settings.limits, [one.count for one in body.requests])
    check_places(server.settings.limits, body.requests)
    translation = Translation(server.service.state.types, server.settings.limits)
    requests = translation.requests(body.requests)
    translation.finish()
    await server.service.ask(RequestContainers(application.id, requests))
    return answer(application_row(server.service, application))


async def add_tasks(request: Request) -> Response:
    """POST /applications/ID/tasks."""
    application = own_application(request)
    body = await read_body(request, TasksBody)
    server = server_of(request)
    translation = _translation(request)
    earlier = [progress.spec for progress in application.tasks.groups]
    check_tasks(
        server.settings.limits,
        sum(group.count for group in body.tasks),
        sum(group.count for group in earlier),
    )
    check_places(server.settings.limits, body.tasks)
    tasks = translation.groups(body.tasks, "tasks", earlier)
    translation.finish()
    await check_commands(server, application.user, (group.command for group in tasks))
    async with (
        room_for(server, application.user, sum(map(size_of_group, tasks))),
        server.payloads.of_groups(tasks) as groups,
    ):
        await server.service.ask(AddTasks(application.id, groups))
    return answer(application_row(server.service, application))


async def launch_container(request: Request) -> Response:
    """POST /containers/ID/launch."""
    container = read_container(request)
    server = server_of(request)
    application = server.service.state.applications[application_of(container)]
    check_token(request, application)
    body = await read_body(request, Launch)
    translation = _translation(request)
    command = translation.command(body, "launch")
    translation.finish()
    await check_commands(server, application.user, (command,))
    async with (
        room_for(server, application.user, size_of_command(command)),
        server.payloads.of_command(command) as wanted,
    ):
        launch = LaunchContainer(application.id, container, wanted, body.time_limit_ms)
        await server.service.ask(launch)
    return answer(Launched(request.path_params["container"]))


async def release_containers(request: Request) -> Response:
    """POST /applications/ID/release."""
    application = own_application(request)
    body = await read_body(request, ReleaseBody)
    server = server_of(request)
    containers = tuple(container_of(text, server.service.state) for text in body.containers)
    await server.service.ask(ReleaseContainers(application.id, containers))
    return answer(application_row(server.service, application))


async def finish_application(request: Request) -> Response:
    """POST /applications/ID/finish."""
    application = own_application(request)
    body = await read_body(request, FinishBody)
    server = server_of(request)
    await server.service.ask(FinishApplication(application.id, body.succeeded, body.diagnostics))
    return answer(application_row(server.service, application))


ROUTES = [
    serve(routes.REGISTER_MASTER, register_master, "drivers"),
    serve(routes.REQUEST_CONTAINERS, request_containers, "drivers"),
    serve(routes.ADD_TASKS, add_tasks, "drivers"),
    serve(routes.RELEASE_CONTAINERS, release_containers, "drivers"),
    serve(routes.FINISH_APPLICATION, finish_application, "drivers"),
    serve(routes.LAUNCH_CONTAINER, launch_container, "drivers"),
]
