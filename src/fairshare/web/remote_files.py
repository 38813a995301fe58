"""Owns the answers with logs and results of containers whose engine fetches them from their nodes.

Knows no engine: each one that fetches files does so by `FetchesFiles.read`.
"""

from starlette.responses import Response

from fairshare.engines.protocol import FetchesFiles
from fairshare.errors import EngineError, InputError
from fairshare.model.identifiers import ContainerId
from fairshare.server.server import LiveServer


async def log_of_node(
    server: LiveServer,
    engine: FetchesFiles,
    container: ContainerId,
    stream: str,
    part: tuple[int, int],
) -> Response:
    """A part (offset, limit) of a log."""
    offset, limit = part
    over = server.service.is_over(container)
    content, size = await _read(server, engine, container, stream, offset, limit)
    complete = over and offset + len(content) >= size
    headers = {"X-Fairshare-Complete": "true" if complete else "false"}
    return Response(content, headers=headers, media_type="text/plain")


async def result_of_node(
    server: LiveServer, engine: FetchesFiles, container: ContainerId
) -> Response:
    """The pickled value that a callable returned."""
    most_mb = server.settings.limits.result_mb
    most = most_mb * 1024 * 1024
    content, size = await _read(server, engine, container, "result", 0, most)
    name = server.container_names(container)[1]
    if not size:
        raise InputError(
            "no-result", f"{name} has no result: only a callable that has returned leaves one"
        )
    if size > most:
        raise InputError(
            "result-too-large",
            f"the result of {name} has {size} bytes, and more than {most_mb} MB are not handed out",
        )
    return Response(content, media_type="application/octet-stream")


async def _read(
    server: LiveServer,
    engine: FetchesFiles,
    container: ContainerId,
    file: str,
    offset: int,
    limit: int,
) -> tuple[bytes, int]:
    record = server.projections.history.container(container)
    names = server.container_names(container)
    if record is None:
        raise InputError("node-unreachable", f"the node of {names[1]} is not known any more")
    try:
        return await engine.read(record.node, names, file, offset, limit)
    except EngineError as error:
        raise InputError("node-unreachable", str(error)) from None
