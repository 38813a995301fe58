"""The snapshot of a large state that is taken while the server goes on: a copy of the process
(fork) has the state as it is now, writes it into a pipe, and ends.

The copy runs nothing but `freeze`: it closes all other descriptors (the lock on the state directory
among them), starts no thread and no callback, and leaves with `os._exit`. If memory runs out, the
kernel ends the copy first. Linux only.
"""

import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from fairshare.errors import JournalError
from fairshare.runtime.journal.protocol import Snapshot
from fairshare.runtime.snapshot import STORED, freeze
from fairshare.server.side_file import to_the_end

POSSIBLE: Final = sys.platform == "linux"

_LATER: Final = 5
"""How much nicer the copy is to others than the server, which decides meanwhile."""

_DESCRIPTORS: Final = 2**20
_FIRST_VICTIM: Final = "1000"


async def copied_snapshot(
    sequence: int, now_ms: int, parts: Callable[[], dict[str, Any]]
) -> Snapshot:
    """What `freeze(sequence, now_ms, parts())` returns now, though it is ready later.

    Raises JournalError if no copy can be made, or if it did not end well.
    """
    reading, writing = os.pipe()
    try:
        with warnings.catch_warnings():
            # Later releases of Python warn of locks that other threads hold: the copy takes none.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
    except OSError as error:
        os.close(reading)
        os.close(writing)
        raise JournalError(f"the server cannot be copied: {error.strerror}") from error
    if pid == 0:
        _write_and_exit(writing, lambda: freeze(sequence, now_ms, parts()))
    os.close(writing)
    return await to_the_end(_written_by, pid, reading)


def _write_and_exit(writing: int, make: Callable[[], Snapshot]) -> None:
    status = 1
    try:
        signal.set_wakeup_fd(-1)  # it is the server's
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        STORED.add_missing = lambda looked_for: ()  # a thread that is not here may be importing
        os.closerange(3, writing)
        os.closerange(writing + 1, _DESCRIPTORS)
        os.nice(_LATER)
        Path("/proc/self/oom_score_adj").write_text(_FIRST_VICTIM)
        content = memoryview(msgspec.msgpack.encode(make()))
        while content:
            content = content[os.write(writing, content) :]
        status = 0
    except BrokenPipeError:  # the server was killed, and does not need it any more
        pass
    except BaseException:
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(status)


def _written_by(pid: int, reading: int) -> Snapshot:
    with open(reading, "rb") as pipe:
        content = pipe.read()
    _, status = os.waitpid(pid, 0)
    if status:
        code = os.waitstatus_to_exitcode(status)
        raise JournalError(f"the copy of the server that was to write it ended with {code}")
    return msgspec.msgpack.decode(content, type=Snapshot)
