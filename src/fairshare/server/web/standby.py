"""What a standby answers at its own address while it waits for another server to end: that it is
one, and the way to the server that works.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from fairshare.errors import FairshareError
from fairshare.server.access.proxies import Proxies
from fairshare.server.settings import LiveSettings
from fairshare.server.web.answers import answer
from fairshare.server.web.listener import bind, loopback_address, web_server

_log = logging.getLogger("fairshare.access")

RETRY_S = 3
"""When a browser asks again while no server works."""

Active = Callable[[], str]
"""The address of the server that works; empty: there is none, or it has none on the network."""


@contextlib.asynccontextmanager
async def serve_as_standby(
    settings: LiveSettings, active: Active, further: Sequence[BaseRoute] = ()
) -> AsyncIterator[None]:
    """Answer at the configured port, with further routes before those of this module; not at all
    if the port is any free one, or that of the server that works."""
    with contextlib.ExitStack() as opened:
        try:
            listener = bind(settings.host, settings.port) if settings.port else None
        except FairshareError as error:
            _log.info("this standby has no port of its own yet: %s", error)
            listener = None
        if listener is None:
            yield
            return
        opened.callback(listener.close)
        web = web_server(settings, _app(active, further), Proxies(settings.authentication.proxies))
        serving = asyncio.create_task(web.serve(sockets=[listener]))
        try:
            yield
        finally:
            web.should_exit = web.force_exit = True  # the port is needed at once
            await serving


def _app(active: Active, further: Sequence[BaseRoute]) -> Starlette:
    async def show_readiness(request: Request) -> Response:
        waits = f"for {active() or 'another server'}"
        return answer({"status": "not ready", "checks": {"standby": f"waits {waits}"}}, 503)

    async def redirect(request: Request) -> Response:
        """Lead to the same path of the server that works. The first words are YARN's, as clients
        know a standby by them (Hadoop: RMWebAppFilter)."""
        path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        address = _reachable(active(), request)
        if not address:
            words = f"Can not find any active RM. Will retry in next {RETRY_S} seconds.\n"
            return PlainTextResponse(words, 307, {"Refresh": f"{RETRY_S};url={path}"})
        words = f"This is standby RM. The redirect url is: {address}{path}\n"
        return PlainTextResponse(words, 307, {"Location": f"{address}{path}"})

    async def show_health(request: Request) -> Response:
        return answer({"status": "ok", "checks": {"standby": "waits"}}, 200)

    own = [Route("/healthz", show_health), Route("/readyz", show_readiness)]
    methods = ("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS")
    everything = Route("/{path:path}", redirect, methods=methods)
    return Starlette(routes=[*further, *own, everything])


def _reachable(address: str, request: Request) -> str:
    """An address of this machine as the caller reaches it: another host has no use for loopback."""
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or parts.port is None:
        return ""
    mine = request.url.hostname or ""
    with contextlib.suppress(FairshareError):
        loopback_address(parts.hostname or "")
        host = f"[{mine}]" if ":" in mine else mine
        return f"{parts.scheme}://{host}:{parts.port}" if mine else address
    return address
