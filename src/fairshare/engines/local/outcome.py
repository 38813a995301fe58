"""How containers end: exit codes, diagnostics, and the file `exit.json`.

Supervisors write facts of containers that were started (`Ending`), and the exit code with its
diagnostics of those that could not be (`verdict`). Exit codes are those of the process, 128 +
signal number, or Hadoop's negative ones (Hadoop: ContainerExitStatus). Must stay light: supervisors
use it.
"""

import json
import os
import signal
import time
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from fairshare.engines.log_files import read_part
from fairshare.errors import EngineError
from fairshare.wording import TAIL_TITLE

ABORTED = -100
"""The container was lost, or could not be started for an external reason."""
DISK_FAILED = -101
"""The container's directory or logs could not be written."""
MEMORY_EXCEEDED = -104
"""The container used more physical memory than allocated."""
SUPERVISOR_KILLED = 137
"""The container's supervisor was killed while the server watched it, usually by the container
itself, so that it counts as failed."""
NOT_EXECUTABLE = 126
NOT_FOUND = 127

TAIL_LINES = 20
TAIL_BYTES = 4096


Cause = Literal["", "stop", "time", "processes", "logs", "no-pid", "idle", "detached"]

_WHOLE = ("container", "status", "failure", "peak_bytes", "cpu_ms", "ended_at_ms")


class Ending(NamedTuple):
    """How a container that was started has ended, in facts; `adoption.py` says what they mean.

    `status` is the wait status of the first process. `cause` is why the supervisor ended the
    container: one of `stop`, `time`, `processes`, `logs` and `no-pid`; empty if it ended by itself.
    `failure` is the errno that goes with the last two. `dropped` are the bytes left out of stdout
    and stderr.
    """

    container: int
    status: int
    cause: Cause = ""
    failure: int = 0
    over_memory: bool = False
    peak_bytes: int = 0
    cpu_ms: int = 0
    ended_at_ms: int = 0  # since 1970
    dropped: tuple[int, ...] = ()

    def encode(self) -> bytes:
        """The content of `exit.json`."""
        return json.dumps(self._asdict()).encode()

    @classmethod
    def decode(cls, value: dict[str, Any]) -> "Ending":
        """Decode what a supervisor wrote; raises TypeError or ValueError if invalid."""
        ending = cls(**{**value, "dropped": tuple(value["dropped"])})
        whole = (*(getattr(ending, name) for name in _WHOLE), *ending.dropped)
        if any(type(found) is not int for found in whole) or type(ending.over_memory) is not bool:
            raise TypeError(f"a whole number is missing in {value!r}")
        if ending.cause not in get_args(Cause):
            raise ValueError(f"{ending.cause!r} is not a known cause")
        return ending


def verdict(
    container: int,
    exit_code: int,
    diagnostics: str,
    *,
    cannot_start: bool,
    node_failed: bool = False,
) -> bytes:
    """The content of `exit.json` for a container that did not start, or lost its supervisor."""
    return json.dumps(
        {
            "container": container,
            "exit_code": exit_code,
            "diagnostics": diagnostics,
            "ended_at_ms": time.time_ns() // 1_000_000,
            "cannot_start": int(cannot_start),
            "node_failed": int(node_failed),
        }
    ).encode()


class StartFailure(EngineError):
    """A container could not be started; carries the exit code and the diagnostics to report.

    `of_node`: another container would not start on the node either; by default so with the codes
    for external reasons.
    """

    def __init__(self, exit_code: int, diagnostics: str, *, of_node: bool | None = None) -> None:
        super().__init__(diagnostics)
        self.exit_code = exit_code
        self.diagnostics = diagnostics
        self.of_node = exit_code in (ABORTED, DISK_FAILED) if of_node is None else of_node

    @property
    def is_final(self) -> bool:
        """Whether its command cannot start, whenever it is tried."""
        return self.exit_code in (NOT_EXECUTABLE, NOT_FOUND)


def exit_code_of(status: int) -> int:
    """The exit code of a wait status: `exit_code_of(2 << 8) == 2`, `exit_code_of(9) == 137`."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def ending_of(status: int) -> str:
    """The diagnostics for a wait status; empty for success."""
    code = os.waitstatus_to_exitcode(status)
    if code == 0:
        return ""
    if code > 0:
        return f"exit code {code}"
    try:
        return f"ended by signal {-code} ({signal.Signals(-code).name})"
    except ValueError:  # a real-time signal has no name
        return f"ended by signal {-code}"


def tail(path: Path) -> str:
    """The last lines of a file, at most TAIL_LINES and TAIL_BYTES; empty if it does not exist."""
    try:
        _, size = read_part(path, 0, 0)
        data, _ = read_part(path, max(0, size - TAIL_BYTES), TAIL_BYTES)
    except OSError:
        return ""
    lines = data.decode("utf-8", "replace").splitlines()
    if size > TAIL_BYTES and len(lines) > 1:
        lines = lines[1:]  # probably incomplete
    return "\n".join(lines[-TAIL_LINES:]).strip("\n")


def with_tail(words: str, stderr: Path) -> str:
    """The diagnostics of a failure, followed by the end of the container's stderr."""
    text = tail(stderr)
    return f"{words}\n{TAIL_TITLE}\n{text}" if text else words
