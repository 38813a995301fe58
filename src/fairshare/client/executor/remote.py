"""What runs in the containers of an executor: groups of calls, and workers that come for calls.

A call that raises does not fail its task: the task ends well and brings the exception home, with
its traceback. A call that was cancelled meanwhile is passed over: a file with its name lies in a
directory that both sides see, if they run on one machine.

A worker gets its calls over a socket, one after the other. A frame is its length, eight bytes, the
highest first, and then these bytes. A worker connects, if the socket and its directory are of the
account of its executor's program, and both prove that they know the executor's token, without
sending it: the worker sends NONCE_BYTES, the program as many and its proof of both, the worker its
own proof (`proof_of`). Only then the worker sends one frame that says which container it is, in
JSON, and reads more. A call comes as the pickled pair of its function (None: that of the call
before) and its arguments; the result goes back as a pickled `Outcome`. An empty frame, or the
end of the connection, ends the worker.
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
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import cloudpickle

from fairshare.client.errors import CallFailed, RemoteTraceback

VALUE, SKIPPED = "value", "skipped"

Outcome = tuple[str, bytes, str, float]
"""VALUE with the pickled value; "error" with the pickled exception, or b"", and the traceback; or
SKIPPED. At last how long the call took, in seconds."""


def answering() -> Callable[[bytes, bytes], Outcome]:
    """A function that makes a call of the pickled function and its pickled arguments, and returns
    its outcome.

    The inner function travels by value and names nothing of this package, not even in its
    annotations, so fairshare need not be importable over there.
    """

    def answer(function: bytes, data: bytes) -> tuple[str, bytes, str, float]:
        began_s = time.monotonic()
        try:
            called = cloudpickle.loads(function)
            arguments, keywords = cloudpickle.loads(data)
            value = called(*arguments, **keywords)
            took_s = time.monotonic() - began_s
            try:
                return ("value", cloudpickle.dumps(value), "", took_s)
            except Exception as error:  # the call is not to blame for it, what it returned is
                words = (
                    f"what the call returned cannot be sent back ({type(error).__name__}: {error}):"
                    f" it is of type {type(value).__name__}; return plain data"
                )
                raise TypeError(words) from error
        except (Exception, SystemExit) as error:
            took_s = time.monotonic() - began_s
            below = error.__traceback__.tb_next if error.__traceback__ else None
            text = "".join(traceback.format_exception(type(error), error, below))
            try:
                error.__traceback__ = None
                sent = cloudpickle.dumps(error)
                cloudpickle.loads(sent)
            except Exception:  # an exception may hold anything, and its class may want arguments
                sent = b""
            return ("error", sent, text, took_s)

    return answer


def group_callable(
    calls: Sequence[tuple[str, int, bytes]], functions: Sequence[bytes], marks: str
) -> Callable[[], Outcome]:
    """What each task of a group runs: the call of its own number.

    A call has a name, the number of its function in `functions`, and its arguments; both are
    pickled. Calls of one function share it. Travels by value as well.
    """
    answer = answering()

    def run() -> tuple[str, bytes, str, float]:
        name, number, data = calls[int(os.environ["FAIRSHARE_TASK_INDEX"])]
        if Path(marks, name).exists():
            return ("skipped", b"", "", 0.0)
        return answer(functions[number], data)

    return run


def chunk_callable(function: Callable[..., object]) -> Callable[[Sequence[Any]], list[Any]]:
    """One call instead of many: the results for all rows of arguments, in order. Travels by value
    as well."""

    def run(chunk: Sequence[tuple[object, ...]]) -> list[object]:
        return [function(*arguments) for arguments in chunk]

    return run


def value_or_error(outcome: Outcome) -> tuple[Any, BaseException | None]:
    """What a call returned, or the exception that it raised, caused by its traceback over there.

    Where either cannot be read here, a CallFailed says what it was.
    """
    kind, data, text, _ = outcome
    if kind == VALUE:
        try:
            return cloudpickle.loads(data), None
        except Exception as error:  # it may hold objects of a module that is only over there
            return None, CallFailed(
                f"what the call returned cannot be read here ({type(error).__name__}: {error}):"
                " return plain data, or objects of a module that this program can import too"
            )
    raised = None
    with contextlib.suppress(Exception):  # its class may be known over there alone
        raised = cloudpickle.loads(data) if data else None
    if not isinstance(raised, BaseException):
        lines = text.strip().splitlines()
        raised = CallFailed(f"the call raised {lines[-1] if lines else 'something'}")
    raised.__cause__ = RemoteTraceback(text)
    if isinstance(raised, ModuleNotFoundError):
        raised.add_note(
            "It is missing where the call ran: install it for the Python there, choose another with"
            " python=, or send it along with cloudpickle.register_pickle_by_value(module)."
        )
    return None, raised


HEAD_BYTES = 8
MOST_BYTES = 1 << 30
"""Of a frame."""

NONCE_BYTES = 32
HELLO_S = 10.0
"""The time in which both must prove themselves."""

PROGRAM, WORKER = b"program", b"worker"
"""The sides that prove that they know a token."""

SERVED, UNREACHABLE = "served", "unreachable"

Service = tuple[str, str]
"""The outcome of a worker: SERVED, or UNREACHABLE with the reason."""


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
