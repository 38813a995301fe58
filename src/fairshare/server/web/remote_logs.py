"""How logs and results of containers are fetched from their nodes: by the engine, or from the web
server of a NodeManager.

read`. NodeManagers answer `/ws/v1/node/containers/ID/logs/NAME` with a header, the bytes and a
trailer (Hadoop: NMWebServices.getContainerLogFile, LogToolUtils.outputContainerLog); with `size=-N`
the bytes are the last N.
"""

import ssl
from typing import TYPE_CHECKING

import msgspec
from starlette.responses import Response

from fairshare.core.model.identifiers import ContainerId
from fairshare.engines.protocol import FetchesFiles
from fairshare.errors import EngineError, InputError
from fairshare.server.server import LiveServer
from fairshare.settings.parts import lazy

if TYPE_CHECKING:
    import httpx
else:  # it loads a hundred modules, and few servers need it
    httpx = lazy("httpx")


BEGIN = b"\nLogContents:\n"
LENGTH = b"\nLogLength:"

SLACK_BYTES = 64 * 1024
"""By how much a log may grow between two requests without a third."""
MAX_HEADER_BYTES = 8 * 1024
TIMEOUT_S = 10.0
ABSENT = ("Cannot find this log", "Unknown container", "Unknown application")
"""What a NodeManager says of a log that it does not have (yet, or any more)."""


class RemotePart(msgspec.Struct, frozen=True):
    """Bytes of a log from an offset on, and the size of the whole log. `found`: the node has it."""

    content: bytes
    size: int
    found: bool = True


def log_client() -> "httpx.AsyncClient":
    """A client for NodeManagers, which serve plain HTTP; ignores proxies of the environment."""
    return httpx.AsyncClient(trust_env=False, verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))


def log_url(address: str, container: str, stream: str) -> str:
    """Where the node at `address` has a log of a container."""
    return f"http://{address}/ws/v1/node/containers/{container}/logs/{stream}"


async def read_remote_part(
    client: "httpx.AsyncClient", url: str, offset: int, limit: int
) -> RemotePart:
    """At most `limit` bytes of the log at `url` from `offset` on; empty if it does not exist (yet).

    Raises InputError (`node-unreachable`) if the node does not answer as a NodeManager does.
    """
    first = await _read(client, url, 1, 0, 0)
    if not first.found:
        return first
    size = first.size
    while True:
        if offset >= size or limit <= 0:
            return RemotePart(b"", size)
        wanted = size - offset + SLACK_BYTES
        part = await _read(client, url, -wanted, offset, limit)
        if max(0, part.size - wanted) <= offset:
            return part
        size = part.size  # it has grown by more than the slack meanwhile


async def _read(
    client: "httpx.AsyncClient", url: str, wanted: int, offset: int, limit: int
) -> RemotePart:
    """One request for the first (`wanted` > 0) or the last bytes; keeps those of the range only."""
    try:
        async with client.stream("GET", url, params={"size": wanted}, timeout=TIMEOUT_S) as answer:
            head = b""
            chunks = answer.aiter_bytes()
            async for chunk in chunks:
                head += chunk
                if BEGIN in head or len(head) > MAX_HEADER_BYTES:
                    break
            before, found, rest = head.partition(BEGIN)
            if not found:
                if any(words.encode() in head for words in ABSENT):
                    return RemotePart(b"", 0, found=False)
                raise _strange(url, f"HTTP {answer.status_code}")
            size = int(before.partition(LENGTH)[2].split(b"\n", 1)[0])
            skip = offset - max(0, size + wanted) if wanted < 0 else 0
            count = max(0, min(limit, size - offset))
            content = bytearray(rest)
            async for chunk in chunks:
                if len(content) >= skip + count:
                    break
                if skip > len(content):  # nothing before the range is kept
                    skip -= len(content)
                    content.clear()
                content += chunk
            return RemotePart(bytes(content[max(0, skip) : max(0, skip) + count]), size)
    except httpx.HTTPError as error:
        raise InputError(
            "node-unreachable", f"the node does not answer at {url}: {error}"
        ) from None
    except ValueError:
        raise _strange(url, "no length of the log") from None


def _strange(url: str, what: str) -> InputError:
    return InputError("node-unreachable", f"{url} does not answer as a NodeManager does: {what}")


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
    content, size = await _file_of_node(server, engine, container, stream, offset, limit)
    complete = over and offset + len(content) >= size
    headers = {"X-Fairshare-Complete": "true" if complete else "false"}
    return Response(content, headers=headers, media_type="text/plain")


async def result_of_node(
    server: LiveServer, engine: FetchesFiles, container: ContainerId
) -> Response:
    """The pickled value that a callable returned."""
    most_mb = server.settings.limits.result_mb
    most = most_mb * 1024 * 1024
    content, size = await _file_of_node(server, engine, container, "result", 0, most)
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


async def _file_of_node(
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
