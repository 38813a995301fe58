"""Work in a copy of this process (fork), which leaves nothing behind but its result."""

import gc
import os
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

_Result = TypeVar("_Result")


def apart(work: Callable[[], _Result], form: Any) -> _Result:
    """What some work returns, of a form, which is done in a copy, and may change all that it reads.
    Raises RuntimeError if the copy ends without a result; OSError if there is no copy."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Later releases of Python warn of locks that other threads hold: the copy takes none.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        _work_and_exit(work, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        content = pipe.read()
    _, status = os.waitpid(pid, 0)
    if status or not content:
        raise RuntimeError(f"a copy ended with {os.waitstatus_to_exitcode(status)}")
    result: _Result = msgspec.msgpack.decode(content, type=form)
    return result


def _work_and_exit(work: Callable[[], object], writing: int) -> None:
    status = 1
    try:
        gc.freeze()  # a collection would write to the pages of all objects
        content = memoryview(msgspec.msgpack.encode(work()))
        while content:
            content = content[os.write(writing, content) :]
        status = 0
    except BaseException:
        traceback.print_exc(file=sys.stderr)
    finally:
        os._exit(status)
