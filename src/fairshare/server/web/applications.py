"""The paths of applications: submit, again too, look, kill, move, change, hold and
requeue, and why they wait.

A long list of tasks or containers is written and sent in slices.
"""

from collections.abc import AsyncIterator, Iterable
from functools import partial
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from fairshare.api import routes
from fairshare.api.applications import Application as ApplicationDetails
from fairshare.api.applications import (
    ApplicationRow,
    Eta,
    HoldBody,
    KillBody,
    MoveBody,
    Notice,
    PriorityBody,
    Proved,
    Reasons,
    ResubmitBody,
    Submitted,
    UpdateBody,
)
from fairshare.api.applications import Excess as NamedExcess
from fairshare.api.applications import Preemption as NamedPreemption
from fairshare.api.applications import Reason as NamedReason
from fairshare.api.values import MAX_TASKS, ActorBody
from fairshare.api.work import Submission
from fairshare.core.manager.resource_manager import check_actor
from fairshare.core.model.applications import Application
from fairshare.core.model.events import ApplicationRejected, ApplicationSubmitted
from fairshare.core.model.identifiers import ApplicationId, application_name, parse_application
from fairshare.core.model.inputs import (
    Changes,
    HoldApplication,
    KillApplication,
    KillTask,
    MoveApplication,
    ReleaseApplication,
    RequeueApplication,
    SetPriority,
    SubmitApplication,
    UpdateApplication,
)
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.resubmission import again
from fairshare.core.schedulers.protocol import Refusal
from fairshare.core.schedulers.reasons import Reason
from fairshare.documents.notice_targets import shown_target
from fairshare.engines.protocol import ChangesLimits
from fairshare.errors import InputError
from fairshare.server.accounting.ledger import command_of, command_text
from fairshare.server.follower import MOST_S, Estimate, EstimateSubmission, PastReasons, Prove
from fairshare.server.gpus import missing_gpus, with_idle_gpus
from fairshare.server.insight.why import words_of
from fairshare.server.notices.store import HOOK
from fairshare.server.payloads import commands_of
from fairshare.server.refused_requests import CAUSE, REMEDY
from fairshare.server.rows import application_document, application_row
from fairshare.server.server import LiveServer
from fairshare.server.slices import sliced
from fairshare.server.views import filled
from fairshare.server.web.actors import (
    actor_of,
    caller_of,
    check_account,
    check_claimed_groups,
    check_commands,
    groups_of,
    identity_of,
    mover_of,
    questioner_of,
    with_tagged_groups,
)
from fairshare.server.web.answers import answer, encoded, refusal
from fairshare.server.web.audit import note
from fairshare.server.web.limits import check_places, check_tasks, submission_slot
from fairshare.server.web.listings import instant_of
from fairshare.server.web.openapi.operation import AT, NUMBER, POSITIVE, Parameter, get, serve
from fairshare.server.web.requests import (
    read_application,
    read_body,
    read_parameters,
    server_of,
    whole_number,
)
from fairshare.server.web.submissions import (
    caller_key,
    conditions_of,
    dependencies_of,
    submission_of,
)

PIECE_BYTES: Final = 64 * 1024


def listing(name: str, items: Iterable[object]) -> Response:
    """`{"name": [...]}` as JSON, written and sent in slices."""

    async def pieces() -> AsyncIterator[bytes]:
        written, between = bytearray(b'{"%s":[' % name.encode()), b""
        async for item in sliced(items):
            written += between + encoded(item)
            between = b","
            if len(written) >= PIECE_BYTES:
                yield bytes(written)
                written.clear()
        yield bytes(written) + b"]}"

    return StreamingResponse(pieces(), media_type="application/json")


TAG: Final = "applications"


async def submit_application(request: Request) -> Response:
    """POST /applications: 201 with the id, or 409 if the scheduler refuses it."""
    return await admitted(request, await _wanted(request, await read_body(request, Submission)))


async def _wanted(request: Request, body: Submission) -> SubmitApplication:
    """What a body wants to be submitted. Raises InputError."""
    server = server_of(request)
    user = caller_of(request, body.user)
    check_claimed_groups(request, body.groups)
    groups = body.groups or await groups_of(server, user)
    check_tasks(server.settings.limits, sum(group.count for group in body.tasks))
    check_places(server.settings.limits, body.tasks)
    state = server.service.state
    start = conditions_of(body, state)
    uploaded = partial(server.uploads.find, caller_key(request))
    limits = server.settings.limits
    return submission_of(body, state.types, user, groups, limits, start, uploaded)


async def admitted(request: Request, submission: SubmitApplication) -> Response:
    """The answer to a submission: 201 with the id, or 409 if the scheduler refuses it."""
    server = server_of(request)
    note(request, queue=submission.queue)
    number, rejected = await admit(server, submission)
    name = application_name(server.service.state.epoch_ms, number)
    if rejected is not None:
        return refusal(409, rejected.code, rejected.reason, id=name)
    return answer(Submitted(name, server.service.state.applications[number].state), 201)


async def check_admission(server: LiveServer, submission: SubmitApplication) -> None:
    """Raise InputError for what the server, not the scheduler, cannot do for its user."""
    await check_account(server, submission.user)
    await check_commands(server, submission.user, commands_of(submission))
    if problem := missing_gpus(server.engine, server.service.state.types, submission.tasks):
        raise InputError("cannot-run", problem)
    for target in submission.details.notify:
        problem = server.notices.delivery.problem(target)
        if problem:
            raise InputError("cannot-notify", f"{shown_target(target)}: {problem}")


async def admit(
    server: LiveServer, submission: SubmitApplication
) -> tuple[ApplicationId, ApplicationRejected | None]:
    """Submit an application: its number, and the refusal if the scheduler refuses it. Raises
    InputError."""
    await check_admission(server, submission)
    submission = await with_tagged_groups(server, submission)
    async with (
        submission_slot(server, submission),
        server.payloads.of_submission(submission) as wanted,
    ):
        events = await server.service.ask(wanted)
    for event in events:
        if isinstance(event, ApplicationSubmitted):
            return event.application, None
        if isinstance(event, ApplicationRejected):
            return event.application, event
    raise AssertionError("a submission was neither accepted nor refused")


async def show_application(request: Request) -> Response:
    """GET /applications/ID: with its groups of tasks and its live containers.

    `at`: the application at a past moment, without these; 404 if it did not exist, or is no longer
    remembered.
    """
    at_ms = instant_of(request, read_parameters(request))
    if at_ms is not None:
        row = _past_row(request, at_ms)
        return answer(ApplicationDetails(**msgspec.structs.asdict(row), at_ms=at_ms))
    application = read_application(request)
    server = server_of(request)
    views = server.service.views
    command = command_of(application)
    details = application_document(
        ApplicationDetails,
        server.service,
        application,
        groups=views.groups(application),
        containers=(),
        command=command_text(command),
        directory=(command.directory or "") if command is not None else "",
        notices=tuple(
            Notice(one.event, shown_target(one.target), one.state, one.attempts, one.error)
            for one in server.notices.of(application.id)
            if one.target != HOOK
        ),
    )
    live = with_idle_gpus(views.live_containers(application), server.engine)
    containers = [view async for view in sliced(live)]
    return answer(msgspec.structs.replace(details, containers=containers))


def _past_row(request: Request, at_ms: int) -> ApplicationRow:
    """The application that the path names, by its id or its number, at a past moment."""
    text = request.path_params["application"]
    number = parse_application(text)
    past = server_of(request).past_views.applications
    row = None if number is None else past.one(number, at_ms)
    if row is None or text not in (str(number), row.id):
        raise InputError(
            "unknown-application",
            f"there was no application '{text}' at that moment, or it is not remembered any more",
        )
    return row


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
    application, server = read_application(request), server_of(request)
    rows = with_idle_gpus(server.service.views.containers(application), server.engine)
    return listing("containers", rows)


async def kill_application(request: Request) -> Response:
    """POST /applications/ID/kill."""
    body = await read_body(request, KillBody)
    application = read_application(request)
    user, groups = await actor_of(request, body, application)
    kill: KillApplication | KillTask = KillApplication(application.id, user=user, groups=groups)
    if body.task is not None:
        place = _task_named(application, body.task)
        kill = KillTask(application.id, *place, user=user, groups=groups)
    if body.diagnostics is not None:
        kill = msgspec.structs.replace(kill, diagnostics=body.diagnostics)
    await server_of(request).service.ask(kill)
    return answer(application_row(server_of(request).service, application))


def _task_named(application: Application, name: str) -> tuple[int, int]:
    """The numbers of the group and the task that `INDEX` or `GROUP/INDEX` names.

    Raises InputError (`unknown-task`) if there is none, or more than one.
    """
    group, _, index = name.rpartition("/")
    specs = [progress.spec for progress in application.tasks.groups]
    places = [
        (number, task)
        for number, spec in enumerate(specs)
        if group in ("", spec.name)
        and index.isascii()
        and index.isdigit()
        and (task := spec.task_of(int(index))) is not None
    ]
    if len(places) == 1:
        return places[0]
    known = ", ".join(f"{spec.name}/{spec.index_of(0)}" for spec in specs[:3])
    raise InputError(
        "unknown-task",
        f"application {application.id} has several tasks {name}: name the group as well, such as"
        f" {specs[places[0][0]].name}/{index}"
        if places
        else f"application {application.id} has no task {name}"
        + (f"; its tasks are called {known} ..." if specs else "; it has no groups of tasks"),
    )


async def move_application(request: Request) -> Response:
    """POST /applications/ID/move."""
    body = await read_body(request, MoveBody)
    application = read_application(request)
    actor = await mover_of(request, body, application, body.queue)
    await server_of(request).service.ask(MoveApplication(application.id, body.queue, *actor))
    return answer(application_row(server_of(request).service, application))


async def change_priority(request: Request) -> Response:
    """POST /applications/ID/priority."""
    body = await read_body(request, PriorityBody)
    application = read_application(request)
    actor = await actor_of(request, body, application)
    await server_of(request).service.ask(SetPriority(application.id, body.priority, *actor))
    return answer(application_row(server_of(request).service, application))


async def update_application(request: Request) -> Response:
    """POST /applications/ID/update: all changes, or none."""
    body = await read_body(request, UpdateBody)
    application = read_application(request)
    actor = await actor_of(request, body, application)
    server = server_of(request)
    state = server.service.state
    changes = Changes(
        name=body.name,
        tags=body.tags,
        priority=body.priority,
        after=None if body.after is None else dependencies_of(body.after, state),
        begin_ms=body.begin_ms,
        group=body.group or "",
        time_limit_ms=body.time_limit_ms,
        sizes=body.resources,
        at_once=body.at_once,
    )
    order = UpdateApplication(application.id, changes, *actor)
    limited = body.time_limit_ms is not None and not isinstance(server.engine, ChangesLimits)
    if limited and application.tasks.assigned:
        try:
            check_actor(server.scheduler, application, order)  # others learn nothing else of it
        except Refusal as refused:
            raise InputError(refused.code, refused.reason) from None
        raise InputError(
            "cannot-limit",
            f"application {application.id} runs, and the nodes of this cluster cannot change the"
            " time limit of a container that runs: change it while all its tasks wait",
        )
    await server.service.ask(order)
    return answer(application_row(server.service, application))


async def list_reasons(request: Request) -> Response:
    """GET /applications/ID/reasons: the most important first, with numbers and in words.

    `at`: those of a past moment, from the journal, within `within_ms`. 404 (`unknown-moment`) if
    the journal does not reach back so far, 429 and 503 as for the proof.
    """
    parameters = read_parameters(request)
    application = read_application(request)
    server = server_of(request)
    service = server.service
    if "at" in parameters:
        at_ms = whole_number(parameters, "at", 0, 2**63 - 1)
        if at_ms > service.now_ms():
            raise InputError("unknown-moment", f"{at_ms} has not come yet")
        question, caller = PastReasons(application.id, at_ms), questioner_of(request)
        return answer(await server.follower.ask(caller, question, Reasons, _within_s(request)))
    state = service.state
    words = words_of(state, service.now_ms())
    rows = []
    if refused := server.refused_requests.of(application.id):
        rows.append(NamedReason(cause=CAUSE, sentence=refused, remedy=REMEDY))
    for reason in service.reasons(application.id):
        explanation = words.explain(reason)
        rows.append(
            filled(
                NamedReason,
                reason,
                state.types,
                ahead=tuple(application_name(state.epoch_ms, number) for number in reason.ahead),
                also=tuple(other.cause for other in reason.also),
                group=(
                    None if reason.group < 0 else application.tasks.groups[reason.group].spec.name
                ),
                preemption=_preemption(reason, state.types),
                sentence=explanation.sentence,
                remedy=explanation.remedy,
            )
        )
    name = application_name(state.epoch_ms, application.id)
    return answer(Reasons(id=name, state=application.shown_state, reasons=tuple(rows)))


async def prove_remedies(request: Request) -> Response:
    """GET /applications/ID/proof: what would start what waits for the most important reason, each
    remedy carried out in a simulation from the present on; and when it starts if nothing is done.

    429 (`too-many-questions`) while two others of the caller have no answer; 503 (`no-answer`) if
    there is none within `within_ms`.
    """
    within_s = _within_s(request)
    application = read_application(request)
    server = server_of(request)
    if not server.service.reasons(application.id):
        raise InputError("not-waiting", f"application {application.id} waits for nothing")
    question = Prove(application.id)
    caller = questioner_of(request)
    return answer(await server.follower.ask(caller, question, Proved, within_s))


async def estimate_application(request: Request) -> Response:
    """GET /applications/ID/eta: when it starts and ends, from simulations of what comes; without
    an estimate the reason.

    409 (`ended`) if it is over, 429 (`too-many-questions`) while two others of the caller have no
    answer, 503 (`no-answer`) if there is none within `within_ms`.
    """
    within_s = _within_s(request)
    application = read_application(request)
    if application.over:
        raise InputError(
            "ended", f"application {application.id} has ended: it is {application.shown_state}"
        )
    question = Estimate(application.id)
    caller = questioner_of(request)
    return answer(await server_of(request).follower.ask(caller, question, Eta, within_s))


async def show_estimate(request: Request) -> Response:
    """GET /pages/applications/ID/eta: the estimate if it is known within a second; else, without
    one, the reason."""
    read_parameters(request)
    application, server = read_application(request), server_of(request)
    reason = f"application {application.id} has ended"
    if not application.over:
        question = Estimate(application.id)
        try:
            found = await server.follower.ask(questioner_of(request), question, Eta, QUICK_S)
            return answer(found)
        except InputError as error:
            reason = str(error)
    return answer(Eta(server.service.now_ms(), reason=reason))


async def estimate_submission(request: Request) -> Response:
    """POST /estimates: when an application would start and end if it were submitted now; nothing is
    submitted. 409 if the scheduler would refuse it."""
    server = server_of(request)
    submission = await _wanted(request, await read_body(request, Submission))
    await check_admission(server, submission)
    question = EstimateSubmission(await with_tagged_groups(server, submission))
    return answer(await server.follower.ask(questioner_of(request), question, Eta))


def _within_s(request: Request) -> float:
    most_ms = round(1_000 * MOST_S)
    return whole_number(read_parameters(request), "within_ms", most_ms, most_ms) / 1_000


def _preemption(reason: Reason, types: ResourceTypes) -> NamedPreemption | None:
    """What preemption owes, with named amounts."""
    owed = reason.preemption
    if owed is None:
        return None
    above = tuple(filled(NamedExcess, one, types) for one in owed.above)
    return filled(NamedPreemption, owed, types, above=above)


async def resubmit_application(request: Request) -> Response:
    """POST /applications/ID/resubmit: 201 with the id of the new application."""
    body = await read_body(request, ResubmitBody)
    application = read_application(request)
    await _check_owner(request, body.user, application)
    try:
        submission = again(application, failed=body.failed)
    except ValueError as error:
        raise InputError("cannot-resubmit", f"application {application.id}: {error}") from error
    if identity_of(request) is not None:  # those of today
        groups = await groups_of(server_of(request), application.user)
        submission = msgspec.structs.replace(submission, groups=groups)
    return await admitted(request, submission)


async def _check_owner(request: Request, named: str | None, application: Application) -> None:
    """Raise InputError (`access-denied`) unless the caller may submit in the owner's name: what
    runs has the owner's rights."""
    server = server_of(request)
    user, owner = caller_of(request, named), application.user
    identity = identity_of(request)
    if user == owner or (identity is not None and identity.administrator):
        return
    if identity is None and server.may_administer("", user, await groups_of(server, user)):
        return
    raise InputError(
        "access-denied",
        f"application {application.id} belongs to {owner}: only {owner} and administrators may"
        " submit it again",
    )


async def hold_application(request: Request) -> Response:
    """POST /applications/ID/hold: it starts nothing more until the same call releases it."""
    body = await read_body(request, HoldBody)
    return await _ordered(request, body, HoldApplication if body.held else ReleaseApplication)


async def requeue_application(request: Request) -> Response:
    """POST /applications/ID/requeue: what runs of it ends, and it begins again."""
    return await _ordered(request, await read_body(request, ActorBody), RequeueApplication)


async def _ordered(
    request: Request,
    body: ActorBody,
    order: type[HoldApplication | ReleaseApplication | RequeueApplication],
) -> Response:
    application = read_application(request)
    actor = await actor_of(request, body, application)
    await server_of(request).service.ask(order(application.id, *actor))
    return answer(application_row(server_of(request).service, application))


QUICK_S: Final = 1.0
"""How long a page waits for an estimate."""

WITHIN = Parameter("within_ms", "How long the caller waits for an answer at most.", NUMBER)

ROUTES = [
    serve(routes.SUBMIT_APPLICATION, submit_application, TAG),
    serve(routes.SHOW_APPLICATION, show_application, TAG, AT),
    serve(
        routes.LIST_TASKS,
        list_tasks,
        TAG,
        Parameter("offset", "How many are left out before.", NUMBER),
        Parameter("limit", "How many at most.", POSITIVE),
    ),
    serve(routes.LIST_CONTAINERS, list_containers, TAG),
    serve(routes.KILL_APPLICATION, kill_application, TAG),
    serve(routes.MOVE_APPLICATION, move_application, TAG),
    serve(routes.CHANGE_PRIORITY, change_priority, TAG),
    serve(routes.UPDATE_APPLICATION, update_application, TAG),
    serve(routes.LIST_REASONS, list_reasons, "applications", AT, WITHIN),
    serve(routes.PROVE_REMEDIES, prove_remedies, "applications", WITHIN),
    serve(routes.ESTIMATE_APPLICATION, estimate_application, "applications", WITHIN),
    serve(routes.ESTIMATE_SUBMISSION, estimate_submission, "applications"),
    get("/pages/applications/{application}/eta", show_estimate, "pages", Eta),
    serve(routes.RESUBMIT_APPLICATION, resubmit_application, TAG),
    serve(routes.HOLD_APPLICATION, hold_application, TAG),
    serve(routes.REQUEUE_APPLICATION, requeue_application, TAG),
]
