"""The other paths of a ResourceManager's port, beside `/ws/v1/cluster`: the page that clients
probe, the lists by state, and the liveness check (Hadoop: RMWebApp).
"""

from html import escape

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from fairshare.api.yarn import APPLICATION_STATES
from fairshare.yarn.rest.answering import HEADERS
from fairshare.yarn.rest.callers import Rejected, identify

TITLE = "All Applications"
HTML = "text/html;charset=utf-8"
TEXT = "text/plain;charset=utf-8"
LIST = "/ws/v1/cluster/apps"
PAGE = "/cluster/apps"
BROWSERS = "application/xhtml+xml"
"""What all browsers accept; Java's clients say text/html as well."""
DOCUMENT = (
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
    return HTMLResponse(DOCUMENT.format(title=TITLE, body=body), headers=headers)


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


ROUTES = [
    Route("/cluster", show_page),
    Route("/cluster/", show_page),
    Route(PAGE, show_page),
    Route(f"{PAGE}/{{state}}", show_state),
    Route("/cluster/app/{application}", show_page),
    Route("/isActive", show_life),
    Route("/robots.txt", show_robots),
]
