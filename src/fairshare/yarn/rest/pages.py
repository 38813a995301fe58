"""The other paths of a ResourceManager's port, beside `/ws/v1/cluster`: the page that clients
probe, the lists by state, and the liveness check (Hadoop: RMWebApp); and for those who run it, its
configuration, its log, its threads, and the levels of its loggers (Hadoop: ConfServlet,
HttpServer2.StackServlet, LogLevel, AdminAuthorizedServlet).

Where callers prove who they are, only administrators see the latter, as with
`hadoop.security.instrumentation.requires.admin`.
"""

import json
import logging
import sys
import threading
import traceback
from collections.abc import Awaitable, Callable, Iterator
from html import escape
from pathlib import Path
from typing import Any, Final
from xml.sax.saxutils import escape as escape_xml

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from fairshare.api.yarn import APPLICATION_STATES
from fairshare.documents.problems import Place
from fairshare.server.configuration_editor import is_secret
from fairshare.server.web.containers import read_part
from fairshare.settings.site import Property
from fairshare.yarn.rest.answering import HEADERS, JSON, ServletRoute
from fairshare.yarn.rest.callers import Rejected, identify, is_administrator
from fairshare.yarn.rest.gateway import Gateway, gateway_of

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


HIDDEN: Final = "<redacted>"
_XML: Final = "text/xml;charset=utf-8"
_MOST_BYTES: Final = 1_000_000
"""The bytes of the end of a log that are shown."""
_LEVELS: Final = {
    "TRACE": "DEBUG", "DEBUG": "DEBUG", "INFO": "INFO", "WARN": "WARNING", "ERROR": "ERROR",
    "FATAL": "CRITICAL",
}  # fmt: skip

Page = Callable[[Request, Gateway], Awaitable[Response]]


def _for_administrators(page: Page) -> Callable[[Request], Awaitable[Response]]:
    async def checked(request: Request) -> Response:
        try:
            caller = await identify(request)
        except Rejected as rejected:
            return Response(rejected.content, rejected.status, dict(rejected.headers))
        gateway = gateway_of(request)
        if caller.proven and not is_administrator(gateway, caller):
            raise HTTPException(403, f"Unauthorized: {caller.user} is not an administrator")
        return await page(request, gateway)

    checked.__doc__ = page.__doc__
    return checked


async def show_configuration(request: Request, gateway: Gateway) -> Response:
    """GET /conf: the properties of the configuration files, with their files, and the defaults of
    all others that the server reads; `name` asks for one. Secrets are hidden. XML, or JSON for a
    caller that accepts it."""
    as_json = JSON in request.headers.get("accept", "")
    properties = {one.name: one for one in _properties(gateway)}
    name = request.query_params.get("name", "")
    if name and name not in properties:
        return Response(b"", 404, {**HEADERS, "Content-Type": JSON if as_json else _XML})
    chosen = [properties[name]] if name else list(properties.values())
    if not as_json:
        return Response(_as_xml(chosen), 200, {**HEADERS, "Content-Type": _XML})
    rows = [
        {
            "key": one.name,
            "value": _shown(one),
            "isFinal": one.final,
            "resource": Path(one.place.file).name,
        }
        for one in chosen
    ]
    content = {"property": rows[0]} if name else {"properties": rows}
    return Response(json.dumps(content), 200, {**HEADERS, "Content-Type": f"{JSON};charset=utf-8"})


def _properties(gateway: Gateway) -> Iterator[Property]:
    configuration = gateway.server.configuration.started
    if configuration is None:
        return
    site = configuration.site
    for name, value in site.defaults.items():
        yield Property(name, value, Place("default"))
    yield from site
    in_force = gateway.properties()
    for entry in site:
        value = in_force.get(entry.name, entry.value)
        if value != entry.value:
            yield Property(entry.name, value, entry.place, entry.final)


def _shown(one: Property) -> str:
    return HIDDEN if is_secret(one.name) else one.value


def _as_xml(properties: list[Property]) -> str:
    lines = ['<?xml version="1.0" encoding="UTF-8" standalone="no"?><configuration>']
    for entry in properties:
        name, value, source = (
            escape_xml(text) for text in (entry.name, _shown(entry), Path(entry.place.file).name)
        )
        final = str(entry.final).lower()
        lines.append(
            f"<property><name>{name}</name><value>{value}</value><final>{final}</final>"
            f"<source>{source}</source></property>"
        )
    return "\n".join([*lines, "</configuration>"])


async def show_threads(request: Request, gateway: Gateway) -> Response:
    """GET /stacks: what each thread does now."""
    frames = sys._current_frames()
    lines = ["Process Thread Dump: ", f"{len(frames)} active threads"]
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    for number, frame in frames.items():
        lines += [f"Thread {number} ({names.get(number, '')}):", "  State: RUNNABLE", "  Stack:"]
        lines += [
            f"    {one.filename}.{one.name}({Path(one.filename).name}:{one.lineno})"
            for one in reversed(traceback.extract_stack(frame, limit=100))
        ]
    return PlainTextResponse("\n".join([*lines, ""]), headers={**HEADERS, "Content-Type": TEXT})


async def list_logs(request: Request, gateway: Gateway) -> Response:
    """GET /logs/: the names of the server's logs, with links."""
    rows = "".join(
        f"<tr><td><a href='{name}'>{name}</a></td><td>{path.stat().st_size} bytes</td></tr>"
        for name, path in _logs(gateway).items()
    )
    head = "<html><head><title>Directory: /logs/</title></head>"
    return HTMLResponse(f"{head}<body><table>{rows}</table></body></html>", headers=HEADERS)


async def show_log(request: Request, gateway: Gateway) -> Response:
    """GET /logs/NAME: the end of one log."""
    path = _logs(gateway).get(request.path_params["name"])
    if path is None:
        raise HTTPException(404)
    _, size = await run_in_threadpool(read_part, path, 0, 0)
    data, _ = await run_in_threadpool(read_part, path, max(0, size - _MOST_BYTES), _MOST_BYTES)
    return Response(data, 200, {**HEADERS, "Content-Type": TEXT})


def _logs(gateway: Gateway) -> dict[str, Path]:
    """The server's log and its older files by name; not the audit log, which is its owner's."""
    log = gateway.server.directory.log
    return {path.name: path for path in sorted(log.parent.glob(f"{log.name}*")) if path.is_file()}


async def show_level(request: Request, gateway: Gateway) -> Response:
    """GET /logLevel: the level of the logger `log`, which `level` changes."""
    name, level = (request.query_params.get(key, "") for key in ("log", "level"))
    lines = ["<html><head><title>Log Level</title></head><body><h1>Log Level</h1>"]
    if name:
        # Of names that nothing has, no logger is made: none would ever be removed.
        known_logger = name in logging.root.manager.loggerDict
        logger = logging.getLogger(name) if known_logger else logging.root
        lines.append(f"Submitted Class Name: <b>{escape(name)}</b><br />")
        if level:
            known = _LEVELS.get(level.upper())
            lines.append(f"Submitted Level: <b>{escape(level)}</b><br />")
            if known is None:
                lines.append("Bad Level : <b>it is not one of " + ", ".join(_LEVELS) + "</b><br />")
            elif not (known_logger and name.startswith("fairshare")):
                words = "it is not that of a logger of fairshare"
                lines.append(f"Bad Class Name : <b>{words}</b><br />")
            else:
                logger.setLevel(known)
                lines.append("Setting Level to " + level.upper() + " ...<br />")
        shown = logging.getLevelName(logger.getEffectiveLevel())
        lines.append(f"Effective Level: <b>{'WARN' if shown == 'WARNING' else shown}</b><br />")
    lines.append(
        "<form>Class Name: <input name='log' />"
        " <input type='submit' value='Get Log Level' /></form></body></html>"
    )
    return HTMLResponse("\n".join(lines), headers=HEADERS)


async def _to_logs(request: Request) -> Response:
    return RedirectResponse("/logs/", 302)


ROUTES: Final[list[Any]] = [
    Route("/cluster", show_page),
    Route("/cluster/", show_page),
    Route(PAGE, show_page),
    Route(f"{PAGE}/{{state}}", show_state),
    Route("/cluster/app/{application}", show_page),
    Route("/isActive", show_life),
    Route("/robots.txt", show_robots),
    ServletRoute("/conf", _for_administrators(show_configuration)),
    ServletRoute("/stacks", _for_administrators(show_threads)),
    ServletRoute("/logs", _to_logs),
    ServletRoute("/logs/", _for_administrators(list_logs)),
    ServletRoute("/logs/{name}", _for_administrators(show_log)),
    ServletRoute("/logLevel", _for_administrators(show_level)),
]
