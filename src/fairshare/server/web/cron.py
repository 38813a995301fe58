"""The paths of cron jobs, and how the application of one is submitted."""

import asyncio
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from fairshare.api import routes
from fairshare.api.cron import CronBody, CronJob, CronJobs, CronOrderBody, CronRun
from fairshare.api.work import Submission
from fairshare.core.model.identifiers import ApplicationId, application_name, parse_application
from fairshare.core.model.inputs import KillApplication, SubmitApplication
from fairshare.errors import InputError
from fairshare.server.cron.cron import local_zone, next_ms, parse_line, zone_of
from fairshare.server.cron.store import Job, Run
from fairshare.server.server import LiveServer
from fairshare.server.web.actors import caller_of, check_claimed_groups, groups_of, identity_of
from fairshare.server.web.answers import answer
from fairshare.server.web.applications import admit, check_admission
from fairshare.server.web.limits import check_places, check_tasks
from fairshare.server.web.openapi.operation import serve
from fairshare.server.web.requests import read_body, read_parameters, server_of
from fairshare.server.web.submissions import submission_of

TAG: Final = "cron"
CALLER: Final = "~"
"""As the owner in a path: the caller."""
LONGEST_COMMAND: Final = 200


async def list_cron_jobs(request: Request) -> Response:
    """GET /cron: the caller's cron jobs; of administrators, and without authentication, all."""
    read_parameters(request)
    identity = identity_of(request)
    server = server_of(request)
    everything = identity is None or identity.administrator
    jobs = [
        _shown(server, job)
        for job in await server.cron.jobs()
        if everything or (identity is not None and job.user == identity.user)
    ]
    return answer(CronJobs(tuple(jobs)))


async def add_cron_job(request: Request) -> Response:
    """POST /cron: 201 with the new job. Its application is checked as if it were submitted now."""
    body = await read_body(request, CronBody)
    server = server_of(request)
    if body.user and body.submission.user not in (None, body.user):
        raise InputError("bad-request", "user and submission.user differ")
    user = caller_of(request, body.user or body.submission.user)
    check_claimed_groups(request, body.submission.groups)
    zone = body.time_zone or local_zone()
    now_ms = server.service.now_ms()
    try:
        zone_of(zone)
        line = parse_line(body.schedule)
        first_ms = await asyncio.to_thread(next_ms, line, zone, now_ms)
    except ValueError as error:
        raise InputError("bad-schedule", str(error)) from error
    if first_ms is None:
        raise InputError("bad-schedule", f"{body.schedule!r} is never due")
    _check_repeatable(body.submission)
    job = Job(
        user=user,
        name=body.name,
        schedule=line,
        time_zone=zone,
        overlap=body.overlap,
        submission=body.submission,
        created_ms=now_ms,
        next_ms=first_ms,
    )
    await check_admission(server, await _application_of(server, job))
    await server.cron.add(job, replace=body.replace)
    return answer(_shown(server, job), 201)


async def show_cron_job(request: Request) -> Response:
    """GET /cron/USER/NAME: a cron job with its last runs."""
    read_parameters(request)
    job = await _opened(request, None)
    server = server_of(request)
    runs = await server.cron.runs(job)
    return answer(_shown(server, job, runs))


async def pause_cron_job(request: Request) -> Response:
    """POST /cron/USER/NAME/pause: it is not submitted until it is resumed."""
    return await _paused(request, paused=True)


async def resume_cron_job(request: Request) -> Response:
    """POST /cron/USER/NAME/resume: it is submitted again, from the next time on."""
    return await _paused(request, paused=False)


async def delete_cron_job(request: Request) -> Response:
    """POST /cron/USER/NAME/delete: it is forgotten with its history; its applications go on."""
    body = await read_body(request, CronOrderBody)
    job = await _opened(request, body.user)
    server = server_of(request)
    return answer(_shown(server, await server.cron.delete(job.key)))


async def _paused(request: Request, *, paused: bool) -> Response:
    body = await read_body(request, CronOrderBody)
    job = await _opened(request, body.user)
    server = server_of(request)
    return answer(_shown(server, await server.cron.pause(job.key, paused=paused)))


async def _opened(request: Request, named: str | None) -> Job:
    """The job of the path. Raises InputError: also where it belongs to another user."""
    owner, name = request.path_params["owner"], request.path_params["job"]
    identity = identity_of(request)
    user = caller_of(request, named)
    server = server_of(request)
    if owner == CALLER:
        owner = user
    if identity is not None:
        allowed = identity.administrator or user == owner
    elif named is None or user == owner:
        allowed = True
    else:
        allowed = server.may_administer("", user, await groups_of(server, user))
    if not allowed:
        raise InputError(
            "access-denied",
            f"the cron jobs of {owner} are opened by {owner} and administrators, not by {user}",
        )
    return await server.cron.job((owner, name))


def _check_repeatable(submission: Submission) -> None:
    """Raise InputError if a submission has what cannot come again."""
    problems = []
    if submission.after or submission.begin_ms is not None or submission.held:
        problems.append("after, begin and hold: the cron line says when it starts")
    if submission.deadline_ms is not None:
        problems.append("deadline: it is one instant; use a lifetime")
    if any(group.callable or group.payload for group in submission.tasks):
        problems.append("a callable: submit a command")
    if any(group.private_environment for group in submission.tasks):
        problems.append("private_environment: it is not kept; use environment")
    if problems:
        raise InputError("bad-request", "a cron job cannot have " + "; ".join(problems))


async def _application_of(server: LiveServer, job: Job) -> SubmitApplication:
    """The application of a job, as of now; raises InputError."""
    body = job.submission
    limits = server.settings.limits
    groups = body.groups or await groups_of(server, job.user)
    check_tasks(limits, sum(group.count for group in body.tasks))
    check_places(limits, body.tasks)
    tagged = msgspec.structs.replace(body, tags=(*body.tags, job.tag))
    return submission_of(tagged, server.service.state.types, job.user, groups, limits)


def connect(server: LiveServer) -> None:
    """Let a server submit its cron jobs as if their users did."""

    async def submit(job: Job) -> ApplicationId:
        number, rejected = await admit(server, await _application_of(server, job))
        if rejected is not None:
            raise InputError(rejected.code, rejected.reason)
        return number

    async def kill(number: ApplicationId, reason: str) -> None:
        await server.service.ask(KillApplication(number, reason))

    server.cron.connect(submit, kill)


def _shown(server: LiveServer, job: Job, runs: list[Run] | None = None) -> CronJob:
    work = job.submission.driver or job.submission.tasks[0]
    command = work.command or " ".join(work.arguments or ())
    return CronJob(
        user=job.user,
        name=job.name,
        schedule=job.schedule,
        time_zone=job.time_zone,
        overlap=job.overlap,
        queue=_queue_of(server, job),
        command=command[:LONGEST_COMMAND],
        paused=job.paused,
        created_ms=job.created_ms,
        next_ms=None if job.paused else job.next_ms,
        last_application=application_name(job.epoch_ms, job.last) if job.last else "",
        runs=tuple(_shown_run(server, run) for run in runs or ()),
    )


def _queue_of(server: LiveServer, job: Job) -> str:
    """Where the last run went, as far as that is known, else the queue that was asked for; empty
    where the placement rules choose it."""
    if job.last and job.epoch_ms == server.epoch_ms:
        application = server.service.state.applications.get(job.last)
        if application is not None and application.queue:
            return application.queue
    return job.submission.queue or ""


def _shown_run(server: LiveServer, run: Run) -> CronRun:
    state = ""
    number = parse_application(run.application) if run.application else None
    if number is not None and run.application == application_name(server.epoch_ms, number):
        application = server.service.state.applications.get(number)
        state = str(application.state) if application is not None else ""
    outcome = "queued" if run.outcome == "submitting" else run.outcome
    return CronRun(run.due_ms, outcome, run.application, state, run.reason)


ROUTES = [
    serve(routes.LIST_CRON_JOBS, list_cron_jobs, TAG),
    serve(routes.ADD_CRON_JOB, add_cron_job, TAG),
    serve(routes.SHOW_CRON_JOB, show_cron_job, TAG),
    serve(routes.PAUSE_CRON_JOB, pause_cron_job, TAG),
    serve(routes.RESUME_CRON_JOB, resume_cron_job, TAG),
    serve(routes.DELETE_CRON_JOB, delete_cron_job, TAG),
]
