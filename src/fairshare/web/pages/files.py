"""Owns the files of the pages: the shell at the addresses of the views, modules and styles below
`/static`, and the policy by which a browser runs nothing but these.

The pages have no build step: what lies in `static/` is what a browser gets. It is read once, when
the server starts, so that an update never mixes two versions. Must not know what a view shows.
"""

import hashlib
import mimetypes
from pathlib import Path

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from fairshare.web.answers import refusal

STATIC = Path(__file__).parent / "static"
SHELL = "index.html"

VIEWS = (
    "/",
    "/cluster/scheduler",
    "/cluster/apps",
    "/cluster/app/{application}",
    "/cluster/nodes",
    "/cluster/node/{node}",
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

_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


class PageFile(msgspec.Struct, frozen=True):
    """One file as it is sent; `tag` says which version it is."""

    content: bytes
    media_type: str
    tag: str

    def answer(self, request: Request) -> Response:
        """The file, or 304 for who has it: a browser asks each time whether it has changed."""
        headers = {
            "Content-Security-Policy": POLICY,
            "Cache-Control": "no-cache",
            "ETag": self.tag,
        }
        if request.headers.get("if-none-match") == self.tag:
            return Response(status_code=304, headers=headers)
        return Response(self.content, headers=headers, media_type=self.media_type)


def read_files() -> dict[str, PageFile]:
    """All files of the pages by their path below `static/`."""
    found = {}
    for path in sorted(STATIC.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            guessed = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
            tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
            kind = _TYPES.get(path.suffix, guessed)
            found[path.relative_to(STATIC).as_posix()] = PageFile(content, kind, tag)
    return found


def page_routes() -> list[BaseRoute]:
    """The addresses of the views, with and without a slash behind, and `/static`."""
    files = read_files()

    async def show_shell(request: Request) -> Response:
        return files[SHELL].answer(request)

    async def show_file(request: Request) -> Response:
        file = files.get(request.path_params["file"])
        if file is None:
            path = request.url.path
            return refusal(404, "unknown-path", f"the pages have no file {path}")
        return file.answer(request)

    found: list[BaseRoute] = []
    for path in VIEWS:
        found.append(Route(path, show_shell))
        if path != "/":
            found.append(Route(f"{path}/", show_shell))
    return [*found, Route("/static/{file:path}", show_file)]
