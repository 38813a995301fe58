"""The path of the metrics for Prometheus, and the count and the latency of all requests."""

import time

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fairshare.server.metrics import Metrics
from fairshare.server.web.requests import server_of

EVERYTHING = "/{rest:path}"
"""The path of the catch-all route."""

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})


async def show_metrics(request: Request) -> Response:
    """GET /metrics: in the text format of Prometheus, whatever the query parameters."""
    server = server_of(request)
    content = server.metrics.exposition() + await server.state_metrics.text()
    return Response(content, headers={"Content-Type": CONTENT_TYPE_LATEST})


class Meter:
    """Middleware: counts each request under its path's template
    (`/api/v1/applications/{application}`) and measures its latency, until the last byte of the
    answer is passed on."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began_s = time.perf_counter()
        status, endless = 500, False

        async def send_and_see(message: Message) -> None:
            nonlocal status, endless
            if message["type"] == "http.response.start":
                status = message["status"]
                endless = status == 101 or any(
                    name.lower() == b"content-type" and value.startswith(b"text/event-stream")
                    for name, value in message.get("headers", ())
                )
            await send(message)

        try:
            await self.app(scope, receive, send_and_see)
        finally:
            method = scope["method"] if scope["method"] in METHODS else "other"
            seconds = None if endless else time.perf_counter() - began_s
            self.metrics.request(method, path_form(scope), status, seconds)


def path_form(scope: Scope) -> str:
    """The path template of the route that answered; all unknown paths share one template. No part
    of it comes from a caller, so that the number of templates is bounded.

    >>> path_form({"route": Route("/a/{file:path}/b/", print), "root_path": "/v1"})
    '/v1/a/{file}/b'
    >>> path_form({"path": "/no/such/path"})
    '(none)'
    """
    route = scope.get("route")
    if not isinstance(route, Route) or route.path == EVERYTHING:
        return "(none)"
    path = f"{scope.get('root_path', '')}{route.path_format}"
    return path.rstrip("/") or path


ROUTES = [Route("/metrics", show_metrics)]
