"""The socket over which workers of this machine come for calls, and one connection to each.

The socket is where no other account can make one (XDG_RUNTIME_DIR, or the user's directory of
state): another program in its place would be met by workers that still come when this one has
ended. They ask what listens there to prove itself, too.
"""

import contextlib
import hmac
import os
import pickle
import secrets
import socket
import stat
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from fairshare.client.executor.calls import Call
from fairshare.client.executor.remote import (
    HELLO_S,
    NONCE_BYTES,
    PROGRAM,
    WORKER,
    Outcome,
    frame,
    proof_of,
    read_frame,
)
from fairshare.documents.ready import ready

TOKEN_BYTES = 32
MOST_HELLO_BYTES = 10_000
MOST_LINKS = 1_000
MOST_PATH_BYTES = 100
"""The path of a socket has 107 at most."""

_PREFIX = "fairshare-workers-"
_NEW_S = 60.0


class Worker(msgspec.Struct, frozen=True):
    """Which container a worker is: its application, its id, and the index of its task."""

    application: str
    container: str
    index: int


class Link:
    """The connection to one worker. Used by one thread."""

    def __init__(self, connection: socket.socket, worker: Worker) -> None:
        self.worker = worker
        self.began_s = time.monotonic()
        self.calls = 0
        self._connection = connection
        self._file = connection.makefile("rb")
        self._function = b""

    def ask(self, call: Call) -> Outcome:
        """Let the worker make a call, and return its outcome. Raises OSError, EOFError and
        ValueError when the connection is lost: the worker has died."""
        new = None if call.function == self._function else call.function
        self._function = call.function
        self._connection.sendall(frame(pickle.dumps((new, call.data))))
        self.calls += 1
        outcome: Outcome = pickle.loads(read_frame(self._file))  # noqa: S301 - it has the token
        return outcome

    def end(self) -> None:
        """Let the worker end."""
        with contextlib.suppress(OSError):
            self._connection.sendall(frame(b""))
        self.close()

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(OSError):
            self._file.close()
            self._connection.close()


class WorkerSocket:
    """Accepts the workers of one executor at `path`: `serve` gets each of them in a thread of its
    own. `is_shared`: also those that run under another account, which cannot reach a directory of
    this one's; else it is in such a directory, if there is one."""

    def __init__(self, serve: Callable[[Link], None], *, is_shared: bool = False) -> None:
        self.token = secrets.token_bytes(TOKEN_BYTES)
        self._serve = serve
        self._links = threading.BoundedSemaphore(MOST_LINKS)
        private = None if is_shared else _private_directory()
        self.is_shared = private is None
        self._directory = tempfile.TemporaryDirectory(  # removed at the program's end, too
            prefix=_PREFIX, dir=private or _short_directory(), ignore_cleanup_errors=True
        )
        if self.is_shared:
            Path(self._directory.name).chmod(0o711)
        self._socket = str(Path(self._directory.name, secrets.token_hex(4)))
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self._socket)
        Path(self._socket).chmod(0o666)
        self._listener.listen(128)
        threading.Thread(target=self._accept_all, name="fairshare-workers", daemon=True).start()

    @property
    def path(self) -> str:
        """The path of the socket."""
        return self._socket

    def close(self) -> None:
        """Accept no more, and remove the socket."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._listener.close()
        self._directory.cleanup()

    def _accept_all(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            if not self._links.acquire(blocking=False):
                connection.close()
                continue
            name = "fairshare-worker"
            threading.Thread(target=self._meet, args=(connection,), name=name, daemon=True).start()

    def _meet(self, connection: socket.socket) -> None:
        try:
            with connection:
                link = self._link(connection)
                if link is not None:
                    self._serve(link)
        finally:
            self._links.release()

    def _link(self, connection: socket.socket) -> Link | None:
        """The worker at the other end, if it knows the token."""
        try:
            connection.settimeout(HELLO_S)
            with connection.makefile("rb") as file:
                nonce = secrets.token_bytes(NONCE_BYTES)
                nonces = file.read(NONCE_BYTES) + nonce
                connection.sendall(nonce + proof_of(self.token, PROGRAM, nonces))
                proof = proof_of(self.token, WORKER, nonces)
                if not hmac.compare_digest(file.read(len(proof)), proof):
                    return None
                worker = msgspec.json.decode(read_frame(file, MOST_HELLO_BYTES), type=ready(Worker))
            connection.settimeout(None)
        except (OSError, EOFError, ValueError):  # ValueError: also of msgspec
            return None
        return Link(connection, worker)


def _private_directory() -> Path | None:
    """A directory in which only this account can make a socket; None if there is none. What
    programs left there that were killed is removed."""
    runtime, state = (os.environ.get(f"XDG_{name}", "") for name in ("RUNTIME_DIR", "STATE_HOME"))
    home = Path(state) if state.startswith("/") else Path("~/.local/state").expanduser()
    for base in ([Path(runtime)] if runtime.startswith("/") else []) + [home / "fairshare"]:
        try:
            base.mkdir(mode=0o700, parents=True, exist_ok=True)
            status = base.lstat()
        except OSError:
            continue
        closed = not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and stat.S_ISDIR(status.st_mode)
        if closed and status.st_uid == os.geteuid() and _is_short(str(base)):
            _remove_left(base)
            return base
    return None


def _remove_left(base: Path) -> None:
    for path in base.glob(f"{_PREFIX}*/*"):
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as probe:
            if time.time() - path.stat().st_mtime < _NEW_S:  # it may be about to listen
                continue
            try:
                probe.connect(str(path))
            except ConnectionRefusedError:  # nothing listens there
                path.unlink()
                path.parent.rmdir()


def _short_directory() -> str:
    """A directory for temporary files in which the path of a socket is not too long."""
    usual = tempfile.gettempdir()
    return usual if _is_short(usual) else "/tmp"  # noqa: S108 - a new name is made there


def _is_short(directory: str) -> bool:
    return len(os.fsencode(f"{directory}/{_PREFIX}12345678/12345678")) <= MOST_PATH_BYTES
