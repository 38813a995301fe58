"""Owns the outcome of a container: exit codes, diagnostics, and the file `exit.json`.

Exit codes are those of the process, 128 + signal number, or Hadoop's negative ones
(Hadoop: ContainerExitStatus). Must stay light: supervisors use it.
"""

import json
import os
import signal
from pathlib import Path
from typing import Any, NamedTuple

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


class Outcome(NamedTuple):
    """How a container ended. `peak_memory_mb` is rounded up."""

    container: int
    exit_code: int
    diagnostics: str = ""
    peak_memory_mb: int = 0
    cpu_ms: int = 0
    ended_at_ms: int = 0  # since 1970
    cannot_start: int = 0  # 1: its command cannot start, whenever it is tried

    def encode(self) -> bytes:
        """The content of `exit.json`."""
        return json.dumps(self._asdict()).encode()

    @classmethod
    def decode(cls, value: dict[str, Any]) -> "Outcome":
        """Decode the result of `encode`; raises TypeError if invalid."""
        outcome = cls(**value)
        for name, found in zip(cls._fields, outcome, strict=True):
            if type(found) is not (str if name == "diagnostics" else int):
                raise TypeError(f"{name} is {found!r}")
        return outcome


class StartFailure(EngineError):
    """A container could not be started; carries the exit code and the diagnostics to report."""

    def __init__(self, exit_code: int, diagnostics: str) -> None:
        super().__init__(diagnostics)
        self.exit_code = exit_code
        self.diagnostics = diagnostics

    def outcome(self, container: int, ended_at_ms: int = 0) -> Outcome:
        """How the container ended that could not be started."""
        final = self.exit_code in (NOT_EXECUTABLE, NOT_FOUND)
        return Outcome(
            container,
            self.exit_code,
            self.diagnostics,
            ended_at_ms=ended_at_ms,
            cannot_start=int(final),
        )


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
