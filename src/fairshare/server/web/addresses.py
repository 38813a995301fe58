"""The client address of a call: that of the peer, or the one that a trusted proxy reports."""

from starlette.types import ASGIApp, Receive, Scope, Send

from fairshare.server.access.proxies import Proxies

KEY = "fairshare.address"
FORWARDED = b"x-forwarded-for"


class Origin:
    """Outermost middleware: puts the client address of a call into the scope."""

    def __init__(self, app: ASGIApp, proxies: Proxies) -> None:
        self.app = app
        self.proxies = proxies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self.proxies:
            reported = [
                value.decode("latin-1") for name, value in scope["headers"] if name == FORWARDED
            ]
            scope[KEY] = self.proxies.origin(peer_of_scope(scope), reported)
        await self.app(scope, receive, send)


def address_of_scope(scope: Scope) -> str:
    """The client address of a call; empty if it is unknown."""
    address: str = scope.get(KEY) or peer_of_scope(scope)
    return address


def peer_of_scope(scope: Scope) -> str:
    """The address of the connection's peer; empty if it is unknown."""
    address: str = (scope.get("client") or ("",))[0]
    return address
