"""The table of YARN's paths, and their routes in the web application."""

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from fairshare.yarn.rest import (
    activities,
    administration,
    applications,
    attempts,
    beans,
    changes,
    cluster,
    labels,
    master_pages,
    nodes,
    own_node,
    pages,
    process_pages,
    refusals,
    submission,
)
from fairshare.yarn.rest.answering import HEADERS, YarnRoute

BASE = "/ws/v1/cluster"

_TOPICS = (
    cluster,
    activities,
    submission,  # `new-application` before the names of applications
    applications,
    attempts,
    changes,
    labels,
    nodes,
    administration,
    refusals,
)


async def nothing_here(request: Request) -> Response:
    """404 for every unknown path below `/ws`: an HTML page, as YARN sends it."""
    page = (
        "<!DOCTYPE html><html><head><title>Sorry, got error 404</title></head><body></body></html>"
    )
    return HTMLResponse(page, 404, {**HEADERS, "Content-Type": pages.HTML})


def yarn_routes() -> list[BaseRoute]:
    """All paths of YARN's interface. The application's state holds the `gateway`."""
    found: list[BaseRoute] = []
    for topic in _TOPICS:
        for route in topic.ROUTES:
            found.append(route)
            if route.path != "/":
                found.append(route.with_slash())
    return [
        *pages.ROUTES,
        *beans.ROUTES,
        *process_pages.ROUTES,
        *own_node.ROUTES,
        *master_pages.ROUTES,
        YarnRoute(BASE, get=cluster.show_info),
        Mount(BASE, routes=[*found, Route("/{rest:path}", nothing_here)]),
        Route("/ws/{rest:path}", nothing_here),
    ]
