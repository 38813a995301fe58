"""Exchanges by httpx: with servers on other machines, over TLS, through proxies, in loops.

Importing httpx takes longer than most commands: `local_exchange` spares them it.
"""

import os
import socket
import ssl
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import httpx

from fairshare.api.routes import BASE
from fairshare.client.discovery import UNIX, is_loopback
from fairshare.client.exchange import (
    CONNECT_TIMEOUT_S,
    READ_TIMEOUT_S,
    AnsweredTooLate,
    ExchangeFailed,
    NotConnected,
    Reply,
    Request,
    check_account,
    http_address,
)

Trace = Callable[[str, dict[str, Any]], None]
"""Gets what httpcore does, before it does the next thing."""


class HttpxExchange:
    """Carries requests to one server; `transport` replaces the network, for tests."""

    def __init__(self, url: str, token: str | None, transport: httpx.BaseTransport | None) -> None:
        self._url = url
        self._guarded = bool(token)
        self._extensions = {"trace": closing(checking(url))} if transport is None else {}
        self._http = httpx.Client(transport=transport or unix_transport(url), **manners(url, token))

    def send(self, request: Request) -> Reply:
        """The answer to a request; raises ExchangeFailed."""
        try:
            more = spelled(request)
            if self._guarded or request.guarded:
                more["extensions"] = self._extensions
            with self._http.stream(**more) as response:
                if request.guarded:
                    check_answer(response, self._url)
                response.read()
                return reply(response)
        except httpx.HTTPError as error:
            raise failure(error) from error

    def close(self) -> None:
        """Close the sockets."""
        self._http.close()


class AsyncHttpxExchange:
    """The same for one event loop."""

    def __init__(
        self, url: str, token: str | None, transport: httpx.AsyncBaseTransport | None
    ) -> None:
        self._url = url
        self._guarded = bool(token)
        checked = checking(url)

        async def trace(event: str, details: dict[str, Any]) -> None:
            try:
                checked(event, details)
            except BaseException:
                await details["return_value"].aclose()
                raise

        self._extensions = {"trace": trace} if transport is None else {}
        if transport is None and url.startswith(UNIX):
            transport = httpx.AsyncHTTPTransport(verify=False, uds=url.removeprefix(UNIX))
        self._http = httpx.AsyncClient(transport=transport, **manners(url, token))

    async def send(self, request: Request) -> Reply:
        """The answer to a request; raises ExchangeFailed."""
        try:
            more = spelled(request)
            if self._guarded or request.guarded:
                more["extensions"] = self._extensions
            async with self._http.stream(**more) as response:
                if request.guarded:
                    check_answer(response, self._url)
                await response.aread()
                return reply(response)
        except httpx.HTTPError as error:
            raise failure(error) from error

    async def close(self) -> None:
        """Close the sockets."""
        await self._http.aclose()


def checking(url: str) -> Trace:
    """Checks the account behind each new connection, before a token is sent over it: a trace of
    httpcore."""

    hosts = [""]

    def check(event: str, details: dict[str, Any]) -> None:
        if event == "connection.connect_tcp.started":
            hosts[0] = details["host"]
        if event == "connection.connect_tcp.complete" and hosts[0] == urlsplit(url).hostname:
            check_account(details["return_value"].get_extra_info("socket"), url)  # not a proxy

    return check


def closing(check: Trace) -> Trace:
    """The same, and a connection that is not sent anything is closed."""

    def trace(event: str, details: dict[str, Any]) -> None:
        try:
            check(event, details)
        except BaseException:
            details["return_value"].close()
            raise

    return trace


def check_answer(response: httpx.Response, url: str) -> None:
    """Check the account that has answered, before the answer is used."""
    stream = response.extensions.get("network_stream")
    found = None if stream is None else stream.get_extra_info("socket")
    if found is not None and found.family != socket.AF_UNIX and is_loopback(url):
        check_account(found, url)


def manners(url: str, token: str | None) -> dict[str, Any]:
    """How requests are made, synchronous or not."""
    return {
        # Certificates take 20 ms to read; redirections, which could lead to TLS, are not followed.
        "verify": trust() if url.startswith("https:") else False,
        "base_url": http_address(url) + BASE,
        "headers": {"Authorization": f"Bearer {token}"} if token else {},
        "timeout": httpx.Timeout(READ_TIMEOUT_S, connect=CONNECT_TIMEOUT_S),
        "trust_env": not is_loopback(url),
    }


def spelled(request: Request) -> dict[str, Any]:
    """A request as httpx's arguments."""
    return {
        "method": request.method,
        "url": request.path,
        "params": request.parameters,
        "content": request.content,
        "headers": {"Content-Type": request.media_type} if request.media_type else {},
        "timeout": httpx.Timeout(request.read_s, connect=CONNECT_TIMEOUT_S),
    }


def reply(response: httpx.Response) -> Reply:
    """An answer of httpx, whose headers it has in lower case."""
    return Reply(response.status_code, dict(response.headers), response.content)


def failure(error: httpx.HTTPError) -> ExchangeFailed:
    """What a failure of httpx means."""
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        return NotConnected(str(error))
    if isinstance(error, httpx.TimeoutException):
        return AnsweredTooLate(str(error))
    return ExchangeFailed(str(error))


def unix_transport(url: str) -> httpx.BaseTransport | None:
    """What carries the calls to a Unix socket; None for another address."""
    if not url.startswith(UNIX):
        return None
    return httpx.HTTPTransport(verify=False, uds=url.removeprefix(UNIX))


def trust() -> ssl.SSLContext | bool:
    """Whose certificates are believed: what SSL_CERT_FILE and SSL_CERT_DIR say, else httpx's own
    list of authorities. They count for this machine too, whose proxies do not."""
    if os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR"):
        return ssl.create_default_context()
    return True
