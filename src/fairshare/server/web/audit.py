"""The choice of calls that the audit log records, and the content of their lines.

The log has every call that may change something, and every call that was refused for its caller's
identity or for a limit. Handlers add what only they know with `note`; the file itself is
`server/access/audit.py`.
"""

import asyncio
import re

import msgspec
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fairshare.core.model.identifiers import application_name, application_of, parse_container
from fairshare.server.access.audit import AuditEntry, instant, redacted
from fairshare.server.access.proxies import address_of_scope
from fairshare.server.access.repeated_messages import INTERVAL_S
from fairshare.server.access.tokens import Identity
from fairshare.server.server import LiveServer
from fairshare.server.web.guard import CHANGING_LOOKS

KEY = "fairshare.audit"
_LOOKING = frozenset({"GET", "HEAD", "OPTIONS"})
_REFUSED = frozenset({401, 403, 413, 429, 431})
_NAME = re.compile(r"/(?:applications|apps|containers)/((?:application|container)_\w+)")
_APPLICATION = re.compile(r"application_(\d{1,19})_(\d{1,19})")
_MOST_BYTES = 4096

REFUSALS_WITHOUT_PROOF = 5
REFUSALS_WITH_PROOF = 200
"""The number of refusals of one caller per interval that get a line; further ones are counted."""


class _Refusal(msgspec.Struct):
    """The facts to log from the body of an answer, in our form and in YARN's."""

    code: str = ""
    id: str = ""
    remote: dict[str, object] = msgspec.field(default_factory=dict, name="RemoteException")


def note(request: Request, **facts: str) -> None:
    """Add what a handler knows: `user`, `application`, `queue`. Empty facts are left out."""
    found = request.scope.setdefault(KEY, {})
    found.update({name: value for name, value in facts.items() if value})


class Audit:
    """The outermost middleware."""

    def __init__(self, app: ASGIApp, server: LiveServer, identity_key: str) -> None:
        self.app = app
        self.server = server
        self.identity_key = identity_key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope[KEY] = {}
        status = 0
        start = b""

        async def send_and_see(message: Message) -> None:
            nonlocal status, start
            if message["type"] == "http.response.start":
                status = message["status"]
            elif not start and message["type"] == "http.response.body":
                start = bytes(message.get("body", b"")[:_MOST_BYTES])
            await send(message)

        try:
            await self.app(scope, receive, send_and_see)
        except BaseException:
            status = status or 500
            raise
        finally:
            if status and is_redacted(scope["method"], scope.get("path", ""), status):
                self._write(self._entry(scope, status, start))

    def _write(self, entry: AuditEntry) -> None:
        """Refusals are counted per caller: the authenticated name, else the address."""
        audit = self.server.audit
        if entry.status < 400:
            audit.write(entry)
            return
        caller = entry.user if entry.proof else f"unknown at {entry.address}"
        many = entry.proof or not self.server.authentication.required
        if audit.refuse(caller, entry, REFUSALS_WITH_PROOF if many else REFUSALS_WITHOUT_PROOF):
            asyncio.get_running_loop().call_later(INTERVAL_S, audit.flush)

    def _entry(self, scope: Scope, status: int, start: bytes) -> AuditEntry:
        facts = scope[KEY]
        identity = scope.get(self.identity_key)
        proven = identity if isinstance(identity, Identity) else None
        user = facts.get("user", "")
        if proven is not None and user and user != proven.user:
            user = f"{user} (by {proven.user})"
        answer = _read(start)
        path = scope.get("path", "")
        name = facts.get("application") or _application(path) or answer.id
        return AuditEntry(
            at=instant(self.server.service.now_ms()),
            method=redacted(scope["method"]),
            path=redacted(path),
            status=status,
            user=redacted(user or (proven.user if proven is not None else "")),
            proof="" if proven is None else proven.proof,
            address=address_of_scope(scope),
            application=redacted(name),
            queue=redacted(facts.get("queue") or self._queue(name)),
            code=redacted(answer.code or str(answer.remote.get("exception", "")))
            if status >= 400
            else "",
        )

    def _queue(self, name: str) -> str:
        """The queue in which an application is now, if it is known."""
        found = _APPLICATION.fullmatch(name)
        if found is None:
            return ""
        application = self.server.service.state.applications.get(int(found[2]))
        return "" if application is None else application.queue


def is_redacted(method: str, path: str, status: int) -> bool:
    """Whether a call gets a line: read-only calls do if they were refused, or opened a session.

    >>> is_redacted("GET", "/api/v1/cluster", 200), is_redacted("POST", "/api/v1/applications", 201)
    (False, True)
    """
    if method not in _LOOKING or path.rstrip("/").endswith(CHANGING_LOOKS):
        return True
    return status in _REFUSED or status == 101  # a session in a container began


def _read(start: bytes) -> _Refusal:
    try:
        return msgspec.json.decode(start, type=_Refusal)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _Refusal()


def _application(path: str) -> str:
    """The id of the application that a path names."""
    match = _NAME.search(path)
    if match is None or match[1].startswith("application_"):
        return "" if match is None else match[1]
    container = parse_container(match[1])
    if container is None:
        return ""
    digits = match[1].split("_")[-4]
    return application_name(int(digits), application_of(container)) if digits.isdigit() else ""
