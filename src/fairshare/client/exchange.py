"""Owns what a client sends and gets by HTTP, and the ways in which that fails, for every transport.

Knows no library: `local_exchange` and `httpx_exchange` carry requests.
"""

import re
from collections.abc import Mapping
from typing import Any, Protocol
from urllib.parse import quote

import msgspec

from fairshare.api.routes import Route
from fairshare.client.discovery import UNIX
from fairshare.errors import InputError

BASE = "/api/v1"
CONNECT_TIMEOUT_S = 5.0
READ_TIMEOUT_S = 30.0


class Request(msgspec.Struct, frozen=True, gc=False):
    """One request; `path` is relative to BASE, `read_s` how long the server may be silent. It is
    `guarded` if the answer of a server that is not the expected one would do harm."""

    method: str
    path: str
    read_s: float = READ_TIMEOUT_S
    parameters: Mapping[str, str | int | float] = {}
    content: bytes | None = None
    media_type: str = ""
    guarded: bool = False


class Reply(msgspec.Struct, frozen=True, gc=False):
    """An answer of any status. Names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes


class ExchangeFailed(Exception):
    """No answer came; the message is the reason."""


class NotConnected(ExchangeFailed):
    """No server took the connection, so that nothing was sent."""


class AnsweredTooLate(ExchangeFailed):
    """The server was silent for longer than `read_s`."""


class Exchange(Protocol):
    """What carries requests to one server. May be used from several threads."""

    def send(self, request: Request) -> Reply:
        """The answer to a request; raises ExchangeFailed."""

    def close(self) -> None:
        """Close the sockets."""


def http_address(url: str) -> str:
    """The beginning of the URLs of a server, which has no name of its own on a Unix socket.

    >>> http_address("unix:/run/fairshare/fairshare.sock"), http_address("http://127.0.0.1:8088")
    ('http://localhost', 'http://127.0.0.1:8088')
    """
    return "http://localhost" if url.startswith(UNIX) else url


def segment(text: str) -> str:
    """One part of a path, so that an odd name cannot become another path.

    Raises InputError (`no-name`) for what would be another path however it is written.

    >>> segment("a/../b")
    'a%2F..%2Fb'
    """
    if text in ("", ".", ".."):
        raise InputError("no-name", f"{text!r} names nothing: write an id, a number or a name")
    return quote(text, safe="")


def path_of(route: Route[Any], *names: str | int) -> str:
    """The path of a route with names in it.

    >>> path_of(Route("GET", "/applications/{application}/tasks", None), 17)
    '/applications/17/tasks'
    """
    path = route.path
    for place, name in zip(re.findall(r"{\w+}", path), names, strict=True):
        path = path.replace(place, segment(str(name)))
    return path
