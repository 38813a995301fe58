"""Owns how a container's end is judged: the facts that its supervisor saw, and what they mean.

Either supervisor collects these facts. The Python one writes their meaning into exit.json, the
compiled one the facts, and the reader has them judged here. Must stay light: supervisors use it.
"""

import os
import signal
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from fairshare.engines.local.launch import Launch
from fairshare.engines.local.log_limit import cannot_leave_out, left_out
from fairshare.engines.local.outcome import (
    DISK_FAILED,
    MEMORY_EXCEEDED,
    NOT_EXECUTABLE,
    NOT_FOUND,
    Outcome,
    ending_of,
    exit_code_of,
    with_tail,
)
from fairshare.engines.local.process_limit import refusal
from fairshare.wording import ran_too_long

_MEBIBYTE = 1024 * 1024
_UNUSABLE = (125, NOT_EXECUTABLE, NOT_FOUND)
"""Exit codes of podman and docker: not the image, not its program, no such program."""
_WHOLE = ("container", "status", "failure", "peak_bytes", "cpu_ms", "ended_at_ms")

Cause = Literal["", "stop", "time", "processes", "logs", "no-pid", "idle", "detached"]


class Ending(NamedTuple):
    """How a container that was started has ended, in facts: `words` makes an `Outcome` of them.

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
    ended_at_ms: int = 0
    dropped: tuple[int, ...] = ()

    @classmethod
    def decode(cls, value: dict[str, Any]) -> "Ending":
        """Decode what the compiled supervisor wrote; raises TypeError or ValueError if invalid."""
        ending = cls(**{**value, "dropped": tuple(value["dropped"])})
        whole = (*(getattr(ending, name) for name in _WHOLE), *ending.dropped)
        if any(type(found) is not int for found in whole) or type(ending.over_memory) is not bool:
            raise TypeError(f"a whole number is missing in {value!r}")
        if ending.cause not in get_args(Cause):
            raise ValueError(f"{ending.cause!r} is not a known cause")
        return ending

    def outcome(self, launch: Launch, stderr: Path) -> Outcome:
        """The exit code and the diagnostics, for a container that was ordered by `launch`."""
        code, words = self._judgement(launch, stderr)
        unusable = bool(launch.image) and not self.cause and code in _UNUSABLE
        if unusable:
            program = launch.image_program
            words = with_tail(
                f"{program} cannot run this in the image {launch.image} (exit code {code})", stderr
            )
        return Outcome(
            container=self.container,
            exit_code=code,
            diagnostics="\n".join(
                filter(None, (words, left_out(self.dropped, launch.log_limit_bytes)))
            ),
            peak_memory_mb=self._peak_mb,
            cpu_ms=self.cpu_ms,
            ended_at_ms=self.ended_at_ms,
            cannot_start=int(unusable),
        )

    @property
    def _peak_mb(self) -> int:
        return -(-self.peak_bytes // _MEBIBYTE)

    def _judgement(self, launch: Launch, stderr: Path) -> tuple[int, str]:
        code = exit_code_of(self.status)
        if self.over_memory:
            words = f"killed: used {self._peak_mb} MB, limit {launch.memory_mb} MB"
            return MEMORY_EXCEEDED, with_tail(words, stderr)
        if not self.cause:
            words = ending_of(self.status)
            return code, with_tail(words, stderr) if words else ""
        words = self._reason(launch, stderr)
        if self.cause in ("logs", "no-pid"):
            return DISK_FAILED, words
        expected = [signal.SIGTERM, signal.SIGKILL, *([signal.SIGHUP] if launch.terminal else ())]
        if code - 128 not in expected:
            # Its own exit code does not count: it was ordered to end before it was done.
            name = signal.Signals(launch.signal or signal.SIGTERM).name
            words = f"{words}; it answered {name} with exit code {code}"
            code = 128 + signal.SIGTERM
        return code, with_tail(words, stderr)

    def _reason(self, launch: Launch, stderr: Path) -> str:
        match self.cause:
            case "stop":
                return "stopped on request"
            case "time":
                return ran_too_long(launch.time_limit_ms or 0)
            case "idle":
                return (
                    "ended: nothing was typed, printed or computed for"
                    f" {launch.idle_ms / 1000:g} s (interactive_idle_s in [engine])"
                )
            case "detached":
                return (
                    f"ended: no terminal was attached for {launch.detached_ms / 1000:g} s"
                    " (interactive_detached_s in [engine])"
                )
            case "processes":
                return refusal(launch.process_limit)
            case "logs":
                return cannot_leave_out(launch.log_limit_bytes, self.failure)
            case _:
                return f"cannot write {stderr.with_name('pid.json')}: {os.strerror(self.failure)}"
