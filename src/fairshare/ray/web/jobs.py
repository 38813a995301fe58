"""The paths of Ray jobs: submit, look, list, stop, delete."""

import secrets
import string

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from fairshare import __version__
from fairshare.api.applications import Submitted
from fairshare.api.ray_jobs import (
    INTERFACE_VERSION,
    RAY_VERSION,
    RayJobDeleted,
    RayJobRequest,
    RayJobStopped,
    RayJobSubmitted,
    RayVersion,
)
from fairshare.api.values import ActorBody
from fairshare.core.model.inputs import ForgetApplications, KillApplication, SubmitApplication
from fairshare.errors import InputError
from fairshare.ray.web.found import details_of, index_of, read_job, visible_jobs
from fairshare.ray.web.submission import PREFIX, packages_of, submission_body, worker_resources
from fairshare.server.slices import sliced
from fairshare.server.web.actors import actor_of, caller_of, groups_of, identity_of
from fairshare.server.web.answers import answer
from fairshare.server.web.applications import admitted
from fairshare.server.web.audit import note
from fairshare.server.web.requests import read_body, server_of
from fairshare.server.web.submissions import Translation, submission_of
from fairshare.settings.engines import signals

QUEUE_HEADER = "x-fairshare-queue"
"""Names the queue of jobs whose metadata name none."""
_LETTERS = string.ascii_letters + string.digits


async def show_version(request: Request) -> Response:
    """GET /api/version: what Ray's client asks first."""
    commit = f"fairshare {__version__}"
    return answer(RayVersion(INTERFACE_VERSION, RAY_VERSION, commit, "fairshare"))


async def submit_job(request: Request) -> Response:
    """POST /api/jobs/: 200 with the id, as in Ray; 409 if the scheduler refuses it."""
    job = await read_body(request, RayJobRequest)
    uploader = caller_of(request, None)
    user = caller_of(request, (job.metadata or {}).get(f"{PREFIX}user"))
    submission_id = job.submission_id or job.job_id or _new_id()
    index = index_of(request)
    if index.of_user(user, submission_id):
        raise InputError("bad-request", f"Job with submission_id {submission_id} already exists")
    index.coming.add((user, submission_id))
    try:
        packages = await _uploaded(request, uploader, job)
        with server_of(request).packages.hold(frozenset(packages.values())):
            _check_still_there(request, packages)
            submission = await _submission(request, user, submission_id, job, packages)
            sent = await admitted(request, submission)
    finally:
        index.coming.discard((user, submission_id))
    if sent.status_code != 201:
        return sent
    note(request, application=msgspec.json.decode(sent.body, type=Submitted).id)
    return answer(RayJobSubmitted(submission_id, submission_id))


async def _submission(
    request: Request, user: str, submission_id: str, job: RayJobRequest, packages: dict[str, str]
) -> SubmitApplication:
    server = server_of(request)
    types, limits = server.service.state.types, server.settings.limits
    workers = Translation(types, limits)
    workers.resources(worker_resources(job.metadata or {}), "the workers")
    workers.finish()
    queue = request.headers.get(QUEUE_HEADER)
    warned = signals(server.settings.engine)
    body = submission_body(job, submission_id, packages, queue, warned=warned)
    return submission_of(body, types, user, await groups_of(server, user), limits)


async def _uploaded(request: Request, user: str, job: RayJobRequest) -> dict[str, str]:
    """The SHA-256 of each package that a job names; raises InputError for one that is missing."""
    packages = server_of(request).packages
    found = {}
    for uri in packages_of(job.runtime_env or {}):
        digest = await run_in_threadpool(packages.find, user, uri.removeprefix("gcs://"))
        if digest is None:
            raise InputError("bad-request", f"{uri:.200} is not there: {user} has not uploaded it")
        found[uri] = digest
    return found


def _check_still_there(request: Request, packages: dict[str, str]) -> None:
    """Raise InputError if a package was deleted before it was held."""
    for uri, digest in packages.items():
        if not server_of(request).packages.path(digest).is_file():
            raise InputError("bad-request", f"{uri:.200} is not there any more: submit again")


async def list_jobs(request: Request) -> Response:
    """GET /api/jobs/: those that the caller may see, the newest first."""
    server = server_of(request)
    found = (
        details_of(server, application, job, explain=False)
        for application, job in visible_jobs(request)
    )
    return answer([one async for one in sliced(found)])


async def show_job(request: Request) -> Response:
    """GET /api/jobs/ID: with the reason why it waits."""
    return answer(details_of(server_of(request), *read_job(request)))


async def stop_job(request: Request) -> Response:
    """POST /api/jobs/ID/stop."""
    application, _ = read_job(request)
    if application.over:
        return answer(RayJobStopped(stopped=False))
    user, groups = await actor_of(request, ActorBody(), application)
    kill = KillApplication(application.id, user=user, groups=groups)
    await server_of(request).service.ask(kill)
    return answer(RayJobStopped(stopped=True))


async def delete_job(request: Request) -> Response:
    """DELETE /api/jobs/ID: of a job that has ended; the accounts keep it."""
    application, job = read_job(request)
    if not application.over:
        raise InputError(
            "bad-request", f"Attempted to delete job '{job.submission_id}', which has not ended"
        )
    user, _ = await actor_of(request, ActorBody(), application)
    if identity_of(request) is not None and user not in ("", application.user):
        raise InputError("access-denied", f"job {job.submission_id} is {application.user}'s")
    await server_of(request).service.ask(ForgetApplications((application.id,)))
    return answer(RayJobDeleted(deleted=True))


def _new_id() -> str:
    return "raysubmit_" + "".join(secrets.choice(_LETTERS) for _ in range(16))
