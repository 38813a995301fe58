"""Owns who may talk to the server at all: no page of another site, whatever a browser can be made
to send.

A page that the user visits can send requests to a loopback address. It cannot hide its origin, and
if it comes in by a name that it has pointed at 127.0.0.1 (DNS rebinding), that name stands in Host.
So both are checked before anything else is looked at.
"""

from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fairshare.web.answers import refusal

LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})

SAFE_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
"""On every answer: what a container prints stays text, and no other page embeds it."""


class Guard:
    """Middleware: refuses foreign names and foreign pages, and adds `SAFE_HEADERS`."""

    def __init__(self, app: ASGIApp, names: frozenset[str] = LOOPBACK_NAMES) -> None:
        self.app = app
        self.names = names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *SAFE_HEADERS]
            await send(message)

        reason = self.refused(Headers(scope=scope))
        if reason is None:
            await self.app(scope, receive, send_safely)
            return
        await refusal(403, *reason)(scope, receive, send_safely)

    def refused(self, headers: Mapping[str, str]) -> tuple[str, str] | None:
        """The code and the words of a refusal; None for what may pass."""
        host = headers.get("host", "")
        if host_name(host) not in self.names:
            return (
                "foreign-host",
                f"this server does not answer to the name {host!r}; "
                f"talk to it as one of {', '.join(sorted(self.names))}",
            )
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{host}":
            return "foreign-origin", f"pages of {origin} may not talk to this server"
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return "foreign-origin", "pages of another site may not talk to this server"
        return None


def host_name(host: str) -> str:
    """The name in a Host header, without the port, in lower case.

    >>> host_name("LocalHost:8088"), host_name("[::1]:80"), host_name("[::1]")
    ('localhost', '[::1]', '[::1]')
    """
    name, _, port = host.rpartition(":")
    if not name or not port.isdigit():
        name = host
    return name.lower()
