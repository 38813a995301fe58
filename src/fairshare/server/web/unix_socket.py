"""The server's Unix socket: its file, its access rights, and the account behind a connection."""

import asyncio
import contextlib
import grp
import os
import socket
import stat
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from fairshare.errors import ConfigurationError, FairshareError
from fairshare.server.access.peers import address_of_peer
from fairshare.wording import cause

BACKLOG: Final = 256
LONGEST_PATH: Final = 107
"""The bytes of a path that the kernel accepts for a socket."""
PATIENCE_S: Final = 6.0
"""How long a server waits for the socket: the one whose state it takes over may still answer."""
_CREDENTIALS: Final = struct.Struct("3i")


def check_socket(path: str | None, group: str | None) -> None:
    """Raise ConfigurationError for a socket that this machine cannot have."""
    problems = []
    if path is None:
        if group is not None:
            problems.append("socket_group below [server] needs socket")
    elif not path.startswith("/") or len(os.fsencode(path)) > LONGEST_PATH:
        problems.append(
            f"socket {path!r} below [server]: write an absolute path of at most {LONGEST_PATH}"
            " bytes, such as /run/fairshare/fairshare.sock"
        )
    elif not hasattr(socket, "SO_PEERCRED"):
        problems.append("socket below [server] needs Linux, whose kernel says who has connected")
    if path is not None and group is not None:
        try:
            grp.getgrnam(group)
        except KeyError:
            problems.append(f"socket_group below [server]: there is no group {group!r}")
    if problems:
        raise ConfigurationError(problems)


@contextlib.contextmanager
def bound(path: Path, group: str | None) -> Iterator[socket.socket]:
    """A listening socket at a path: for all accounts of this machine, or for those of a group. What
    an earlier server has left there is replaced. Raises FairshareError."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        try:
            if not path.parent.exists():
                path.parent.mkdir(parents=True)
                path.parent.chmod(0o755)  # whatever the umask: a server of root's has a narrow one
            _remove_left_over(path)
            before = os.umask(0o177)  # until its group is set, the socket is ours alone
            try:
                listener.bind(str(path))
            finally:
                os.umask(before)
            if group is not None:
                os.chown(path, -1, grp.getgrnam(group).gr_gid)
            path.chmod(0o660 if group is not None else 0o666)
            listener.listen(BACKLOG)
            listener.setblocking(False)
            mine = path.stat().st_ino
        except OSError as error:
            raise FairshareError(f"cannot listen on {path}: {cause(error)}") from error
        yield listener
        with contextlib.suppress(OSError):
            if path.stat().st_ino == mine:  # else another server has taken over
                path.unlink()
    finally:
        listener.close()


def _remove_left_over(path: Path) -> None:
    """Raises FairshareError if something else is there, or a server that answers."""
    try:
        kind = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(kind):
        raise FairshareError(f"{path} is there, and is not a socket: choose another path")
    end_s = time.monotonic() + PATIENCE_S
    while _answers(path):
        if time.monotonic() > end_s:
            raise FairshareError(
                f"another server listens on {path}: choose another path, or end it"
            )
        time.sleep(0.05)
    path.unlink(missing_ok=True)


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
    return True


def peer_address(transport: asyncio.BaseTransport) -> str:
    """The address that represents the account behind a connection; empty if it is not a Unix
    socket, or the kernel does not say."""
    connection = transport.get_extra_info("socket")
    if connection is None or connection.family != socket.AF_UNIX:
        return ""
    try:
        size = _CREDENTIALS.size
        content = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    except OSError:
        return ""
    _, uid, _ = _CREDENTIALS.unpack(content)
    return address_of_peer(uid)
