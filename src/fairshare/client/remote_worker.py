"""Owns what a worker does: it runs the calls that it gets over a socket, one after the other.

A frame is its length, eight bytes, the highest first, and so many bytes. A worker connects, sends
the token of its executor and one frame that says which container it is, in JSON. A call comes as
the pickled pair of its function (None: that of the call before) and its arguments; what came of it
goes back as a pickled `Outcome`. An empty frame, or the end of the connection, ends the worker.

The worker runs beside the executor's program, on the same machine. Knows no server.
"""

import contextlib
import json
import os
import pickle
import socket
import sys
from collections.abc import Callable
from typing import BinaryIO

from fairshare.client.remote_calls import answering

HEAD_BYTES = 8
MOST_BYTES = 1 << 30
"""Of a frame."""

SERVED, UNREACHABLE = "served", "unreachable"

Service = tuple[str, str]
"""What came of a worker: SERVED, or UNREACHABLE with the reason."""


def worker_callable(path: str, token: bytes) -> Callable[[], Service]:
    """What each task of an application of workers runs.

    The inner function travels by value and names nothing of this package, not even in its
    annotations, so fairshare need not be importable where it runs.
    """
    answer = answering()
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
                link.connect(path)
                link.sendall(token + framed(json.dumps(greeting).encode()))
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
