"""The files of the pages: the shell at the addresses of the views, modules and styles below
`/static`, and the content security policy that allows a browser to run only these.

The pages have no build step: a browser gets the files of `static/`. They are read once per process,
so that an update never mixes two versions.
"""

import functools
import hashlib
import mimetypes
import re
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path, PurePosixPath

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from fairshare.server.web.answers import refusal

STATIC = Path(__file__).parent / "static"
SHELL = "index.html"

VIEWS = {
    "/": "views/scheduler.js",
    "/cluster/scheduler": "views/scheduler.js",
    "/cluster/apps": "views/applications.js",
    "/cluster/app/{application}": "views/application.js",
    "/cluster/nodes": "views/nodes.js",
    "/cluster/node/{node}": "views/node.js",
    "/cluster/users": "views/users.js",
    "/cluster/board": "views/board.js",
    "/cluster/ledger": "views/ledger.js",
    "/cluster/cron": "views/cron.js",
    "/cluster/bookings": "views/bookings.js",
    "/cluster/configuration": "views/configuration.js",
}
"""Every view has an address; all addresses get the same shell, which draws the view of its address
and preloads the view's module with all imports in parallel."""

MAIN = "main.js"
PLACE = "<!-- modules -->"

_IMPORT = re.compile(r'^import [^"]*"(\.{1,2}/[^"]+)";', re.MULTILINE)

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
"""No inline script or style, no resource from another origin, no request to another origin."""

_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


class PageFile(msgspec.Struct, frozen=True):
    """One file as it is sent; `tag` identifies its version."""

    content: bytes
    media_type: str
    tag: str

    def answer(self, request: Request) -> Response:
        """The file, or 304 if the browser has it: a browser revalidates it each time."""
        headers = {
            "Content-Security-Policy": POLICY,
            "Cache-Control": "no-cache",
            "ETag": self.tag,
        }
        if request.headers.get("if-none-match") == self.tag:
            return Response(status_code=304, headers=headers)
        return Response(self.content, headers=headers, media_type=self.media_type)


@functools.cache
def read_files() -> dict[str, PageFile]:
    """All files of the pages by their path below `static/`."""
    files = {}
    for path in sorted(STATIC.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            guessed = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
            kind = _TYPES.get(path.suffix, guessed)
            file = PageFile(content, kind, _tag_of(content))
            files[path.relative_to(STATIC).as_posix()] = file
    return files


def _tag_of(content: bytes) -> str:
    return f'"{hashlib.sha256(content).hexdigest()[:32]}"'


def modules_of(entry: str, files: Mapping[str, PageFile]) -> list[str]:
    """A module and all that it imports, by their paths below `static/`, the entry first."""
    modules = {entry: None}
    waiting = [entry]
    while waiting:
        path = waiting.pop()
        for named in _IMPORT.findall(files[path].content.decode()):
            parts: list[str] = []
            for part in (PurePosixPath(path).parent / named).parts:
                if part == "..":
                    parts.pop()
                elif part != ".":
                    parts.append(part)
            other = "/".join(parts)
            if other not in modules:
                modules[other] = None
                waiting.append(other)
    return list(modules)


def shell_of(view: str, files: Mapping[str, PageFile]) -> PageFile:
    """The shell of one view: it names the modules that the view needs."""
    modules = dict.fromkeys([*modules_of(MAIN, files), *modules_of(view, files)])
    links = "\n".join(f'<link rel="modulepreload" href="/static/{path}">' for path in modules)
    content = files[SHELL].content.replace(PLACE.encode(), links.encode())
    return PageFile(content, files[SHELL].media_type, _tag_of(content))


def unknown_page() -> Response:
    """The shell, which says that it has no view at an address, for browsers."""
    files = read_files()
    shell = shell_of(VIEWS["/"], files)
    headers = {"Content-Security-Policy": POLICY, "Cache-Control": "no-store"}
    return Response(shell.content, 404, headers, media_type=shell.media_type)


@functools.cache
def page_routes() -> tuple[BaseRoute, ...]:
    """The addresses of the views, with and without a slash behind, and `/static`."""
    files = read_files()

    def showing(shell: PageFile) -> Callable[[Request], Awaitable[Response]]:
        async def show_shell(request: Request) -> Response:
            return shell.answer(request)

        return show_shell

    async def show_file(request: Request) -> Response:
        file = files.get(request.path_params["file"])
        if file is None:
            path = request.url.path
            return refusal(404, "unknown-path", f"the pages have no file {path}")
        return file.answer(request)

    routes: list[BaseRoute] = []
    for path, view in VIEWS.items():
        show_shell = showing(shell_of(view, files))
        routes.append(Route(path, show_shell))
        if path != "/":
            routes.append(Route(f"{path}/", show_shell))
    return (*routes, Route("/static/{file:path}", show_file))
