"""The assembly of the web application: all routes, and the middleware in front of them."""

import asyncio
import time
from collections.abc import Sequence
from typing import Final, Protocol
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import BaseRoute, Mount

from fairshare.api.routes import BASE
from fairshare.server.access.proxies import Origin
from fairshare.server.server import LiveServer
from fairshare.server.settings import LiveSettings
from fairshare.server.web import (
    accounting,
    actors,
    application_lists,
    applications,
    bookings,
    cluster,
    configuration,
    containers,
    cron,
    driver,
    events,
    metrics,
    nodes,
    queues,
    sessions,
    sign_in,
    submissions,
    timelines,
)
from fairshare.server.web.audit import Audit
from fairshare.server.web.authentication import KEY, AuthenticationMiddleware
from fairshare.server.web.faults import HANDLERS
from fairshare.server.web.guard import LOOPBACK_NAMES, Guard, host_name
from fairshare.server.web.limits import Buckets, Sessions, Throttle, requests_per_second
from fairshare.server.web.listings import Listings
from fairshare.server.web.openapi import document
from fairshare.server.web.openapi.operation import ApiRoute
from fairshare.server.web.pages.files import page_routes
from fairshare.settings.parts import named


class Interface(Protocol):
    """The paths of another system: YARN's and Ray's rooms lie above, and are found by name."""

    @property
    def own_routes(self) -> Sequence[ApiRoute]:
        """What fairshare's programs need of it below `/api/v1`."""

    def routes(self) -> Sequence[BaseRoute]:
        """Its paths."""

    def connect(self, app: Starlette, server: LiveServer) -> None:
        """Put what its paths need into the state of the application."""

    def trusts(self, app: Starlette, origin: str, path: str) -> bool:
        """Whether a page of another origin may call a path."""


INTERFACES: Final[tuple[Interface, ...]] = (
    named("fairshare.yarn.rest.interface:INTERFACE"),
    named("fairshare.ray.web.interface:INTERFACE"),
)

ROUTES: Final[list[ApiRoute]] = [
    *actors.ROUTES,
    *cluster.ROUTES,
    *configuration.ROUTES,
    *queues.ROUTES,
    *timelines.ROUTES,
    *application_lists.ROUTES,
    *applications.ROUTES,
    *submissions.ROUTES,
    *containers.ROUTES,
    *(route for interface in INTERFACES for route in interface.own_routes),
    *sessions.ROUTES,
    *sign_in.ROUTES,
    *accounting.ROUTES,
    *bookings.ROUTES,
    *cron.ROUTES,
    *nodes.ROUTES,
    *driver.ROUTES,
    *events.ROUTES,
    *document.ROUTES,
]
"""The routes of `/api/v1`."""


def own_schemes(settings: LiveSettings) -> tuple[str, ...]:
    """The schemes by which a browser loads the server's own pages; a proxy may add TLS."""
    if settings.certificate:
        return ("https",)
    return ("http", "https") if settings.authentication.proxies else ("http",)


def build_app(server: LiveServer) -> Starlette:
    """The web application of one server, which has started and therefore knows its URL."""
    own_name = host_name(urlsplit(server.url).netloc)
    buckets = Buckets(requests_per_second(server.settings), time.monotonic)

    def trusted(origin: str, path: str) -> bool:
        return any(interface.trusts(app, origin, path) for interface in INTERFACES)

    app = Starlette(
        routes=[
            *page_routes(),
            *cluster.HEALTH_ROUTES,
            *metrics.ROUTES,
            Mount(BASE, routes=ROUTES),
            *(route for interface in INTERFACES for route in interface.routes()),
        ],
        middleware=[
            Middleware(metrics.Meter, metrics=server.metrics),
            Middleware(Origin, proxies=server.authentication.proxies),
            Middleware(Audit, server=server, identity_key=KEY),
            Middleware(
                Guard,
                names=LOOPBACK_NAMES | {own_name, *server.settings.names},
                schemes=own_schemes(server.settings),
                exposed=server.settings.authentication.required,
                trusted=trusted,
            ),
            Middleware(AuthenticationMiddleware, server=server, buckets=buckets),
            Middleware(Throttle, server=server, buckets=buckets, identity_key=KEY),
        ],
        exception_handlers=HANDLERS,
    )
    app.state.server = server
    cron.connect(server)
    app.state.accounting_questions = asyncio.Semaphore(accounting.AT_ONCE)
    app.state.password_turns = sign_in.Turns()
    app.state.sessions = Sessions(server.settings.limits)
    app.state.draft_turns = configuration.Turns()
    app.state.own_routes = ROUTES
    app.state.openapi = None
    app.state.listings = Listings(server)
    for interface in INTERFACES:
        interface.connect(app, server)
    return app
