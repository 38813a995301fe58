"""The logs of Ray jobs: what the entrypoint has written, at once or as it is written.

It is the standard output of the application's first container, in its newest attempt.
"""

import asyncio
import codecs
from collections.abc import AsyncIterator

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from fairshare.api.ray_jobs import RayJobLogs
from fairshare.core.model.applications import Application
from fairshare.core.model.identifiers import ContainerId, application_name
from fairshare.engines.protocol import FetchesFiles
from fairshare.errors import InputError
from fairshare.ray.web.known_jobs import read_job
from fairshare.server.server import LiveServer
from fairshare.server.web.answers import answer
from fairshare.server.web.containers import log_of_node_manager, read_part
from fairshare.server.web.remote_logs import log_of_node
from fairshare.server.web.requests import server_of
from fairshare.server.web.websocket import TextStream

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
