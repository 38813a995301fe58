"""Owns the question whether a program that listens at a port of this machine may be the server.

Any account can listen at a free port, as soon as the server has ended. So a token is sent to an
address of this machine, and a result from there is unpickled, only if an expected account listens:
root, the own one, the owner of the state directory that names this server, or the one that
FAIRSHARE_SERVER_ACCOUNT names. TLS proves more, and a Unix socket is a file with an owner.
"""

import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fairshare.client.discovery import state_directory
from fairshare.client.exchange import CONNECT_TIMEOUT_S, NotConnected
from fairshare.this_machine import accounts_behind
from fairshare.wording import cause

ACCOUNT_VARIABLE = "FAIRSHARE_SERVER_ACCOUNT"


class OtherAccount(NotConnected):
    """Another account listens where the server is expected, so that nothing was sent."""


def check_account(connection: socket.socket, url: str) -> None:
    """Raise OtherAccount if the program behind a TCP connection to a server of this machine is of
    an account that is not expected. Nothing may have been sent over it yet."""
    try:
        if url.startswith("https:") or not _is_here(connection):
            return
        found = accounts_behind(connection)
    except OSError as error:  # it is closed already
        raise NotConnected(cause(error)) from error
    others = sorted(found - _expected(url, os.environ))
    if others:
        name = _name(others[0])
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


def _is_here(connection: socket.socket) -> bool:
    """Whether the other end is an address of this machine."""
    here, there = str(connection.getsockname()[0]), str(connection.getpeername()[0])
    return here == there or there == "::1" or there.removeprefix("::ffff:").startswith("127.")


def _expected(url: str, environment: Mapping[str, str]) -> set[int]:
    found = {0, os.geteuid()}
    named = environment.get(ACCOUNT_VARIABLE)
    if named:
        number = _number(named)
        if number is None:
            raise OtherAccount(f"{ACCOUNT_VARIABLE} names {named!r}: there is no such account")
        found.add(number)
    try:
        with Path(state_directory(environment), "url").open(encoding="utf-8") as file:
            if file.read(4096).strip().rstrip("/") == url:
                found.add(os.fstat(file.fileno()).st_uid)
    except (OSError, ValueError):
        pass
    return found


def _number(name: str) -> int | None:
    import pwd

    if name.isdecimal():
        return int(name)
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        return None


def _name(number: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)
