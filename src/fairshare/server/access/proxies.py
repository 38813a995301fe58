"""The trusted proxies, and the client address of calls that they forward.

X-Forwarded-For only counts in a call whose peer is listed below `[authentication]`, and is read
from the right: each proxy appends the address that it saw, so the client controls everything to the
left of the first address that is not a trusted proxy.
"""

import ipaddress
from collections.abc import Iterable, Sequence

from starlette.types import ASGIApp, Receive, Scope, Send

KEY = "fairshare.address"
FORWARDED = b"x-forwarded-for"

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Proxies:
    """The addresses and networks that are named below `[authentication]`."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._networks = [ipaddress.ip_network(text) for text in texts]

    def __bool__(self) -> bool:
        return bool(self._networks)

    def name(self, address: str) -> bool:
        """Whether an address is a trusted proxy."""
        if not self._networks:
            return False
        found = parsed(address)
        return found is not None and any(found in network for network in self._networks)

    def origin(self, peer: str, reported: Sequence[str]) -> str:
        """The client address of a call whose headers X-Forwarded-For have the values `reported`.

        It is the last address that is not a trusted proxy; if that one is unreadable, the nearest
        readable one.

        >>> Proxies(["10.0.0.0/8"]).origin("10.0.0.1", ["192.0.2.9, 198.51.100.7, 10.0.0.2"])
        '198.51.100.7'
        >>> Proxies(["10.0.0.0/8"]).origin("198.51.100.7", ["192.0.2.9"])
        '198.51.100.7'
        """
        nearest = peer
        hops = [hop for value in reported for hop in value.split(",")]
        while hops and self.name(nearest):
            found = parsed(without_port(hops.pop().strip()))
            if found is None:
                break
            nearest = str(found)
        return nearest


def parsed(text: str) -> Address | None:
    """An address; an IPv4-mapped IPv6 address becomes the IPv4 address."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def without_port(hop: str) -> str:
    """An address of X-Forwarded-For; some proxies append the port.

    >>> without_port("192.0.2.9:55"), without_port("[2001:db8::1]:55"), without_port("2001:db8::1")
    ('192.0.2.9', '2001:db8::1', '2001:db8::1')
    """
    if hop.startswith("["):
        return hop[1:].partition("]")[0]
    return hop.partition(":")[0] if hop.count(":") == 1 else hop


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
