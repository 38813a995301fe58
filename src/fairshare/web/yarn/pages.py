"""Owns the other paths of a ResourceManager's port, beside `/ws/v1/cluster`: the page that clients
probe, the liveness check, and the logs of containers
(Hadoop: RMWebApp).
"""

import json
from html import escape
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from fairshare.model.identifiers import application_of, container_name
from fairshare.web.containers import read_part
from fairshare.web.yarn.access import checked_caller
from fairshare.web.yarn.answering import HEADERS
from fairshare.web.yarn.application_documents import logs_url
from fairshare.web.yarn.callers import Rejected, identify
from fairshare.web.yarn.cluster import ClusterMetrics, metrics_of
from fairshare.web.yarn.errors import Refused
from fairshare.web.yarn.gateway import gateway_of
from fairshare.web.yarn.names import read_container_id

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


async def show_beans(request: Request) -> Response:
    """GET /jmx: the metrics of the cluster as beans; `qry` names one, `get` one attribute."""
    wanted = request.query_params.get("qry", "")
    attribute = request.query_params.get("get", "")
    content: dict[str, object]
    if attribute and "::" not in attribute:
        content = {"result": "ERROR", "message": "query format is not as expected."}
    else:
        name = attribute.partition("::")[0] or wanted
        beans = _beans(await metrics_of(gateway_of(request)))
        content = {"beans": [bean for bean in beans if _matches(name, str(bean["name"]))]}
    headers = {
        **HEADERS,
        "Access-Control-Allow-Methods": "GET",
        "Access-Control-Allow-Origin": "*",
        "Content-Type": "application/json; charset=utf8",
    }
    return Response(json.dumps(content, indent=2), 200, headers)


def _beans(metrics: ClusterMetrics) -> list[dict[str, object]]:
    domain = "Hadoop:service=ResourceManager,name="
    return [
        {
            "name": domain + "ClusterMetrics",
            "modelerType": "ClusterMetrics",
            "NumActiveNMs": metrics.activeNodes,
            "NumDecommissioningNMs": metrics.decommissioningNodes,
            "NumDecommissionedNMs": metrics.decommissionedNodes,
            "NumLostNMs": metrics.lostNodes,
            "NumUnhealthyNMs": metrics.unhealthyNodes,
            "NumRebootedNMs": metrics.rebootedNodes,
            "NumShutdownNMs": metrics.shutdownNodes,
        },
        {
            "name": domain + "QueueMetrics,q0=root",
            "modelerType": "QueueMetrics,q0=root",
            "tag.Queue": "root",
            "AppsSubmitted": metrics.appsSubmitted,
            "AppsRunning": metrics.appsRunning,
            "AppsPending": metrics.appsPending,
            "AppsCompleted": metrics.appsCompleted,
            "AppsKilled": metrics.appsKilled,
            "AppsFailed": metrics.appsFailed,
            "AllocatedMB": metrics.allocatedMB,
            "AllocatedVCores": metrics.allocatedVirtualCores,
            "AllocatedContainers": metrics.containersAllocated,
            "AvailableMB": metrics.availableMB,
            "AvailableVCores": metrics.availableVirtualCores,
            "PendingMB": metrics.pendingMB,
            "PendingVCores": metrics.pendingVirtualCores,
            "PendingContainers": metrics.containersPending,
            "ReservedMB": metrics.reservedMB,
            "ReservedVCores": metrics.reservedVirtualCores,
            "ReservedContainers": metrics.containersReserved,
        },
    ]


def _matches(wanted: str, name: str) -> bool:
    """`*` at the end matches any text; an empty name matches all beans."""
    if not wanted or wanted == "*:*":
        return True
    return name.startswith(wanted[:-1]) if wanted.endswith("*") else name == wanted


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
    Route("/cluster/app/{application}", show_page),
    Route("/isActive", show_life),
    Route("/robots.txt", show_robots),
    Route("/jmx", show_beans),
    Route("/node/containerlogs/{container}/{user}", show_logs),
]
