"""The paths of Ray jobs (submit, look, list, stop, delete), and how one becomes an application:
a Ray program with workers of its own; and of their logs: what the entrypoint has written, at once
or as it is written.

What Ray has no words for comes in metadata whose keys begin with `fairshare.`; what this server
cannot do is refused by name. All problems raise InputError (`bad-request`).

The log is the standard output of the application's first container, in its newest attempt.
"""

import asyncio
import codecs
import math
import secrets
import string
import sys
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from fairshare import __version__
from fairshare.api import work
from fairshare.api.applications import Submitted
from fairshare.api.ray_jobs import (
    INTERFACE_VERSION,
    RAY_VERSION,
    RayJobDeleted,
    RayJobLogs,
    RayJobRequest,
    RayJobStopped,
    RayJobSubmitted,
    RayVersion,
)
from fairshare.api.ray_programs import (
    Job,
    Program,
    container_signal,
    job_arguments,
    program_arguments,
)
from fairshare.api.values import ActorBody, in_words
from fairshare.core.model.applications import Application
from fairshare.core.model.identifiers import ContainerId, application_name
from fairshare.core.model.inputs import ForgetApplications, KillApplication, SubmitApplication
from fairshare.documents.bounds import GANG_TIMEOUT_MS
from fairshare.documents.durations import parse_duration_ms
from fairshare.documents.gpus import GPU
from fairshare.documents.sizes import MEBIBYTE, parse_memory_mb
from fairshare.engines.protocol import FetchesFiles
from fairshare.errors import InputError
from fairshare.ray.web.known_jobs import details_of, index_of, read_job, visible_jobs
from fairshare.server.server import LiveServer
from fairshare.server.slices import sliced
from fairshare.server.web.actors import actor_of, caller_of, groups_of, identity_of
from fairshare.server.web.answers import answer
from fairshare.server.web.applications import admitted
from fairshare.server.web.audit import note
from fairshare.server.web.containers import log_of_node_manager, read_part
from fairshare.server.web.remote_logs import log_of_node
from fairshare.server.web.requests import read_body, server_of
from fairshare.server.web.submissions import Translation, submission_of
from fairshare.server.web.websocket import TextStream
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
    submission_id = job.submission_id or job.job_id
    if not submission_id:
        submission_id = "raysubmit_" + "".join(secrets.choice(_LETTERS) for _ in range(16))
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
    digests = {}
    for uri in packages_of(job.runtime_env or {}):
        digest = await run_in_threadpool(packages.find, user, uri.removeprefix("gcs://"))
        if digest is None:
            raise InputError("bad-request", f"{uri:.200} is not there: {user} has not uploaded it")
        digests[uri] = digest
    return digests


def _check_still_there(request: Request, packages: dict[str, str]) -> None:
    """Raise InputError if a package was deleted before it was held."""
    for uri, digest in packages.items():
        if not server_of(request).packages.path(digest).is_file():
            raise InputError("bad-request", f"{uri:.200} is not there any more: submit again")


async def list_jobs(request: Request) -> Response:
    """GET /api/jobs/: those that the caller may see, the newest first."""
    server = server_of(request)
    jobs = (
        details_of(server, application, job, explain=False)
        for application, job in visible_jobs(request)
    )
    return answer([one async for one in sliced(jobs)])


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


PREFIX: Final = "fairshare."
KEYS: Final = (
    "queue",
    "user",
    "workers",
    "more",
    "memory",
    "vcores",
    "gpus",
    "label",
    "priority",
    "lifetime",
)
"""The keys of metadata that fairshare reads, after the prefix."""

JOB_NAME: Final = "job_name"
"""The key of metadata that names a job, in Ray too."""

SUPPORTED: Final = ("env_vars", "working_dir", "py_modules", "excludes")
"""The fields of a runtime environment that have an effect here; `excludes` has its own in the
client, which leaves out files."""

HEAD_MB: Final = 1024
"""The least memory of the first container, in which Ray's head runs beside the entrypoint."""
_MOST_WORKERS: Final = 10_000


def packages_of(runtime_env: Mapping[str, object]) -> tuple[str, ...]:
    """The URIs of the packages that a runtime environment names, in order; raises InputError for
    any that were not uploaded to this server, and for fields that are not supported."""
    for name, value in runtime_env.items():
        if name not in SUPPORTED and value not in (None, {}, []):
            raise _wrong(
                f"runtime_env.{name} is not supported: only {', '.join(SUPPORTED)} are. Install"
                " what the job needs on the nodes, or let the entrypoint do it"
            )
    uris: list[str] = []
    working_dir = runtime_env.get("working_dir")
    modules = runtime_env.get("py_modules") or ()
    if not isinstance(modules, list | tuple):
        raise _wrong("runtime_env.py_modules is a list of packages")
    for place, uri in [("working_dir", working_dir), *(("py_modules", one) for one in modules)]:
        if uri is None:
            continue
        if not isinstance(uri, str) or not uri.startswith("gcs://") or not uri.endswith(".zip"):
            raise _wrong(
                f"runtime_env.{place}: {uri!r:.200} is not a directory that the client has uploaded"
                " (gcs://NAME.zip): name a local directory"
            )
        uris.append(uri)
    return tuple(dict.fromkeys(uris))


def variables_of(runtime_env: Mapping[str, object]) -> dict[str, str]:
    """The environment variables of a runtime environment."""
    try:
        return msgspec.convert(runtime_env.get("env_vars") or {}, dict[str, str])
    except msgspec.ValidationError as error:
        raise _wrong(f"runtime_env.env_vars: {error}") from None


def submission_body(
    request: RayJobRequest,
    submission_id: str,
    packages: Mapping[str, str],
    queue: str | None,
    *,
    warned: bool,
) -> work.Submission:
    """The application of a job. `packages` has the SHA-256 of each package by its URI; `queue` is
    the one to use if the metadata names none. `warned`: the engine can signal one process alone,
    so that Ray's head outlives the warning of the program."""
    if "\0" in request.entrypoint:
        raise _wrong("entrypoint: it holds a NUL character")
    metadata = request.metadata or {}
    settings = _settings(metadata)
    runtime_env = request.runtime_env or {}
    variables = variables_of(runtime_env)
    job = Job(
        submission_id=submission_id,
        entrypoint=request.entrypoint,
        metadata=metadata,
        runtime_env={
            name: value for name, value in runtime_env.items() if name != "env_vars" and value
        },
        packages=dict(packages),
        variables=tuple(variables),
    )
    program = Program(
        workers=_whole(settings, "workers", 1, 1, _MOST_WORKERS),
        more=_whole(settings, "more", 0, 0, _MOST_WORKERS),
        resources=worker_resources(metadata),
        gang_timeout_ms=GANG_TIMEOUT_MS,
        command=job_arguments(job, sys.executable),
    )
    arguments = program_arguments(program, sys.executable)
    fields = {
        "user": settings.get("user"),
        "queue": settings.get("queue") or queue or None,
        "name": metadata.get(JOB_NAME) or submission_id,
        "label": settings.get("label"),
        "priority": _whole(settings, "priority", None, -(2**31), 2**31 - 1),
        "lifetime_s": _lifetime(settings),
        "driver": {
            "arguments": arguments,
            "environment": variables,
            **({"end_signal": msgspec.to_builtins(container_signal())} if warned else {}),
        },
        "master": {"resources": entrypoint_resources(request)},
    }
    try:
        return msgspec.convert(fields, work.Submission)
    except msgspec.ValidationError as error:
        raise _wrong(f"the job is not what is expected here: {in_words(error)}") from None


def worker_resources(metadata: Mapping[str, str]) -> dict[str, int]:
    """The size of each worker's container."""
    settings = _settings(metadata)
    default = work.DEFAULT_RESOURCES
    try:
        memory_mb = parse_memory_mb(settings.get("memory", f"{default['memory-mb']}m"))
    except ValueError as error:
        raise _wrong(f"metadata {PREFIX}memory: {error}") from None
    vcores = _whole(settings, "vcores", default["vcores"], 1, 2**31 - 1)
    gpus = _whole(settings, "gpus", 0, 0, 2**31 - 1)
    sizes = {"memory-mb": memory_mb, "vcores": vcores}
    return {**sizes, GPU: gpus} if gpus else sizes


def entrypoint_resources(request: RayJobRequest) -> dict[str, int]:
    """The size of the first container, for Ray's head and the entrypoint: processors are rounded
    up, of everything else there are no fractions."""
    if request.entrypoint_label_selector:
        raise _wrong(
            "entrypoint_label_selector is not supported: choose a partition by the metadata"
            f" {PREFIX}label"
        )
    named = dict(request.entrypoint_resources or {})
    if request.entrypoint_num_gpus:
        named[GPU] = request.entrypoint_num_gpus
    for name, amount in named.items():
        if amount != int(amount):
            raise _wrong(f"{amount:g} of {name} for the entrypoint: only whole numbers are given")
    memory_mb = math.ceil((request.entrypoint_memory or 0) / MEBIBYTE)
    return {
        **{name: int(amount) for name, amount in named.items()},
        "memory-mb": max(HEAD_MB, memory_mb),
        "vcores": max(1, math.ceil(request.entrypoint_num_cpus or 0)),
    }


def _settings(metadata: Mapping[str, str]) -> dict[str, str]:
    """What metadata says to fairshare."""
    settings = {
        name.removeprefix(PREFIX): value
        for name, value in metadata.items()
        if name.startswith(PREFIX)
    }
    for name in settings:
        if name not in KEYS:
            known = ", ".join(PREFIX + key for key in KEYS)
            raise _wrong(f"metadata {PREFIX}{name:.100}: there is no such key, only {known}")
    return settings


def _whole(settings: Mapping[str, str], key: str, default: object, least: int, most: int) -> Any:
    text = settings.get(key)
    if text is None:
        return default
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 19):
        raise _wrong(f"metadata {PREFIX}{key}: {text!r:.100} is not a whole number")
    if not least <= int(text) <= most:
        raise _wrong(f"metadata {PREFIX}{key}: {text} is not between {least} and {most}")
    return int(text)


def _lifetime(settings: Mapping[str, str]) -> int | None:
    if "lifetime" not in settings:
        return None
    try:
        return max(1, parse_duration_ms(settings["lifetime"]) // 1_000)
    except ValueError as error:
        raise _wrong(f"metadata {PREFIX}lifetime: {error}") from None


def _wrong(message: str) -> InputError:
    return InputError("bad-request", message)


PART_BYTES = 256 * 1024
MOST_BYTES = 16 * 1024 * 1024
"""The most bytes of a log in one answer."""
LOOK_S = 0.5
"""How often a log that is followed is read."""


async def show_logs(request: Request) -> Response:
    """GET /api/jobs/ID/logs."""
    application, _ = read_job(request)
    server = server_of(request)
    container = _container_of(server, application)
    content = bytearray()
    while container is not None and len(content) < MOST_BYTES:
        part, offset, _ = await read_log_part(server, container, len(content))
        if not part:
            break
        content += part.rjust(offset - len(content), b"\0")
    text = content.decode(errors="replace")
    if len(content) >= MOST_BYTES:
        name = application_name(server.epoch_ms, application.id)
        text += f"\n... the log is longer: `fairshare logs {name}` prints all of it\n"
    return answer(RayJobLogs(text))


async def follow_logs(request: Request) -> ASGIApp:
    """GET /api/jobs/ID/logs/tail: a WebSocket with the log as texts, until the job has ended."""
    application, _ = read_job(request)
    return TextStream(texts_of(server_of(request), application))


async def texts_of(server: LiveServer, application: Application) -> AsyncIterator[str]:
    """What the job writes, in all attempts, until it has ended; an empty text at least every
    `LOOK_S` if there is nothing new. Raises InputError if the log cannot be read to its end."""
    container, offset, complete = None, 0, False
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    while True:
        if server.service.stopping:
            raise InputError("stopping", "the server is shut down; the job goes on")
        over = application.over
        newest = _container_of(server, application)
        if newest != container and (container is None or complete):
            container, offset, complete = newest, 0, False
        content = b""
        if container is not None and not complete:
            try:
                content, offset, complete = await read_log_part(server, container, offset)
            except InputError:
                if over:
                    raise
                complete = newest != container  # its node is lost, and the job has begun again
        yield decoder.decode(content, final=complete)
        if over and not content and (complete or _has_reported(server, application)):
            return
        if over and newest is None:
            return
        if not content:
            await asyncio.sleep(LOOK_S)


async def read_log_part(
    server: LiveServer, container: ContainerId, offset: int
) -> tuple[bytes, int, bool]:
    """Bytes of the log from an offset on, the offset behind them, and whether nothing follows."""
    part = (offset, PART_BYTES)
    files = server.container_files(container)
    if isinstance(server.engine, FetchesFiles):
        sent = await log_of_node(server, server.engine, container, "stdout", part)
    elif files is None:
        sent = await log_of_node_manager(server, container, "stdout", *part)
    else:
        over = files.ended() and server.service.is_over(container)
        gap, end = await run_in_threadpool(files.dropped_range, files.stdout)
        if gap <= offset < end:
            offset = end
        limit = min(PART_BYTES, gap - offset) if offset < gap else PART_BYTES
        content, size = await run_in_threadpool(read_part, files.stdout, offset, limit)
        behind = offset + len(content)
        return content, behind, over and behind >= size
    content = bytes(sent.body)
    return content, offset + len(content), sent.headers["x-fairshare-complete"] == "true"


def _has_reported(server: LiveServer, application: Application) -> bool:
    """Whether the entrypoint has ended by itself: then its container writes nothing more, even if
    it takes a while to end Ray's own processes."""
    attempt = server.projections.attempts.of(application.id).attempt
    return attempt is not None and bool(attempt.final_status)


def _container_of(server: LiveServer, application: Application) -> ContainerId | None:
    """The container of the newest entrypoint; None: there is none yet."""
    attempt = server.projections.attempts.of(application.id).attempt
    return None if attempt is None else attempt.master
