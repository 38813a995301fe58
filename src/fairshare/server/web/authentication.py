"""The authentication middleware: where authentication is on, an unauthenticated request may only
fetch the pages' static files. Callers of the Unix socket are identified always.

Authorization for an application or a queue is checked where the call is handled (`actors.py`).
"""

import asyncio
import logging
import re

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from fairshare.api.routes import BASE, SIGN_IN
from fairshare.core.model.identifiers import (
    ApplicationId,
    application_of,
    parse_application,
    parse_container,
)
from fairshare.errors import AccountsUnavailable
from fairshare.server.access.audit import redacted
from fairshare.server.access.authentication import may_change, may_look
from fairshare.server.access.peers import PREFIX as PEER
from fairshare.server.access.proxies import address_of_scope, peer_of_scope
from fairshare.server.access.repeated_messages import INTERVAL_S, RepeatedMessages
from fairshare.server.access.tokens import Identity, TokensUnreadable
from fairshare.server.server import LiveServer
from fairshare.server.web.answers import refusal
from fairshare.server.web.limits import Buckets, too_many_requests

KEY = "fairshare.identity"
OPEN = ("/cluster", "/static/", "/healthz", "/readyz", "/favicon.ico", f"{BASE}{SIGN_IN.path}")
"""Public paths: pages without data, which ask for a token themselves."""

_OWN = re.compile(r"/api/v1/(applications|containers)/([^/]+)(/.*)?")
_OWN_OF_YARN = re.compile(r"/ws/v1/cluster/(apps|containers)/([^/]+)(/.*)?")
_SHARED = frozenset({"/api/v1/changes", "/api/v1/cluster"})

LINES = 20
"""The number of refusals of one caller per interval that get a line in the log."""

_log = logging.getLogger("fairshare.access")


class AuthenticationMiddleware:
    """Middleware: puts the caller's identity into the scope, or answers 401 or 403."""

    def __init__(self, app: ASGIApp, server: LiveServer, buckets: Buckets) -> None:
        self.app = app
        self.server = server
        self.buckets = buckets
        self.authentication = server.authentication
        self._unreadable = ""
        self._refusals: RepeatedMessages[str] = RepeatedMessages(_log_refusal)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        peer = peer_of_scope(scope)
        needed = self.authentication.required or peer.startswith(PEER)
        if scope["type"] != "http" or not needed or is_open(path):
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        address = address_of_scope(scope)
        twice = [name for name in self.authentication.headers if len(headers.getlist(name)) > 1]
        try:
            if not self.authentication.peers.knows(peer):
                await run_in_threadpool(self.authentication.peers.identify, peer)
            identity = None
            if not twice:
                identity = self.authentication.identify(headers, peer)
        except AccountsUnavailable as error:
            await refusal(503, error.code, str(error))(scope, receive, send)
            return
        except TokensUnreadable as error:
            await self._answer_unreadable(error)(scope, receive, send)
            return
        if identity is None:
            wait_s = self.buckets.take(f"unknown at {address}")
            if wait_s:
                await too_many_requests(wait_s)(scope, receive, send)
                return
            if twice:
                self._note_refusal(address, f"400 from {address}: the header {twice[0]} came twice")
                await given_twice(twice[0])(scope, receive, send)
                return
            tried = "authorization" in headers
            why = "an unknown, revoked or expired token" if tried else "no credentials"
            where = f"{scope['method']} {redacted(path)} from {address or 'an unknown address'}"
            self._note_refusal(address, f"401 {where}: {why}")
            answer = refusal(
                401,
                "wrong-token" if tried else "no-token",
                self._why_wrong() if tried else self._how_to_authenticate(peer),
                {"WWW-Authenticate": "Bearer"},
            )
            await answer(scope, receive, send)
            return
        scope[KEY] = identity
        if identity.application is not None and not is_its_own(identity, path):
            where = f"{scope['method']} {redacted(path)}"
            self._note_refusal(identity.user, f"403 {where}: a driver's token elsewhere")
            answer = refusal(
                403, "access-denied", "a driver's token opens its own application and nothing else"
            )
            await answer(scope, receive, send)
            return
        reason = await self._closed(identity, path, scope["method"] in ("GET", "HEAD"))
        if reason:
            self._note_refusal(identity.user, f"403 {scope['method']} {redacted(path)}: {reason}")
            await refusal(403, "access-denied", reason)(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def _why_wrong(self) -> str:
        settings = self.server.settings.authentication
        wrong = "this token is unknown, revoked or too old"
        if not settings.tokens:
            wrong += ", or an administrator's, which this server does not take"
        ways = []
        if settings.account_tokens:
            ways.append("print one of your own on the server's machine with `fairshare login`")
        if settings.tokens:
            ways.append("ask an administrator for a new one")
        else:
            ways.append(
                "have tokens = true set below [authentication] in fairshare.toml, and the server"
                " restarted"
            )
        return f"{wrong}: {', or '.join(ways)}"

    def _how_to_authenticate(self, peer: str) -> str:
        if peer.startswith(PEER):
            return (
                f"your account ({peer.removeprefix(PEER)}) has no name on the server's machine: it"
                " needs one there, or a token"
            )
        proof = (
            "send 'Authorization: Bearer TOKEN' with a token of `fairshare login`, or one that an"
            " administrator has made for you (FAIRSHARE_TOKEN for the command line)"
        )
        path = self.server.settings.socket
        local = f"on the server's machine call unix:{path}, elsewhere " if path else ""
        return f"say who you are: {local}{proof}"

    def _note_refusal(self, caller: str, words: str) -> None:
        """Log a refusal; repeated refusals of one caller get a few lines, and then a count."""
        if self._refusals.add(caller, words, LINES):
            asyncio.get_running_loop().call_later(INTERVAL_S, self._refusals.flush)

    def _answer_unreadable(self, error: TokensUnreadable) -> Response:
        """The answer to callers, who cannot fix the cause; the reason is logged once."""
        if str(error) != self._unreadable:
            self._unreadable = str(error)
            _log.error("tokens cannot be checked, and their callers are refused: %s", error)
        return refusal(
            503,
            "tokens-unreadable",
            "this server cannot check tokens at present: tell who administers it; its log says why",
        )

    async def _closed(self, identity: Identity, path: str, looks: bool) -> str:
        """Why a user may not view an application, or change it; empty if the user may, or if the
        application does not exist."""
        form = _OWN.fullmatch(path)
        number = None if form is None else _application_in(form.group(1), form.group(2))
        application = None if number is None else self.server.service.state.applications.get(number)
        if application is None or identity.user == application.user:
            return ""
        groups = await run_in_threadpool(self.server.groups.of, identity.user)
        if self.server.may_open(identity, groups, application):
            return ""
        rights = may_look if looks else may_change
        if identity.application is None and rights(application, identity.user, groups):
            return ""
        return (
            f"you are {identity.user}, and this application is {application.user}'s: only its "
            "owner, users in the application's lists, and administrators of its queue or of the "
            "cluster may do this"
        )


def _log_refusal(words: str, repeated: int, key: str) -> None:
    if repeated:
        _log.warning(
            "%s (the last of %d more within %d s, of %s)", words, repeated, INTERVAL_S, key
        )
    else:
        _log.warning("%s", words)


def given_twice(name: str) -> Response:
    """The answer to a call that states its sender in two ways: one of them may be forged."""
    return refusal(
        400,
        "bad-request",
        f"the header {name} is there more than once, so that it is unclear which one counts: a"
        " proxy must replace what its callers send",
    )


def is_open(path: str) -> bool:
    """Whether a path needs no authentication: the pages' static files, and the health checks."""
    return path == "/" or path.startswith(OPEN)


def is_its_own(identity: Identity, path: str) -> bool:
    """Whether a path belongs to a driver's own application, or to no application."""
    if path in _SHARED:
        return True
    form = _OWN.fullmatch(path) or _OWN_OF_YARN.fullmatch(path)
    if form is None:
        return False
    return _application_in(form.group(1), form.group(2)) == identity.application


def _application_in(kind: str, name: str) -> ApplicationId | None:
    if kind in ("applications", "apps"):
        return parse_application(name)
    container = parse_container(name)
    return None if container is None else application_of(container)
