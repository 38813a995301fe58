"""Owns how a container's end is judged: what the facts that its supervisor saw mean."""

import os
import signal
from pathlib import Path
from typing import Final

from fairshare.engines.local.launch import Launch
from fairshare.engines.local.log_limit import cannot_leave_out, left_out
from fairshare.engines.local.outcome import (
    DISK_FAILED,
    MEMORY_EXCEEDED,
    NOT_EXECUTABLE,
    NOT_FOUND,
    Ending,
    ending_of,
    exit_code_of,
    with_tail,
)
from fairshare.engines.local.process_limit import refusal
from fairshare.model.inputs import ContainerExited
from fairshare.wording import ran_too_long

_MEBIBYTE: Final = 1024 * 1024
_UNUSABLE: Final = (125, NOT_EXECUTABLE, NOT_FOUND)
"""Exit codes of podman and docker: not the image, not its program, no such program."""


def exited(ending: Ending, launch: Launch, stderr: Path) -> ContainerExited:
    """The exit code and the diagnostics of a container that was ordered by `launch`."""
    code, words = _judgement(ending, launch, stderr)
    unusable = bool(launch.image) and not ending.cause and code in _UNUSABLE
    if unusable:
        program = launch.image_program
        words = with_tail(
            f"{program} cannot run this in the image {launch.image} (exit code {code})", stderr
        )
    return ContainerExited(
        container=ending.container,
        exit_code=code,
        diagnostics="\n".join(
            filter(None, (words, left_out(ending.dropped, launch.log_limit_bytes)))
        ),
        peak_memory_mb=_peak_mb(ending),
        cpu_ms=ending.cpu_ms,
        cannot_start=unusable,
    )


def _peak_mb(ending: Ending) -> int:
    return -(-ending.peak_bytes // _MEBIBYTE)


def _judgement(ending: Ending, launch: Launch, stderr: Path) -> tuple[int, str]:
    code = exit_code_of(ending.status)
    if ending.over_memory:
        words = f"killed: used {_peak_mb(ending)} MB, limit {launch.memory_mb} MB"
        return MEMORY_EXCEEDED, with_tail(words, stderr)
    if not ending.cause:
        words = ending_of(ending.status)
        return code, with_tail(words, stderr) if words else ""
    words = _reason(ending, launch, stderr)
    if ending.cause in ("logs", "no-pid"):
        return DISK_FAILED, words
    expected = [signal.SIGTERM, signal.SIGKILL, *([signal.SIGHUP] if launch.terminal else ())]
    if code - 128 not in expected:
        # Its own exit code does not count: it was ordered to end before it was done.
        name = signal.Signals(launch.signal or signal.SIGTERM).name
        words = f"{words}; it answered {name} with exit code {code}"
        code = 128 + signal.SIGTERM
    return code, with_tail(words, stderr)


def _reason(ending: Ending, launch: Launch, stderr: Path) -> str:
    match ending.cause:
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
            return cannot_leave_out(launch.log_limit_bytes, ending.failure)
        case _:
            return f"cannot write {stderr.with_name('pid.json')}: {os.strerror(ending.failure)}"
