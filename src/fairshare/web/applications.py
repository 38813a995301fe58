"""Owns the paths of applications: submit, look, kill, move, change the priority."""

from collections.abc import Mapping
from itertools import islice

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from fairshare.api.applications import (
    Application as ApplicationDetails,
)
from fairshare.api.applications import (
    ApplicationRow,
    Applications,
    Containers,
    KillBody,
    MoveBody,
    PriorityBody,
    Submitted,
    Tasks,
)
from fairshare.api.values import MAX_TASKS
from fairshare.api.work import Submission
from fairshare.errors import InputError
from fairshare.model.applications import Application
from fairshare.model.events import ApplicationRejected, ApplicationState, ApplicationSubmitted
from fairshare.model.identifiers import application_name
from fairshare.model.inputs import KillApplication, MoveApplication, SetPriority
from fairshare.web.actors import (
    actor_of,
    caller_of,
    check_account,
    check_claimed_groups,
    groups_of,
    identity_of,
    mover_of,
    sees_all_of,
)
from fairshare.web.answers import answer, refusal
from fairshare.web.application_rows import (
    ApplicationRows,
    Chosen,
    application_document,
    application_row,
)
from fairshare.web.audit import note
from fairshare.web.limits import check_places, check_tasks, submission_slot
from fairshare.web.openapi.operation import NUMBER, POSITIVE, Parameter, get, post
from fairshare.web.requests import (
    read_application,
    read_body,
    read_parameters,
    server_of,
    whole_number,
)
from fairshare.web.slices import listing, sliced
from fairshare.web.submissions import submission_of

MAX_LISTED = 100_000

TAG = "applications"
ONE = "/applications/{application}"


async def list_applications(request: Request) -> Response:
    """GET /applications: the newest first; `state` takes several, separated by commas."""
    parameters = read_parameters(request)
    server = server_of(request)
    identity = identity_of(request)
    who = None if identity is None or identity.administrator else identity.user
    key = ("applications", who, *sorted(parameters.items()))
    views = server.service.views
    content = views.kept(key)
    if content is None:
        chosen = _chosen(request, parameters)
        rows: ApplicationRows = request.app.state.application_rows
        content = await rows.listed(chosen)
        if server.service.views is views:
            views.keep(key, content)
    return Response(content, media_type="application/json")


def _chosen(request: Request, parameters: Mapping[str, str]) -> Chosen:
    """The requested applications, the newest first; raises InputError."""
    limit = whole_number(parameters, "limit", MAX_LISTED, MAX_LISTED, least=1)
    states = wanted_states(parameters.get("state"))
    user = parameters.get("user")
    queue = parameters.get("queue")
    service = server_of(request).service
    identity = identity_of(request)
    everything = identity is None or identity.administrator

    def fits(application: Application) -> bool:
        if states is not None and application.state not in states:
            return False
        if user is not None and application.user != user:
            return False
        return queue is None or application.queue in (queue, f"root.{queue}")

    return lambda: islice(
        (
            (application, everything or sees_all_of(request, application))
            for application in service.views.applications()
            if fits(application)
        ),
        limit,
    )


def wanted_states(text: str | None) -> frozenset[ApplicationState] | None:
    """The states named in `RUNNING,PENDING`; None for all. Raises InputError."""
    if text is None:
        return None
    try:
        return frozenset(ApplicationState(name) for name in text.upper().split(","))
    except ValueError:
        known = ", ".join(ApplicationState)
        raise InputError("bad-request", f"state={text}: the states are {known}") from None


async def submit_application(request: Request) -> Response:
    """POST /applications: 201 with the id, or 409 if the scheduler refuses it."""
    body = await read_body(request, Submission)
    server = server_of(request)
    user = caller_of(request, body.user)
    check_claimed_groups(request, body.groups)
    groups = body.groups or await groups_of(server, user)
    check_tasks(server.settings.limits, sum(group.count for group in body.tasks))
    check_places(server.settings.limits, body.tasks)
    submission = submission_of(
        body, server.service.state.types, user, groups, server.settings.limits
    )
    note(request, queue=submission.queue)
    await check_account(server, user)
    async with (
        submission_slot(server, submission),
        server.payloads.of_submission(submission) as wanted,
    ):
        events = await server.service.ask(wanted)
    epoch_ms = server.service.state.epoch_ms
    for event in events:
        match event:
            case ApplicationSubmitted(application=number):
                state = server.service.state.applications[number].state
                return answer(Submitted(application_name(epoch_ms, number), state), 201)
            case ApplicationRejected(application=number):
                name = application_name(epoch_ms, number)
                return refusal(409, event.code, event.reason, id=name)
            case _:
                pass
    raise AssertionError("a submission was neither accepted nor refused")


async def show_application(request: Request) -> Response:
    """GET /applications/ID: with its groups of tasks and its live containers."""
    read_parameters(request)
    application = read_application(request)
    server = server_of(request)
    views = server.service.views
    found = application_document(
        ApplicationDetails, server, application, groups=views.groups(application), containers=()
    )
    containers = [view async for view in sliced(views.live_containers(application))]
    return answer(msgspec.structs.replace(found, containers=containers))


async def list_tasks(request: Request) -> Response:
    """GET /applications/ID/tasks: all of them, or `limit` from `offset` on.

    A long list is streamed, and shows each task as it is when its row is written.
    """
    parameters = read_parameters(request)
    offset = whole_number(parameters, "offset", 0, MAX_TASKS)
    limit = whole_number(parameters, "limit", MAX_TASKS, MAX_TASKS, least=1)
    views = server_of(request).service.views
    return listing("tasks", views.tasks(read_application(request), offset, limit))


async def list_containers(request: Request) -> Response:
    """GET /applications/ID/containers: live ones, and those that ended not too long ago."""
    read_parameters(request)
    application = read_application(request)
    return listing("containers", server_of(request).service.views.containers(application))


async def kill_application(request: Request) -> Response:
    """POST /applications/ID/kill."""
    body = await read_body(request, KillBody)
    application = read_application(request)
    user, groups = await actor_of(request, body, application)
    wish = KillApplication(application.id, user=user, groups=groups)
    if body.diagnostics is not None:
        wish = KillApplication(application.id, body.diagnostics, user, groups)
    await server_of(request).service.ask(wish)
    return answer(application_row(server_of(request), application))


async def move_application(request: Request) -> Response:
    """POST /applications/ID/move."""
    body = await read_body(request, MoveBody)
    application = read_application(request)
    actor = await mover_of(request, body, application, body.queue)
    await server_of(request).service.ask(MoveApplication(application.id, body.queue, *actor))
    return answer(application_row(server_of(request), application))


async def change_priority(request: Request) -> Response:
    """POST /applications/ID/priority."""
    body = await read_body(request, PriorityBody)
    application = read_application(request)
    actor = await actor_of(request, body, application)
    await server_of(request).service.ask(SetPriority(application.id, body.priority, *actor))
    return answer(application_row(server_of(request), application))


ROUTES = [
    get(
        "/applications",
        list_applications,
        TAG,
        Applications,
        Parameter("state", "Several with commas between."),
        Parameter("user", "Only his."),
        Parameter("queue", "Only those of this queue."),
        Parameter("limit", "How many at most.", POSITIVE),
    ),
    post("/applications", submit_application, TAG, Submission, Submitted, 201),
    get(ONE, show_application, TAG, ApplicationDetails),
    get(
        f"{ONE}/tasks",
        list_tasks,
        TAG,
        Tasks,
        Parameter("offset", "How many are left out before.", NUMBER),
        Parameter("limit", "How many at most.", POSITIVE),
    ),
    get(f"{ONE}/containers", list_containers, TAG, Containers),
    post(f"{ONE}/kill", kill_application, TAG, KillBody, ApplicationRow),
    post(f"{ONE}/move", move_application, TAG, MoveBody, ApplicationRow),
    post(f"{ONE}/priority", change_priority, TAG, PriorityBody, ApplicationRow),
]
