"""Owns how calls of Python functions travel in groups: what a task runs, and what came of a call.

A call that raises does not fail its task: the task ends well and brings the exception home, with
its traceback. A call that was cancelled meanwhile is passed over: a file with its name lies in a
directory that both sides see, if they run on one machine. Knows no server.
"""

import os
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import cloudpickle

from fairshare.client.errors import CallFailed, RemoteTraceback

VALUE, SKIPPED = "value", "skipped"

Outcome = tuple[str, bytes, str, float]
"""VALUE with the pickled value; "error" with the pickled exception, or b"", and the traceback; or
SKIPPED. At last how long the call took, in seconds."""


def answering() -> Callable[[bytes, bytes], Outcome]:
    """A function that makes a call of the pickled function and its pickled arguments, and says what
    came of it.

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


def chunk_callable(function: Callable[..., Any]) -> Callable[[Sequence[Any]], list[Any]]:
    """One call instead of many: the results for all rows of arguments, in order. Travels by value
    as well."""

    def run(chunk: Sequence[tuple[Any, ...]]) -> list[object]:
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
    raised = _loaded(data)
    if raised is None:
        lines = text.strip().splitlines()
        raised = CallFailed(f"the call raised {lines[-1] if lines else 'something'}")
    raised.__cause__ = RemoteTraceback(text)
    if isinstance(raised, ModuleNotFoundError):
        raised.add_note(
            "It is missing where the call ran: install it for the Python there, choose another with"
            " python=, or send it along with cloudpickle.register_pickle_by_value(module)."
        )
    return None, raised


def _loaded(data: bytes) -> BaseException | None:
    try:
        found = cloudpickle.loads(data) if data else None
    except Exception:  # its class may be known over there alone
        return None
    return found if isinstance(found, BaseException) else None
