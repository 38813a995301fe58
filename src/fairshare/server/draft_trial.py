"""Trying a draft of the configuration on the server's own history, in a process of its own.

The process is `fairshare plan`: the server imports no simulator, decides meanwhile, and outlives
it. One runs at a time, with less priority, and bounds of its time and memory.
"""

import asyncio
import contextlib
import os
import resource
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from fairshare.documents.problems import Problem
from fairshare.errors import ConfigurationError, FairshareError, InputError
from fairshare.settings.draft import Entry, Part
from fairshare.wording import cause

if TYPE_CHECKING:
    from fairshare.server.configuration_editor import ConfigurationEditor

MOST_S: Final = 120
MOST_BYTES: Final = 4 * 1024**3
LOWER_PRIORITY: Final = 10
MOST_MOVED: Final = 20
"""Of the applications that end later, and of those that end earlier."""

REFUSES: Final = 1
"""The exit code of a plan whose settings refuse work that was taken."""


def hold_back(pid: int) -> None:
    """Have a process of the laboratory yield to this one, and end instead of using much memory."""
    with contextlib.suppress(OSError):  # it has ended already
        os.setpriority(os.PRIO_PROCESS, pid, LOWER_PRIORITY)
        if hasattr(resource, "prlimit"):
            resource.prlimit(pid, resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))


class QueueProblem(msgspec.Struct, frozen=True):
    """A problem of a draft, and the queue of the element that has it."""

    queue: str
    problem: Problem


class Judgement(msgspec.Struct, frozen=True):
    """The settings of a draft. `usable`: it could be put in force."""

    text: str
    entries: tuple[Entry, ...]
    parts: tuple[Part, ...]
    problems: tuple[QueueProblem, ...]
    usable: bool


class DraftTrial:
    """The trials of one server's drafts, on the history of its state directory."""

    def __init__(self, editor: "ConfigurationEditor", state_directory: Path) -> None:
        self._editor = editor
        self._state_directory = state_directory
        self._busy = False

    async def run(self, text: str, last: str) -> dict[str, Any]:
        """What a draft would have done to the last part of the history: `Plan` as JSON has it, with
        the applications that move most.

        Raises ConfigurationError with all problems of the draft, and InputError: `trial-running` if
        another draft is being tried, `cannot-try` with the reason.
        """
        if self._busy:
            raise InputError(
                "trial-running", "another draft is being tried: try again when that is done"
            )
        self._busy = True
        try:
            judged = await self._editor.judge(text)
            if not judged.usable:
                raise ConfigurationError([one.problem for one in judged.problems])
            with tempfile.TemporaryDirectory(prefix="fairshare-trial-") as folder:
                await asyncio.to_thread(self._write, Path(folder), text)
                return await self._plan(folder, last)
        finally:
            self._busy = False

    def _write(self, folder: Path, text: str) -> None:
        """Make a configuration directory that has the draft instead of the file."""
        started, path = self._editor.started, self._editor.path
        if path is None or path.parent.resolve() != started.directory.resolve():
            raise InputError(
                "cannot-try",
                f"{self._editor.file} is not a file of the configuration directory: write a"
                " directory with the change, and use `fairshare plan`",
            )
        try:
            for one in started.directory.iterdir():
                if one.is_file() and one != path:
                    shutil.copyfile(one, folder / one.name)
            (folder / path.name).write_text(text, encoding="utf-8")
        except OSError as error:
            raise FairshareError(f"cannot write {folder}: {cause(error)}") from error

    async def _plan(self, folder: str, last: str) -> dict[str, Any]:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "fairshare", "plan", folder, "--json", "--last", last),
            *("--against", str(self._state_directory)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        try:
            hold_back(process.pid)
            output, said = await asyncio.wait_for(process.communicate(), MOST_S)
        except TimeoutError as error:
            raise InputError(
                "cannot-try",
                f"the simulation of this history takes longer than {MOST_S} s: try a shorter part"
                " of it, or use `fairshare plan`",
            ) from error
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        if process.returncode not in (0, REFUSES) or not output:
            reason = " ".join(said.decode(errors="replace").split())[-1_000:]
            raise InputError(
                "cannot-try",
                reason.removeprefix("Error: ")
                or "the simulation ended before it had a result: its memory may not suffice",
            )
        plan: dict[str, Any] = msgspec.json.decode(output)
        moved = plan["moved"]
        if len(moved) > 2 * MOST_MOVED:
            plan["moved"] = moved[:MOST_MOVED] + moved[-MOST_MOVED:]
        return plan
