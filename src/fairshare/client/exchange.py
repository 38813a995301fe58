"""What a client sends and gets by HTTP, how that fails, and whose server it may talk to.

`plain_http` and `httpx_exchange` carry requests. Before anything secret is sent to a server of this
machine by TCP, the account of the program that listens there is checked (`check_account`).
"""

import os
import pwd
import re
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote, urlsplit

import msgspec

from fairshare.api.routes import Route
from fairshare.client.discovery import UNIX, state_directory
from fairshare.errors import InputError
from fairshare.this_machine import accounts_behind
from fairshare.wording import cause

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


class DoesNotLead(NotConnected):
    """The server is a standby, or stopping: it has done nothing. `reply` is its refusal, if it has
    said more than where the one is that leads."""

    def __init__(self, reason: str, reply: Reply | None = None) -> None:
        self.reply = reply
        super().__init__(reason)


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
    if text in (".", "..") or not text.strip("/"):
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


ACCOUNT_VARIABLE = "FAIRSHARE_SERVER_ACCOUNT"


class OtherAccount(NotConnected):
    """Another account listens where the server is expected, so that nothing was sent."""


def check_account(connection: socket.socket, url: str) -> None:
    """Raise OtherAccount if the program behind a TCP connection to a server of this machine is of
    an account that is not expected. Nothing may have been sent over it yet."""
    try:
        if url.startswith("https:"):
            return
        here, there = str(connection.getsockname()[0]), str(connection.getpeername()[0])
        local = there == "::1" or there.removeprefix("::ffff:").startswith("127.")
        if there != here and not local:
            return
        found = accounts_behind(connection)
    except OSError as error:  # it is closed already
        raise NotConnected(cause(error)) from error
    others = sorted(found - _expected(url, os.environ))
    if others:
        try:
            name = pwd.getpwuid(others[0]).pw_name
        except KeyError:
            name = str(others[0])
        raise OtherAccount(
            f"the account {name} listens at {url}, so nothing was sent: the server is expected to"
            f" be root's or yours. If {name} runs it, set {ACCOUNT_VARIABLE}={name}; else that is"
            " another program in its place"
        )


def connected(host: str, port: int, url: str, *, checked: bool) -> socket.socket:
    """A connection to a server. If it is `checked`, and the host has several addresses, it is to
    one where an expected account listens: another one could take ::1 of `localhost`. Raises OSError
    and OtherAccount."""
    # A text would be encoded by the codec idna, whose import reads tables of Unicode.
    name: Any = host.encode() if host.isascii() else host
    failure: Exception = OSError(f"{host} has no address")
    for _, _, _, _, address in socket.getaddrinfo(name, port, type=socket.SOCK_STREAM):
        try:
            number: Any = str(address[0]).encode()
            made = socket.create_connection((number, address[1]), CONNECT_TIMEOUT_S)
        except OSError as error:
            failure = failure if isinstance(failure, OtherAccount) else error
            continue
        try:
            if checked:
                check_account(made, url)
        except OtherAccount as error:
            made.close()
            failure = error
        except BaseException:
            made.close()
            raise
        else:
            return made
    raise failure


def check_server(url: str) -> None:
    """The same for the program that would accept a connection now, for libraries that make their
    own. Raises NotConnected, too."""
    parts = urlsplit(url)
    if parts.scheme != "http":
        return
    try:
        with socket.create_connection(
            (parts.hostname, parts.port or 80), CONNECT_TIMEOUT_S
        ) as made:
            check_account(made, url)
    except OSError as error:
        raise NotConnected(cause(error)) from error


def _expected(url: str, environment: Mapping[str, str]) -> set[int]:
    accounts = {0, os.geteuid()}
    named = environment.get(ACCOUNT_VARIABLE)
    if named:
        number = _number(named)
        if number is None:
            raise OtherAccount(f"{ACCOUNT_VARIABLE} names {named!r}: there is no such account")
        accounts.add(number)
    try:
        with Path(state_directory(environment), "url").open(encoding="utf-8") as file:
            if file.read(4096).strip().rstrip("/") == url:
                accounts.add(os.fstat(file.fileno()).st_uid)
    except (OSError, ValueError):
        pass
    return accounts


def _number(name: str) -> int | None:
    if name.isdecimal():
        return int(name)
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        return None
