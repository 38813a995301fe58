"""Owns the stream that tells pages when to look again: server-sent events with the version.

What changed is not in it: a page asks for what it shows. So one event is as small as a thousand
changes, and whoever was away misses nothing.
"""

import asyncio
from collections.abc import AsyncIterator

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from fairshare.live.server import LiveServer
from fairshare.web.requests import read_parameters, server_of

LEAST_INTERVAL_S = 0.5
"""Changes that come faster are told together."""

SIGN_OF_LIFE_S = 5.0
"""So often something is said even if nothing changes: silence means that the way is broken."""


async def stream_versions(request: Request) -> Response:
    """GET /stream: at once, after changes, and as a sign of life: `data: {version, now_ms,
    started_ms}`. It ends with the server."""
    read_parameters(request)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(
        versions(server_of(request)), media_type="text/event-stream", headers=headers
    )


async def versions(server: LiveServer) -> AsyncIterator[bytes]:
    """The events, until the server ends."""
    service = server.service
    while True:
        said = {
            "version": service.version,
            "now_ms": service.now_ms(),
            "started_ms": server.started_ms,
        }
        yield b"id: %d\ndata: %s\n\n" % (service.version, msgspec.json.encode(said))
        if service.stopping:
            return
        await asyncio.sleep(LEAST_INTERVAL_S)
        await service.changed(said["version"], SIGN_OF_LIFE_S - LEAST_INTERVAL_S)


ROUTES = [Route("/stream", stream_versions)]
