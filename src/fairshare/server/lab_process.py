"""Verbs of the laboratory in a process of their own, for questions that a server passes on: it
imports no simulator, decides on meanwhile, and outlives them. Each has less priority, and bounds of
its time and memory.
"""

import asyncio
import contextlib
import os
import resource
import sys
from typing import Final, NamedTuple

MOST_BYTES: Final = 4 * 1024**3
LOWER_PRIORITY: Final = 10


class Ended(NamedTuple):
    """How a verb ended, and what it printed."""

    exit_code: int | None
    output: bytes
    said: bytes

    @property
    def reason(self) -> str:
        """What a verb printed that failed, without its prefix.

        >>> Ended(1, b"", b"Error: the history is empty\\n").reason
        'the history is empty'
        """
        text = " ".join(self.said.decode(errors="replace").split())[-1_000:]
        return (
            text.removeprefix("Error: ")
            or "the simulation ended before it had a result: its memory may not suffice"
        )


async def run_verb(*arguments: str, most_s: float) -> Ended:
    """Run a verb to its end. Raises TimeoutError if that takes longer; then it is killed."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "fairshare", *arguments),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        # Of low priority and bounded memory, where the system can.
        with contextlib.suppress(OSError):  # it has ended already
            os.setpriority(os.PRIO_PROCESS, process.pid, LOWER_PRIORITY)
            if hasattr(resource, "prlimit"):
                resource.prlimit(process.pid, resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
        output, said = await asyncio.wait_for(process.communicate(), most_s)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    return Ended(process.returncode, output, said)
