"""`/proxy/ID/`: the pages of an application's master, fetched from where the master serves them
(Hadoop: WebAppProxyServlet).

Masters admit only the host of this server, and read from a cookie who looks (Hadoop: AmIpFilter).
What they answer is an application's own content, so only named headers pass, in both directions.
"""

import asyncio
import contextlib
import ipaddress
import logging
import socket
import ssl
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from fairshare.core.model.identifiers import application_name
from fairshare.settings.parts import lazy
from fairshare.wording import cause
from fairshare.yarn.rest.callers import checked_caller
from fairshare.yarn.rest.errors import Refused
from fairshare.yarn.rest.gateway import Gateway, gateway_of
from fairshare.yarn.rest.parameters import find_application, read_bytes

if TYPE_CHECKING:
    import httpx
else:  # it loads a hundred modules, and few servers need it
    httpx = lazy("httpx")

_log = logging.getLogger("fairshare.server.web")

CONNECT_TIMEOUT_S = 5.0
READ_TIMEOUT_S = 60.0
MOST_AT_ONCE = 64
"""Requests to masters at one time; more are refused (503)."""

TO_MASTER = (
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "content-type",
    "if-modified-since",
    "if-none-match",
    "user-agent",
)
FROM_MASTER = (
    "cache-control",
    "content-disposition",
    "content-encoding",
    "content-length",
    "content-type",
    "etag",
    "expires",
    "last-modified",
    "location",
    "vary",
)
"""Headers that pass. A master can set no cookie here."""

SANDBOX = {
    "content-security-policy": "sandbox allow-scripts allow-forms allow-popups allow-downloads",
    "cross-origin-resource-policy": "cross-origin",
}
"""Headers of another user's pages where callers are authenticated: their scripts must not act for
the caller."""

_VIA = "1.1 fairshare"
"""Says that a request has come through here, so that it does not do so for ever."""

_NOT_ADMITTED = (
    "the master sends this server back to itself: its host does not admit this server's address;"
    " yarn.resourcemanager.webapp.address must name this server on the nodes, too"
)
_USER_COOKIE = "proxy-user"
_CHANGES = ("POST", "PUT")


async def show_master(request: Request) -> Response:
    """GET, POST and PUT /proxy/ID/: the page of a master that runs; once it is over, a redirect to
    the page that it named for then. Without one, to the application's own page."""
    gateway = gateway_of(request)
    try:
        application = find_application(gateway, request.path_params["application"])
    except Refused:
        raise HTTPException(404) from None
    caller = await checked_caller(request, application)
    name = application_name(gateway.scheduler.state.epoch_ms, application.id)
    last = gateway.attempt_history.of(application.id).attempt
    named = last.tracking_url if last is not None else ""
    if last is None or not named.startswith(("http://", "https://")):
        return RedirectResponse(f"/cluster/app/{name}", 302)
    runs = not application.over and application.attempt.unregistered is None
    address = await _address(gateway, named, last.node) if runs else None
    if address is None:
        return RedirectResponse(named, 302)
    if "rest" not in request.path_params:  # else relative links would lead elsewhere
        return RedirectResponse(f"/proxy/{name}/", 302)
    if _VIA in request.headers.get("via", ""):
        raise HTTPException(508, f"the master of {name} names this server as its own page")
    call = _Call(request, named, address, f"/proxy/{name}", caller.user)
    own = {} if caller.user == application.user or not caller.proven else SANDBOX
    return await call.answer(own)


async def _address(gateway: Gateway, url: str, node: str) -> str | None:
    """The IP address to call for a master's URL; None: browsers are sent there instead.

    A master on another machine must not have this server call its own machine's services, and
    none the services of a network's link.
    """
    parts = urlsplit(url)
    if parts.scheme != "http" or not parts.hostname:
        return None
    try:
        port = parts.port or 80
    except ValueError:
        return None
    found = await _resolved(parts.hostname, port)
    for text in found:
        address = ipaddress.ip_address(text)
        mapped = getattr(address, "ipv4_mapped", None)
        address = mapped or address
        if address.is_link_local or address.is_multicast or address.is_unspecified:
            continue
        if not address.is_loopback or await _is_here(gateway, node):
            return text
    return None


async def _is_here(gateway: Gateway, node: str) -> bool:
    """Whether a node is on this machine."""
    if not node:
        return False
    web_address = gateway.node_web_address(node)
    if web_address == gateway.address:
        return True
    host = urlsplit(f"//{web_address}").hostname
    found = await _resolved(host, 0) if host else []
    return any(ipaddress.ip_address(text).is_loopback for text in found)


async def _resolved(host: str, port: int) -> list[str]:
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return [str(one[4][0]).partition("%")[0] for one in found]


class MasterCalls:
    """The requests to masters that one server has open."""

    def __init__(self) -> None:
        self.open = 0


class _Call:
    """One request to a master, and its answer."""

    def __init__(self, request: Request, named: str, address: str, prefix: str, user: str) -> None:
        self._request = request
        self._prefix = prefix
        self._user = user
        parts = urlsplit(named)
        self._host = parts.netloc.rpartition("@")[2]
        self._base = parts.path.rstrip("/")
        raw = request.scope.get("raw_path") or quote(request.url.path).encode()
        path = raw.decode("latin-1").partition("?")[0]
        self._rest = "/" + path.split("/", 3)[3]
        host = f"[{address}]" if ":" in address else address
        self._url = f"http://{host}:{parts.port or 80}{self._base}{self._rest}"
        if request.url.query:
            self._url += f"?{request.url.query}"

    async def answer(self, own: dict[str, str]) -> Response:
        """The master's answer, with headers of our own; raises HTTPException."""
        calls: MasterCalls = self._request.app.state.master_calls
        content = await self._body()
        if calls.open >= MOST_AT_ONCE:
            raise HTTPException(503, "too many pages of masters are being fetched")
        async with contextlib.AsyncExitStack() as opened:
            calls.open += 1
            opened.callback(_one_less, calls)
            client = await opened.enter_async_context(_client())
            answer = await self._send(client, content)
            opened.push_async_callback(answer.aclose)
            headers = {name: answer.headers[name] for name in FROM_MASTER if name in answer.headers}
            if "location" in headers:
                headers["location"] = self._moved(headers["location"])
                if headers["location"] == self._own_path():
                    return PlainTextResponse(_NOT_ADMITTED, 502)
            page = _Page(self._content(answer), answer.status_code, {**headers, **own})
            page.opened = opened.pop_all()
            return page

    async def _body(self) -> bytes:
        if self._request.method not in _CHANGES:
            return b""
        try:
            return await read_bytes(self._request)
        except Refused as refused:
            raise HTTPException(refused.status, str(refused)) from None

    async def _send(self, client: "httpx.AsyncClient", content: bytes) -> "httpx.Response":
        given = self._request.headers
        passed = {name: given[name] for name in TO_MASTER if name in given}
        passed.setdefault("accept-encoding", "identity")  # the library would say that it reads gzip
        user = quote(self._user, safe="")
        own = {"host": self._host, "via": _VIA, "cookie": f"{_USER_COOKIE}={user}"}
        try:
            request = client.build_request(
                self._request.method, self._url, headers={**passed, **own}, content=content
            )
            return await client.send(request, stream=True)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            message = f"the master does not answer at {self._host}: {cause(error)}"
            raise HTTPException(502, message) from None

    async def _content(self, answer: "httpx.Response") -> AsyncIterator[bytes]:
        try:
            async for chunk in answer.aiter_raw():
                yield chunk
        except httpx.HTTPError as error:
            _log.warning("the page of a master at %s broke off: %s", self._host, cause(error))
            raise

    def _own_path(self) -> str:
        query = self._request.url.query
        return f"{self._prefix}{self._rest}" + (f"?{query}" if query else "")

    def _moved(self, location: str) -> str:
        """Where a redirect of the master leads below our own path; elsewhere it stays."""
        parts = urlsplit(location)
        mine = self._request.headers.get("host", "")
        if parts.netloc not in ("", self._host, mine) or not parts.path.startswith("/"):
            return location
        query = f"?{parts.query}" if parts.query else ""
        if parts.path.startswith(self._prefix):
            return parts.path + query
        if parts.netloc == mine and mine:
            return location
        return f"{self._prefix}{parts.path.removeprefix(self._base)}{query}"


class _Page(StreamingResponse):
    """A master's answer as it comes; `opened` is closed whether it was read to its end or not."""

    opened: contextlib.AsyncExitStack

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self.opened:
            await super().__call__(scope, receive, send)


def _one_less(calls: MasterCalls) -> None:
    calls.open -= 1


def _client() -> "httpx.AsyncClient":
    """For one request. Masters serve plain HTTP; proxies of the environment are ignored."""
    return httpx.AsyncClient(
        trust_env=False,
        verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
        timeout=httpx.Timeout(READ_TIMEOUT_S, connect=CONNECT_TIMEOUT_S),
    )


_METHODS = ["GET", *_CHANGES]

ROUTES = [
    Route("/proxy/{application}", show_master, methods=_METHODS),
    Route("/proxy/{application}/{rest:path}", show_master, methods=_METHODS),
]
