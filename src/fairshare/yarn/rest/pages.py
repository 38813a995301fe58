"""The other paths of a ResourceManager's port, beside `/ws/v1/cluster`: the page that clients
probe, the lists by state, the liveness check, and the logs of containers (Hadoop: RMWebApp).
"""

from html import escape
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from fairshare.api.yarn import APPLICATION_STATES
from fairshare.core.model.identifiers import application_of, container_name
from fairshare.server.web.containers import read_part
from fairshare.yarn.rest.answering import HEADERS
from fairshare.yarn.rest.application_documents import logs_url
from fairshare.yarn.rest.callers import Rejected, checked_caller, identify
from fairshare.yarn.rest.errors import Refused
from fairshare.yarn.rest.gateway import gateway_of
from fairshare.yarn.rest.parameters import read_container_id

TITLE = "All Applications"
HTML = "text/html;charset=utf-8"
TEXT = "text/plain;charset=utf-8"
MOST_BYTES = 1_000_000
"""The bytes of a log that are shown; our own interface gives all of it."""

LIST = "/ws/v1/cluster/apps"
PAGE = "/cluster/apps"
BROWSERS = "application/xhtml+xml"
"""What all browsers accept; Java's clients say text/html as well."""
_PAGE = (
    "<!DOCTYPE html><html><head><meta charset='utf-8'><title>{title}</title></head>"
    "<body><h1>{title}</h1>{body}</body></html>"
)


async def show_page(request: Request) -> Response:
    """GET /cluster: clients probe it to see whether a ResourceManager is active. Browsers
    are sent to our list of applications."""
    if BROWSERS in request.headers.get("accept", "") and request.url.path != PAGE:
        return RedirectResponse(PAGE, 302)
    try:
        caller = await identify(request)
    except Rejected as rejected:
        return Response(rejected.content, rejected.status, dict(rejected.headers))
    body = f"<p>They are listed by <a href='{LIST}'>{LIST}</a>. You are {escape(caller.user)}.</p>"
    headers = {**HEADERS, "Content-Type": HTML}
    if caller.cookie:
        headers["Set-Cookie"] = caller.cookie
    return HTMLResponse(_PAGE.format(title=TITLE, body=body), headers=headers)


async def show_life(request: Request) -> Response:
    """GET /isActive."""
    headers = {**HEADERS, "Connection": "close", "Content-Type": TEXT}
    return PlainTextResponse("I am Active!", headers=headers)


async def show_robots(request: Request) -> Response:
    """GET /robots.txt: disallows all crawling."""
    return PlainTextResponse("User-agent: *\nDisallow: /\n", 302, {**HEADERS, "Content-Type": TEXT})


async def show_state(request: Request) -> Response:
    """GET /cluster/apps/STATE: the list of applications in one of YARN's states."""
    state = request.path_params["state"]
    if state not in APPLICATION_STATES:
        raise HTTPException(404, f"{state} is not a state of applications")
    if BROWSERS in request.headers.get("accept", ""):
        return RedirectResponse(f"{PAGE}?state={state}", 302)
    return await show_page(request)


async def show_logs(request: Request) -> Response:
    """GET /node/containerlogs/CONTAINER/USER: the logs of a container, or its node's page with
    them."""
    gateway = gateway_of(request)
    try:
        _, container = read_container_id(request.path_params["container"])
    except Refused:
        raise HTTPException(404) from None
    name = container_name(gateway.scheduler.state.epoch_ms, container)
    directory = gateway.files(container)
    application = gateway.scheduler.state.applications.get(application_of(container))
    if application is None:
        raise HTTPException(404)
    await checked_caller(request, application)
    if directory is None:
        node = gateway.node_of(container)
        if node is None:
            raise HTTPException(404)
        return RedirectResponse(logs_url(gateway, node, name, application.user), 302)
    parts = []
    for title, path in (("stdout", directory.stdout), ("stderr", directory.stderr)):
        content = await run_in_threadpool(_end_of, path)
        parts.append(f"<h2>{title}</h2><pre>{escape(content.decode(errors='replace'))}</pre>")
    return HTMLResponse(_PAGE.format(title=escape(name), body="".join(parts)))


def _end_of(path: Path) -> bytes:
    """The last `MOST_BYTES` of a log; empty if there is none."""
    _, size = read_part(path, 0, 0)
    return read_part(path, max(0, size - MOST_BYTES), MOST_BYTES)[0]


ROUTES = [
    Route("/cluster", show_page),
    Route("/cluster/", show_page),
    Route(PAGE, show_page),
    Route(f"{PAGE}/{{state}}", show_state),
    Route("/cluster/app/{application}", show_page),
    Route("/isActive", show_life),
    Route("/robots.txt", show_robots),
    Route("/node/containerlogs/{container}/{user}", show_logs),
]
