"""Owns which proxies are believed, and from where a call comes that one of them passes on.

X-Forwarded-For counts only in a call whose peer is named below `[authentication]`, and there it is
read from the right: each proxy appends the address that it saw, so what stands to the left of the
first address that is no named proxy was written by the caller and may be anything.
"""

import ipaddress
from collections.abc import Iterable, Sequence

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Proxies:
    """The addresses and networks that are named below `[authentication]`."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._networks = [ipaddress.ip_network(text) for text in texts]

    def __bool__(self) -> bool:
        return bool(self._networks)

    def name(self, address: str) -> bool:
        """Whether an address is named."""
        if not self._networks:
            return False
        found = parsed(address)
        return found is not None and any(found in network for network in self._networks)

    def origin(self, peer: str, reported: Sequence[str]) -> str:
        """From where a call comes, whose headers X-Forwarded-For have the values `reported`.

        It is the last address that no named proxy has; with none that can be read it is the
        nearest one that can.

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
    """An address; one of IPv4 that is written as one of IPv6 is that of IPv4."""
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return None
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        return found.ipv4_mapped
    return found


def without_port(hop: str) -> str:
    """An address of X-Forwarded-For; some proxies write the port behind it.

    >>> without_port("192.0.2.9:55"), without_port("[2001:db8::1]:55"), without_port("2001:db8::1")
    ('192.0.2.9', '2001:db8::1', '2001:db8::1')
    """
    if hop.startswith("["):
        return hop[1:].partition("]")[0]
    return hop.partition(":")[0] if hop.count(":") == 1 else hop
