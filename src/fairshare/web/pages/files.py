"""Owns the files of the pages: the shell at the addresses of the views, modules and styles below
`/static`, and the policy by which a browser runs nothing but these.

The pages have no build step: what lies in `static/` is what a browser gets. Must not know what a
view shows.
"""

import os
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

STATIC = Path(__file__).parent / "static"

VIEWS = (
    "/",
    "/cluster/scheduler",
    "/cluster/apps",
    "/cluster/app/{application}",
    "/cluster/nodes",
    "/cluster/configuration",
)
"""Every view is an address; all of them get the same shell, which draws the one it stands at."""

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
"""No script or style stands in a document, none comes from elsewhere, nothing is sent elsewhere."""

HEADERS = {"Content-Security-Policy": POLICY, "Cache-Control": "no-cache"}
"""A browser asks whether a file is still the same: after an update nobody sees half of two."""


class PageFiles(StaticFiles):
    """The files below `static/`, with the headers of the pages."""

    def file_response(
        self,
        full_path: str | os.PathLike[str],
        stat_result: os.stat_result,
        scope: Scope,
        status_code: int = 200,
    ) -> Response:
        """As ever, and the policy."""
        response = super().file_response(full_path, stat_result, scope, status_code)
        response.headers.update(HEADERS)
        return response


async def show_shell(request: Request) -> Response:
    """GET of a view: the document that loads the modules."""
    return FileResponse(STATIC / "index.html", headers=HEADERS, media_type="text/html")


def page_routes() -> list[BaseRoute]:
    """The addresses of the views, with and without a slash behind, and `/static`."""
    found: list[BaseRoute] = []
    for path in VIEWS:
        found.append(Route(path, show_shell))
        if path != "/":
            found.append(Route(f"{path}/", show_shell))
    return [*found, Mount("/static", app=PageFiles(directory=STATIC))]
