"""The paths of single containers: their logs, their results, and stopping them.

A container's output is untrusted: the server sends it as plain bytes, never follows links, and
opens only regular files.

Of the header `Range` (RFC 9110, section 14) one range of bytes is served; any other value (another
unit, several ranges, invalid syntax) is ignored, as the RFC allows.
"""

import base64
import os
import re
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from fairshare.api import routes
from fairshare.api.applications import ContainerStopping
from fairshare.api.values import ActorBody
from fairshare.core.model.identifiers import (
    ContainerId,
    application_name,
    application_of,
    container_name,
)
from fairshare.engines import log_files
from fairshare.engines.protocol import FetchesFiles
from fairshare.errors import InputError
from fairshare.server.server import LiveServer
from fairshare.server.state_directory import fetched_result
from fairshare.server.web.actors import caller_of, check_administrator
from fairshare.server.web.answers import answer, refusal
from fairshare.server.web.openapi.operation import NUMBER, TEXT, Parameter, serve
from fairshare.server.web.remote_logs import (
    log_client,
    log_of_node,
    log_url,
    read_remote_part,
    result_of_node,
)
from fairshare.server.web.requests import (
    read_body,
    read_container,
    read_parameters,
    server_of,
    whole_number,
)

_FORM = re.compile(r"\s*bytes\s*=\s*(\d{0,18})\s*-\s*(\d{0,18})\s*", re.IGNORECASE)


class ByteRange(msgspec.Struct, frozen=True):
    """`limit` bytes from byte `first` on; None: all up to the end."""

    first: int
    limit: int | None


class NotSatisfiable(Exception):
    """The range contains no byte of the file."""


def read_range(header: str | None, size: int) -> ByteRange | None:
    """The range of a file of some bytes that a header asks for; None if it asks for none.

    Raises NotSatisfiable.

    >>> read_range("bytes=2-4", 10), read_range("bytes=7-", 10), read_range("bytes=-3", 10)
    (ByteRange(first=2, limit=3), ByteRange(first=7, limit=None), ByteRange(first=7, limit=3))
    >>> read_range("lines=1-2", 10), read_range("bytes=4-2", 10), read_range("bytes=0-1,5-6", 10)
    (None, None, None)
    """
    found = _FORM.fullmatch(header or "")
    if found is None:
        return None
    first, last = found.groups()
    if not first:
        if not last:
            return None
        count = min(int(last), size)
        if count == 0:
            raise NotSatisfiable
        return ByteRange(size - count, count)
    if last and int(last) < int(first):
        return None
    if int(first) >= size:
        raise NotSatisfiable
    return ByteRange(int(first), int(last) - int(first) + 1 if last else None)


PIECE_BYTES = 64 * 1024
"""The bytes of a file that are in memory at once."""
DEFAULT_PART_BYTES = 1024 * 1024
MAX_PART_BYTES = 16 * 1024 * 1024


KEPT = (
    "files any more: of an application, and of a user, those of the last ended containers are kept"
    " (application_kept_containers, user_kept_containers in [engine])"
)


async def read_log(request: Request) -> Response:
    """GET /containers/ID/logs/STREAM: bytes from `offset`, at most `limit` of them; or those that
    the header Range names (206, or 416 if the log has none of them).

    X-Fairshare-Complete is true when the container has ended and no bytes follow these.
    X-Fairshare-Skipped says how many bytes before these were left out, as the log is limited.
    """
    parameters = read_parameters(request)
    offset = whole_number(parameters, "offset", 0, 2**63 - 1)
    limit = whole_number(parameters, "limit", DEFAULT_PART_BYTES, MAX_PART_BYTES)
    container = read_container(request)
    server = server_of(request)
    stream = request.path_params["stream"]
    if stream not in ("stdout", "stderr"):
        raise InputError("unknown-log", f"there is no log '{stream}', only stdout and stderr")
    files = server.container_files(container)
    if isinstance(server.engine, FetchesFiles):
        return await log_of_node(server, server.engine, container, stream, (offset, limit))
    if files is None:
        return await log_of_node_manager(server, container, stream, offset, limit)
    # This is checked before the file is read, so that bytes written meanwhile are not missed. A
    # container that was ordered to end may still run for a moment.
    over = files.ended() and server.service.is_over(container)
    path = files.stdout if stream == "stdout" else files.stderr
    record = server.projections.history.container(container) if over else None
    began = record is not None and record.running_ms is not None
    if began and not await run_in_threadpool(path.parent.exists):
        raise InputError("log-gone", f"{request.path_params['container']} has no {KEPT}")
    size = await run_in_threadpool(size_of, path)
    ranged = None
    if not parameters:
        try:
            ranged = read_range(request.headers.get("range"), size)
        except NotSatisfiable:
            message = f"the log has {size} bytes, and none of them is in this range"
            return refusal(416, "no-such-range", message, {"Content-Range": f"bytes */{size}"})
    if ranged is not None:
        offset = ranged.first
        limit = min(MAX_PART_BYTES, limit if ranged.limit is None else ranged.limit)
    gap, end = await run_in_threadpool(files.dropped_range, path)
    skipped = end - offset if gap <= offset < end else 0
    if offset < gap:
        limit = min(limit, gap - offset)
    start = offset + skipped
    first, size = await run_in_threadpool(read_part, path, start, min(limit, PIECE_BYTES))
    count = max(0, min(limit, size - start))
    complete = over and start + count >= size
    headers = {"X-Fairshare-Complete": "true" if complete else "false", "Accept-Ranges": "bytes"}
    if skipped:
        headers["X-Fairshare-Skipped"] = str(skipped)
    status = 200
    if ranged is not None and count:
        whole = size if over else "*"  # it may still grow
        headers["Content-Range"] = f"bytes {start}-{start + count - 1}/{whole}"
        status = 206
    if count <= len(first):
        return Response(first, status, headers=headers, media_type="text/plain")

    def has_lost(place: int) -> bool:
        """Whether bytes from `place` on were dropped since the answer began."""
        gap, end = files.dropped_range(path)
        return gap < place + PIECE_BYTES and end > max(start, place)

    return file_answer(path, start, count, status, headers, "text/plain", has_lost)


async def log_of_node_manager(
    server: LiveServer, container: ContainerId, stream: str, offset: int, limit: int
) -> Response:
    """A part of a log that a NodeManager has."""
    url = _url_on_node(server, container, stream)
    over = server.service.is_over(container)
    async with log_client() as client:
        part = await read_remote_part(client, url, offset, limit)
    record = server.projections.history.container(container)
    if not part.found and over and record is not None and record.running_ms is not None:
        name = container_name(server.service.state.epoch_ms, container)
        raise InputError(
            "log-gone",
            f"{record.node} has no {stream} of {name} any more: "
            + (_aggregated(server, container) or "nodes delete logs after a while"),
        )
    complete = over and offset + len(part.content) >= part.size
    headers = {"X-Fairshare-Complete": "true" if complete else "false"}
    return Response(part.content, headers=headers, media_type="text/plain")


def _url_on_node(server: LiveServer, container: ContainerId, log: str) -> str:
    """Where the node of a container has a log of it. Raises InputError if it is not there."""
    name = container_name(server.service.state.epoch_ms, container)
    record = server.projections.history.container(container)
    if record is None:
        raise InputError("node-unreachable", f"the node of {name} is not known any more")
    address = server.engine.node_web_address(record.node)
    if not address:
        raise InputError(
            "node-unreachable",
            f"{record.node}, the node of {name}, is not registered"
            + ("; " + words if (words := _aggregated(server, container)) else ""),
        )
    return log_url(address, name, log)


def _aggregated(server: LiveServer, container: ContainerId) -> str:
    """Where the logs of a container are if its node has aggregated them; empty if nodes do not."""
    if not server.log_aggregation.enabled:
        return ""
    name = application_name(server.service.state.epoch_ms, application_of(container))
    return (
        "it aggregates logs when an application is over, and Hadoop's own"
        f" `yarn logs -applicationId {name}` reads them"
    )


async def read_result(request: Request) -> Response:
    """GET /containers/ID/result: the pickled value that the container's callable returned.

    The value is untrusted: any process that can write to the container's folder can replace it.
    """
    read_parameters(request)
    container = read_container(request)
    server = server_of(request)
    if isinstance(server.engine, FetchesFiles):
        return await result_of_node(server, server.engine, container)
    name = request.path_params["container"]
    files = server.container_files(container)
    if files is not None:
        path = files.result
    else:
        path = fetched_result(server.directory.path, *server.container_names(container))
        if not await run_in_threadpool(path.exists):
            return await _read_result_of_node(server, container)
    try:
        os.close(await run_in_threadpool(open_regular, path))
    except FileNotFoundError:
        gone = not await run_in_threadpool(path.parent.exists)
        raise InputError(
            "no-result",
            f"{name} has no result: only a callable that has returned leaves one"
            + (f"; it has no {KEPT}" if gone else ""),
        ) from None
    size = await run_in_threadpool(size_of, path)
    most_mb = server.settings.limits.result_mb
    if size > most_mb * 1024 * 1024:
        raise _too_large(name, size, most_mb)
    return file_answer(path, 0, size, 200, {}, "application/octet-stream")


def _too_large(name: str, size: int, most_mb: int) -> InputError:
    return InputError(
        "result-too-large",
        f"the result of {name} has {size} bytes, and more than {most_mb} MB are not handed out:"
        " have the callable write a file and return its path, or raise result_mb below [limits]"
        " in fairshare.toml",
    )


async def _read_result_of_node(server: LiveServer, container: ContainerId) -> Response:
    """A result that a container left in base64 beside its logs (hadoop.engine.call_program)."""
    name = container_name(server.service.state.epoch_ms, container)
    most_mb = server.settings.limits.result_mb
    most = (most_mb * 1024 * 1024 + 2) // 3 * 4  # in base64
    async with log_client() as client:
        url = _url_on_node(server, container, "result")
        part = await read_remote_part(client, url, 0, most)
    if not part.size or not server.service.is_over(container):
        raise InputError(
            "no-result", f"{name} has no result: only a callable that has returned leaves one"
        )
    if part.size > most:
        raise _too_large(name, part.size * 3 // 4, most_mb)
    try:
        value = await run_in_threadpool(base64.b64decode, part.content, validate=True)
    except ValueError:
        raise InputError("no-result", f"{name} left a result that is damaged") from None
    return Response(value, media_type="application/octet-stream")


async def stop_container(request: Request) -> Response:
    """POST /containers/ID/stop: stops the container; its application sees an ordinary failure."""
    body = await read_body(request, ActorBody)
    container = read_container(request)
    server = server_of(request)
    application = server.service.state.applications[application_of(container)]
    if caller_of(request, body.user) != application.user:
        await check_administrator(request, body, application.queue)
    if container not in application.attempt.launched:
        raise InputError(
            "not-running", f"nothing runs in {request.path_params['container']} (any more, or yet)"
        )
    server.engine.stop(container)
    return answer(ContainerStopping(request.path_params["container"]), 202)


def read_part(path: Path, offset: int, limit: int) -> tuple[bytes, int]:
    """Bytes of a log and its size; a log that does not exist (yet) is empty."""
    return log_files.read_part(path, offset, limit)


def size_of(path: Path) -> int:
    """The size of a log in bytes; 0 if it does not exist (yet)."""
    return log_files.read_part(path, 0, 0)[1]


def file_answer(
    path: Path,
    start: int,
    count: int,
    status: int,
    headers: Mapping[str, str],
    media_type: str,
    has_lost: Callable[[int], bool] = lambda place: False,
) -> Response:
    """`count` bytes of a file from `start` on, read as they are sent.

    The answer is cut short if the bytes no longer exist, which the client sees by the length;
    `has_lost` says so for a position that was read.
    """

    async def pieces() -> AsyncIterator[bytes]:
        place, end = start, start + count
        while place < end:
            piece, _ = await run_in_threadpool(
                read_part, path, place, min(PIECE_BYTES, end - place)
            )
            if not piece or await run_in_threadpool(has_lost, place):
                return
            yield piece
            place += len(piece)

    length = {"Content-Length": str(count)}
    return StreamingResponse(pieces(), status, {**headers, **length}, media_type=media_type)


def open_regular(path: Path) -> int:
    """A descriptor of a regular file; anything else in its place raises FileNotFoundError.

    A container could replace its log with a link or a pipe.
    """
    return log_files.Place(path).open()


ROUTES = [
    serve(
        routes.READ_LOG,
        read_log,
        "containers",
        Parameter("offset", "The first byte.", NUMBER),
        Parameter("limit", "How many bytes at most.", NUMBER),
        Parameter("Range", "`bytes=FIRST-LAST`, without the two above.", TEXT, "header"),
        others={206: "The bytes of the range."},
    ),
    serve(routes.READ_RESULT, read_result, "containers"),
    serve(routes.STOP_CONTAINER, stop_container, "containers"),
]
