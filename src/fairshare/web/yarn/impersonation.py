"""Owns the rules of `hadoop.proxyuser.*`: who may act for whom, and from which hosts
(Hadoop: DefaultImpersonationProvider, MachineList)."""

import socket
from functools import lru_cache
from ipaddress import ip_address, ip_network

from fairshare.config.web import WebSettings

LOOPBACK = "127.0.0.1"


def may_act(
    settings: WebSettings, user: str, acting: str, groups: tuple[str, ...], address: str = LOOPBACK
) -> bool:
    """Whether one user, from an IP address, may act for another one with these groups."""
    return is_proxy(settings, user, acting, groups) and is_proxy_host(settings, user, address)


def is_proxy(settings: WebSettings, user: str, acting: str, groups: tuple[str, ...]) -> bool:
    """Whether the lists of users and groups name the other one."""
    users = _names(settings, user, "users")
    allowed = _names(settings, user, "groups")
    return bool("*" in users | allowed or acting in users or allowed & set(groups))


def is_proxy_host(settings: WebSettings, user: str, address: str) -> bool:
    """Whether the list of hosts has an IP address: itself, in a range such as 10.1.0.0/16, or by a
    host's name."""
    hosts = _names(settings, user, "hosts")
    return "*" in hosts or any(_is_in(address, host) for host in hosts)


def _names(settings: WebSettings, user: str, what: str) -> set[str]:
    text = settings.proxies.get(user, {}).get(what, "")
    return {name.strip() for name in text.split(",") if name.strip()}


def _is_in(address: str, host: str) -> bool:
    found = ip_address(address)
    if host == "localhost" and found.is_loopback:
        return True
    try:
        return found in ip_network(host, strict=False)
    except ValueError:
        return address in _addresses(host)


@lru_cache(256)
def _addresses(host: str) -> frozenset[str]:
    """The addresses of a host by its name, looked up once, as in Hadoop."""
    try:
        return frozenset(str(found[4][0]) for found in socket.getaddrinfo(host, None))
    except OSError:
        return frozenset()
