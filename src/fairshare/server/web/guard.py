"""The protection against foreign web pages: refuses requests that a page of another site makes a
browser send.

A page that the user visits can send requests to a loopback address. It cannot hide its origin, and
if it uses a name that it has pointed at 127.0.0.1 (DNS rebinding), the Host header contains that
name. So this middleware checks both before anything else.
"""

import ipaddress
from collections.abc import Callable, Mapping

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fairshare.server.web.answers import refusal

LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})

CHANGING_LOOKS = ("/scheduler-conf/format",)
"""Paths where a GET changes something, as in Hadoop."""

SAFE_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
"""Headers of every answer: a container's output stays text, and no other page embeds it."""


class Guard:
    """Middleware: refuses foreign names and foreign pages, and adds `SAFE_HEADERS`.

    `schemes` are those of its own pages. Clients may also use the addresses of a server that is
    `exposed` to the network.
    """

    def __init__(
        self,
        app: ASGIApp,
        names: frozenset[str] = LOOPBACK_NAMES,
        trusted: Callable[[str, str], bool] = lambda origin, path: False,
        *,
        schemes: tuple[str, ...] = ("http",),
        exposed: bool = False,
    ) -> None:
        self.app = app
        self.names = names
        self.schemes = schemes
        self.exposed = exposed
        self.trusted = trusted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = [*message.get("headers", ())]
                own = {name.lower() for name, _ in given}
                given += [(name, value) for name, value in SAFE_HEADERS if name not in own]
                message["headers"] = given
            await send(message)

        reason = self.refused(Headers(scope=scope), str(scope.get("path", "")))
        if reason is None:
            await self.app(scope, receive, send_safely)
            return
        await refusal(403, *reason)(scope, receive, send_safely)

    def refused(self, headers: Mapping[str, str], path: str = "") -> tuple[str, str] | None:
        """The code and the message of a refusal; None if the request may pass.

        `trusted` says which origins the configuration lets read a path.
        """
        host = headers.get("host", "")
        name = host_name(host)
        if name not in self.names and not (self.exposed and is_address(name)):
            return (
                "foreign-host",
                f"this server does not answer to the name {host!r}; "
                f"talk to it as one of {', '.join(sorted(self.names))}",
            )
        origin = headers.get("origin")
        if origin is not None and self.trusted(origin, path):
            return None
        if origin is not None and origin not in [f"{scheme}://{host}" for scheme in self.schemes]:
            return "foreign-origin", f"pages of {origin} may not talk to this server"
        if (
            path.rstrip("/").endswith(CHANGING_LOOKS)
            and headers.get("user-agent", "").startswith("Mozilla/")
            and "sec-fetch-site" not in headers
        ):
            # Hadoop changes something here for a GET, which any page can make a browser send; over
            # plain HTTP from elsewhere a browser does not say which page it was.
            return "foreign-origin", "a browser that does not say for which page may not do this"
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return "foreign-origin", "pages of another site may not talk to this server"
        return None


def is_address(name: str) -> bool:
    """Whether a name is an IP address, which no DNS record can redirect.

    >>> is_address("10.0.0.7"), is_address("[fe80::1]"), is_address("evil.example")
    (True, True, False)
    """
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def host_name(host: str) -> str:
    """The name in a Host header, without the port, in lower case.

    >>> host_name("LocalHost:8088"), host_name("[::1]:80"), host_name("[::1]")
    ('localhost', '[::1]', '[::1]')
    """
    name, _, port = host.rpartition(":")
    if not name or not port.isdigit():
        name = host
    return name.lower()
