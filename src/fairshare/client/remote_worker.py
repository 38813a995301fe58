"""Owns what a worker does: it runs the calls that it gets over a socket, one after the other.

A frame is its length, eight bytes, the highest first, and so many bytes. A worker connects, if the
socket and its directory are of the account of its executor's program, and both prove that they know
the executor's token, without sending it: the worker sends NONCE_BYTES, the program as many and its
proof of both, the worker its own proof (`proof_of`). Only then the worker sends one frame that says
which container it is, in JSON, and reads more. A call comes as the pickled pair of its function
(None: that of the call before) and its arguments; what came of it goes back as a pickled `Outcome`.
An empty frame, or the end of the connection, ends the worker.

The worker runs beside the executor's program, on the same machine. Knows no server.
"""

import contextlib
import hmac
import json
import os
import pickle
import secrets
import socket
import stat
import struct
import sys
from collections.abc import Callable
from typing import BinaryIO

from fairshare.client.remote_calls import answering

HEAD_BYTES = 8
MOST_BYTES = 1 << 30
"""Of a frame."""

NONCE_BYTES = 32
HELLO_S = 10.0
"""So long both have time to prove themselves."""

PROGRAM, WORKER = b"program", b"worker"
"""The sides that prove that they know a token."""

SERVED, UNREACHABLE = "served", "unreachable"

Service = tuple[str, str]
"""What came of a worker: SERVED, or UNREACHABLE with the reason."""


def proof_of(token: bytes, side: bytes, nonces: bytes) -> bytes:
    """What only a side that knows the token can send: `nonces` are that of the worker, and that of
    the program."""
    return hmac.digest(token, side + nonces, "sha256")


def _meeting(path: str, token: bytes) -> Callable[[socket.socket, BinaryIO], None]:
    """What connects a worker to the program, which is of this account; both prove themselves."""
    account, nonce_bytes, hello_s = os.geteuid(), NONCE_BYTES, HELLO_S

    def meet(link: socket.socket, frames: BinaryIO) -> None:
        """Raises OSError, also for what is not the program: that has learnt nothing then."""
        folder = os.lstat(os.path.dirname(path))  # noqa: PTH120
        if folder.st_uid != account or not stat.S_ISDIR(folder.st_mode):
            raise PermissionError(1, f"the directory of {path} is another account's")
        link.connect(path)
        found = link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        if struct.unpack("3i", found)[1] != account:
            raise PermissionError(1, f"another account listens at {path}")
        link.settimeout(hello_s)
        nonce = secrets.token_bytes(nonce_bytes)
        link.sendall(nonce)
        nonces = nonce + frames.read(nonce_bytes)
        proof = hmac.digest(token, b"program" + nonces, "sha256")
        if not hmac.compare_digest(frames.read(len(proof)), proof):
            raise PermissionError(1, f"what listens at {path} is not the executor's program")
        link.sendall(hmac.digest(token, b"worker" + nonces, "sha256"))

    return meet


def worker_callable(path: str, token: bytes) -> Callable[[], Service]:
    """What each task of an application of workers runs. The program is that of this account.

    The inner functions travel by value and name nothing of this package, not even in their
    annotations, so fairshare need not be importable where it runs.
    """
    answer = answering()
    meet = _meeting(path, token)
    head_bytes, most_bytes = HEAD_BYTES, MOST_BYTES

    def framed(body: bytes) -> bytes:
        return len(body).to_bytes(head_bytes, "big") + body

    def serve(link: socket.socket, frames: BinaryIO) -> None:
        function = b""
        while size := int.from_bytes(frames.read(head_bytes), "big"):
            body = frames.read(size)
            if len(body) < size:
                return
            new, data = pickle.loads(body)  # noqa: S301 - from the program whose calls these are
            function = new or function
            outcome = answer(function, data)
            sent = pickle.dumps(outcome)
            if len(sent) > most_bytes:
                words = f"the call returned {len(sent) >> 20} MB: at most {most_bytes >> 20} MB"
                sent = pickle.dumps(("error", b"", f"ValueError: {words} come back", outcome[3]))
            sys.stdout.flush()
            sys.stderr.flush()
            link.sendall(framed(sent))

    def run() -> tuple[str, str]:
        greeting = {
            "application": os.environ["FAIRSHARE_APPLICATION_ID"],
            "container": os.environ["FAIRSHARE_CONTAINER_ID"],
            "index": int(os.environ["FAIRSHARE_TASK_INDEX"]),
        }
        with socket.socket(socket.AF_UNIX) as link, link.makefile("rb") as frames:
            try:
                meet(link, frames)
                link.sendall(framed(json.dumps(greeting).encode()))
                link.settimeout(None)
            except OSError as error:
                return ("unreachable", error.strerror or type(error).__name__)
            # The program may end, and a call may close what is not its own.
            with contextlib.suppress(OSError):
                serve(link, frames)
        return ("served", "")

    return run


def frame(body: bytes) -> bytes:
    """A frame with a body."""
    return len(body).to_bytes(HEAD_BYTES, "big") + body


def read_frame(file: BinaryIO, most_bytes: int = MOST_BYTES) -> bytes:
    """The body of the next frame; raises EOFError if the connection ends before, and ValueError
    for a frame that is too large."""
    size = int.from_bytes(_read(file, HEAD_BYTES), "big")
    if size > most_bytes:
        raise ValueError(f"a frame of {size} bytes: at most {most_bytes} are accepted")
    return _read(file, size)


def _read(file: BinaryIO, size: int) -> bytes:
    found = file.read(size)
    if len(found) < size:
        raise EOFError
    return found
