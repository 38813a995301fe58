"""Ray's job interface as a server mounts it."""

from collections.abc import Sequence
from typing import Final

from starlette.applications import Starlette
from starlette.routing import BaseRoute

from fairshare.ray.web import packages
from fairshare.ray.web.found import JobIndex
from fairshare.ray.web.routes import ray_routes
from fairshare.server.server import LiveServer
from fairshare.server.web.openapi.operation import ApiRoute


class RayJobs:
    """The paths of Ray's dashboard that `ray job` calls."""

    own_routes: Sequence[ApiRoute] = packages.OWN_ROUTES

    def routes(self) -> Sequence[BaseRoute]:
        """As `Interface.routes`."""
        return ray_routes()

    def connect(self, app: Starlette, server: LiveServer) -> None:
        """As `Interface.connect`."""
        app.state.ray_jobs = JobIndex(lambda: server.service.state)

    def trusts(self, app: Starlette, origin: str, path: str) -> bool:
        """No page of another origin."""
        return False


INTERFACE: Final = RayJobs()
