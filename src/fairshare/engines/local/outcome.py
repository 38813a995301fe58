"""Owns how a container ended: the exit codes, the words for it, and the file `exit.json`.

Exit codes are the process's own, 128 + signal number, or Hadoop's negative ones (spec/rest.md).
Must stay light: supervisors use it.
"""

import json
import os
import signal
from pathlib import Path
from typing import Any, NamedTuple

from fairshare.errors import EngineError
from fairshare.wording import TAIL_TITLE

ABORTED = -100
"""It was lost, or could not be started for a reason that is not its own."""
DISK_FAILED = -101
"""Its directory or its logs could not be written."""
MEMORY_EXCEEDED = -104
"""It used more physical memory than it was granted."""
SUPERVISOR_KILLED = 137
"""Its supervisor was killed while the server watched: by itself, as a rule, so it has failed."""
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

    def encode(self) -> bytes:
        """The content of `exit.json`."""
        return json.dumps(self._asdict()).encode()

    @classmethod
    def decode(cls, value: dict[str, Any]) -> "Outcome":
        """What `encode` wrote; raises TypeError for anything else."""
        outcome = cls(**value)
        for name, found in zip(cls._fields, outcome, strict=True):
            if type(found) is not (str if name == "diagnostics" else int):
                raise TypeError(f"{name} is {found!r}")
        return outcome


class StartFailure(EngineError):
    """A container could not be started: the exit code and the words to report."""

    def __init__(self, exit_code: int, diagnostics: str) -> None:
        super().__init__(diagnostics)
        self.exit_code = exit_code
        self.diagnostics = diagnostics


def exit_code_of(status: int) -> int:
    """The exit code of a wait status: `exit_code_of(2 << 8) == 2`, `exit_code_of(9) == 137`."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def ending_of(status: int) -> str:
    """The words for a wait status; empty for success."""
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
    """The last lines of a file: TAIL_LINES, TAIL_BYTES at most; empty if there is none."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - TAIL_BYTES))
            data = file.read(TAIL_BYTES)
    except OSError:
        return ""
    lines = data.decode("utf-8", "replace").splitlines()
    if size > TAIL_BYTES and len(lines) > 1:
        lines = lines[1:]  # most likely the end of a line
    return "\n".join(lines[-TAIL_LINES:]).strip("\n")


def with_tail(words: str, stderr: Path) -> str:
    """Words of a failure, and below them the end of what the container wrote to stderr."""
    text = tail(stderr)
    return f"{words}\n{TAIL_TITLE}\n{text}" if text else words
