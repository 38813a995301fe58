"""YARN's REST interface as a server mounts it: the table of its paths, and their routes."""

from collections.abc import Sequence
from typing import Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from fairshare.server.server import LiveServer
from fairshare.server.web.openapi.operation import ApiRoute
from fairshare.yarn.rest import (
    activities,
    administration,
    application_history,
    applications,
    beans,
    changes,
    cluster,
    labels,
    master_pages,
    nodes,
    own_node,
    pages,
    submission,
)
from fairshare.yarn.rest.answering import HEADERS, YarnRoute, is_trusted
from fairshare.yarn.rest.application_documents import ApplicationInfos
from fairshare.yarn.rest.gateway import Gateway
from fairshare.yarn.rest.master_pages import MasterCalls
from fairshare.yarn.rest.nodes import NodeInfos

BASE = "/ws/v1/cluster"

_TOPICS = (
    cluster,
    activities,
    submission,  # `new-application` before the names of applications
    applications,
    changes,
    labels,
    nodes,
    administration,
)


async def nothing_here(request: Request) -> Response:
    """404 for every unknown path below `/ws`: an HTML page, as YARN sends it."""
    page = (
        "<!DOCTYPE html><html><head><title>Sorry, got error 404</title></head><body></body></html>"
    )
    return HTMLResponse(page, 404, {**HEADERS, "Content-Type": pages.HTML})


def yarn_routes() -> list[BaseRoute]:
    """All paths of YARN's interface. The application's state holds the `gateway`."""
    routes: list[BaseRoute] = []
    for topic in _TOPICS:
        for route in topic.ROUTES:
            routes.append(route)
            if route.path != "/":
                routes.append(route.with_slash())
    return [
        *pages.ROUTES,
        *beans.ROUTES,
        *own_node.ROUTES,
        *master_pages.ROUTES,
        YarnRoute(BASE, get=cluster.show_info),
        Mount(BASE, routes=[*routes, Route("/{rest:path}", nothing_here)]),
        Mount(application_history.BASE, routes=application_history.routes()),
        Route("/ws/{rest:path}", nothing_here),
    ]


class YarnRest:
    """The paths of a ResourceManager, and of its web applications."""

    own_routes: Sequence[ApiRoute] = ()

    def routes(self) -> Sequence[BaseRoute]:
        return yarn_routes()

    def connect(self, app: Starlette, server: LiveServer) -> None:
        gateway = Gateway(server, server.directory.secret())
        app.state.gateway = gateway
        app.state.application_infos = ApplicationInfos(gateway)
        app.state.master_calls = MasterCalls()
        app.state.node_infos = NodeInfos(gateway)

    def trusts(self, app: Starlette, origin: str, path: str) -> bool:
        """As Hadoop's filter of cross-origin requests is configured."""
        settings = app.state.gateway.settings
        return path.startswith(BASE) and is_trusted(settings.cross_origin, origin)


INTERFACE: Final = YarnRest()
