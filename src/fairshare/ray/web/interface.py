"""Ray's job interface as a server mounts it, with the table of its paths (Ray:
dashboard/modules/job/job_head.py).
"""

from collections.abc import Sequence
from typing import Final

import msgspec
from starlette.applications import Starlette
from starlette.routing import BaseRoute

from fairshare.api.ray_jobs import (
    RayJob,
    RayJobDeleted,
    RayJobLogs,
    RayJobRequest,
    RayJobStopped,
    RayJobSubmitted,
    RayVersion,
)
from fairshare.ray.web import jobs, packages
from fairshare.ray.web.known_jobs import JobIndex
from fairshare.server.server import LiveServer
from fairshare.server.web.openapi.operation import ApiRoute, Endpoint, Operation

ONE = "/api/jobs/{job}"
PACKAGE = "/api/packages/{protocol}/{package}"


def ray_routes() -> list[ApiRoute]:
    """All paths of Ray's job interface. The application's state holds `ray_jobs`."""
    return [
        _route("GET", "/api/version", jobs.show_version, RayVersion),
        _route("POST", "/api/jobs/", jobs.submit_job, RayJobSubmitted, RayJobRequest),
        _route("GET", "/api/jobs/", jobs.list_jobs, list[RayJob]),
        _route("GET", ONE, jobs.show_job, RayJob),
        _route("DELETE", ONE, jobs.delete_job, RayJobDeleted),
        _route("POST", f"{ONE}/stop", jobs.stop_job, RayJobStopped),
        _route("GET", f"{ONE}/logs", jobs.show_logs, RayJobLogs),
        _route("GET", f"{ONE}/logs/tail", jobs.follow_logs, "text/plain"),
        _route("GET", PACKAGE, packages.show_package, "text/plain"),
        _route("PUT", PACKAGE, packages.upload_package, "text/plain"),
    ]


def _route(
    method: str,
    path: str,
    endpoint: Endpoint,
    sent: object,
    body: type[msgspec.Struct] | None = None,
) -> ApiRoute:
    return ApiRoute(path, endpoint, method, Operation("ray jobs", sent, body=body))


class RayJobs:
    """The paths of Ray's dashboard that `ray job` calls."""

    own_routes: Sequence[ApiRoute] = packages.OWN_ROUTES

    def routes(self) -> Sequence[BaseRoute]:
        return ray_routes()

    def connect(self, app: Starlette, server: LiveServer) -> None:
        app.state.ray_jobs = JobIndex(lambda: server.service.state)

    def trusts(self, app: Starlette, origin: str, path: str) -> bool:
        """No page of another origin."""
        return False


INTERFACE: Final = RayJobs()
