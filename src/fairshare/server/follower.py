"""The process beside a server that has the state at hand, and answers what takes long to find out:
what would start an application (`Prove`), when it starts and ends (`Estimate`), and why it waited
at a past moment (`PastReasons`).

It reads the journal as it grows, and forks for each question (`lab/branch/following.py`): the
server's writer never waits for it, and the server lives on without it. It starts with the first
question, or WARM_S after the server, and when it has ended with the next question. Two questions
are answered at once, and one of each caller; another one of each may wait.
"""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from fairshare.core.model.identifiers import ApplicationId
from fairshare.core.model.inputs import SubmitApplication
from fairshare.errors import InputError
from fairshare.runtime.recovery import Position
from fairshare.server.draft_trial import hold_back

AT_ONCE: Final = 2
MOST_WAITING: Final = 50
"""Questions, over all callers."""

MOST_S: Final = 25.0
"""From a question to its answer, below the patience of clients: of that an answer may be computed
for ANSWER_S."""

ANSWER_S: Final = 20.0
KEPT_S: Final = 10.0
WARM_S: Final = 60.0
PAUSE_S: Final = 5.0
LONGEST_PAUSE_S: Final = 600.0
"""Before another process is started by itself: longer each time, if none lives for long."""

MOST_SAID: Final = 1_000
"""Bytes of the reason for which it ended."""
READY: Final = b"r"
PROGRAM: Final = "fairshare.lab.branch.following"

_log = logging.getLogger("fairshare.follower")
_Answer = TypeVar("_Answer")


class Prove(msgspec.Struct, frozen=True, tag="prove"):
    """What would start what an application waits for. The answer is `Proved`."""

    application: ApplicationId


class Estimate(msgspec.Struct, frozen=True, tag="estimate"):
    """When an application starts and ends. The answer is `Eta`."""

    application: ApplicationId


class EstimateSubmission(msgspec.Struct, frozen=True, tag="estimate-submission"):
    """When an application would start and end that were submitted now. The answer is `Eta`."""

    submission: SubmitApplication


class PastReasons(msgspec.Struct, frozen=True, tag="past-reasons"):
    """Why an application waited at an instant of the past. The answer is `Reasons`."""

    application: ApplicationId
    at_ms: int


Question = Prove | Estimate | EstimateSubmission | PastReasons


class Asked(msgspec.Struct, frozen=True):
    """A question, when it is asked, and the last record that it is about."""

    question: Question
    sequence: int
    now_ms: int


class Answered(msgspec.Struct, frozen=True):
    """An answer; or, with a code, the reason for which there is none."""

    answer: msgspec.Raw = msgspec.Raw(b"null")
    code: str = ""
    reason: str = ""


class _Kept(NamedTuple):
    """A question that is being answered, or was; when it was asked, and about which record."""

    found: asyncio.Task[Any]
    since_s: float
    sequence: int

    def answers(self, question: Question, sequence: int) -> bool:
        """Whether the answer still holds for a caller that asks now."""
        if not self.found.done():
            return True
        well = not self.found.cancelled() and self.found.exception() is None
        return well and (sequence == self.sequence or type(question) is not Prove)


class Follower:
    """The follower of one server. Made and used in one event loop."""

    def __init__(
        self, directory: Path, position: Callable[[], Position], now_ms: Callable[[], int]
    ) -> None:
        self._directory = directory
        self._position = position
        self._now_ms = now_ms
        self._process: asyncio.subprocess.Process | None = None
        self._control: socket.socket | None = None
        self._ready = asyncio.Event()
        self._starting = asyncio.Lock()
        self._running: set[str] = set()
        self._waiting: deque[tuple[str, asyncio.Future[None]]] = deque()
        self._closed = False
        self._kept: dict[bytes, _Kept] = {}

    @property
    def pid(self) -> int | None:
        """The number of the process; None: none runs."""
        process = self._process
        return None if process is None or process.returncode is not None else process.pid

    async def keep(self) -> None:
        """Let the process run, from WARM_S after the start on, until cancelled."""
        await asyncio.sleep(WARM_S)
        pause_s = PAUSE_S
        while True:
            began_s = time.monotonic()
            await self._started()
            assert self._process is not None
            await self._process.wait()
            lived = time.monotonic() - began_s > LONGEST_PAUSE_S
            pause_s = PAUSE_S if lived else min(2 * pause_s, LONGEST_PAUSE_S)
            await asyncio.sleep(pause_s)

    async def close(self) -> None:
        """End the process for good. Idempotent."""
        self._closed = True
        for kept in self._kept.values():
            kept.found.cancel()
        async with self._starting:
            await self._end()

    async def _end(self) -> None:
        process, self._process = self._process, None
        if self._control is not None:
            self._control.close()
            self._control = None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # with its forks
            await process.wait()

    async def ask(
        self, caller: str, question: Question, form: type[_Answer], within_s: float = MOST_S
    ) -> _Answer:
        """The answer to a question of a caller, which is searched to its end even if the caller
        waits no longer: to be asked again. Callers that do not wait for long do not wait for the
        process to start. The same question has the same answer for KEPT_S; a proof only while the
        state has not changed.

        Raises InputError: `too-many-questions`, `no-answer-yet` if the process has not read the
        journal by now, `no-answer`, `stopping`, and the refusals of each question.
        """
        if within_s < MOST_S and not self._ready.is_set():
            self._soon()
            raise self._late(within_s)
        now_s, sequence = time.monotonic(), self._position().sequence
        for other, kept in tuple(self._kept.items()):
            if kept.found.done() and now_s - kept.since_s > KEPT_S:
                del self._kept[other]
        key = msgspec.json.encode(question)
        earlier = self._kept.get(key)
        if earlier is None or not earlier.answers(question, sequence):
            found = asyncio.create_task(self._found(caller, question, form))
            found.add_done_callback(lambda task: task.cancelled() or task.exception())
            earlier = self._kept[key] = _Kept(found, now_s, sequence)
        try:
            async with asyncio.timeout(within_s):
                await asyncio.wait([earlier.found])  # not `shield`, which logs what comes too late
            answer: _Answer = earlier.found.result()
            return answer
        except TimeoutError:
            raise self._late(within_s) from None
        except asyncio.CancelledError:
            if not self._closed:
                raise
            raise InputError(
                "stopping", "the server is stopping: ask again when it is back"
            ) from None

    def _soon(self) -> None:
        """Let the process start, if it does not run, while no caller waits for it."""
        starting = asyncio.create_task(self._started())
        starting.add_done_callback(lambda task: task.cancelled() or task.exception())
        self._beginning = starting  # a task without a reference may vanish

    def _late(self, within_s: float) -> InputError:
        if not self._ready.is_set():
            return InputError(
                "no-answer-yet",
                "the process that answers this still reads the journal: ask again later",
            )
        return InputError(
            "no-answer", f"an answer takes longer than {within_s:g} s now: ask again later"
        )

    async def _found(self, caller: str, question: Question, form: type[_Answer]) -> _Answer:
        try:
            async with asyncio.timeout(MOST_S):
                await self._turn_of(caller)
                try:
                    return await self._answer(question, form)
                finally:
                    self._running.discard(caller)
                    self._next()
        except TimeoutError:
            raise self._late(MOST_S) from None

    # One question of each caller at a time.

    async def _turn_of(self, caller: str) -> None:
        if len(self._running) < AT_ONCE and caller not in self._running and not self._waiting:
            self._running.add(caller)
            return
        if any(other == caller for other, _ in self._waiting):
            raise InputError(
                "too-many-questions",
                "another question of yours is being answered, and one more waits: ask again when"
                " they have an answer",
            )
        if len(self._waiting) >= MOST_WAITING:
            raise InputError(
                "too-many-questions", f"{MOST_WAITING} questions of others wait: ask again later"
            )
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((caller, turn))
        self._next()
        try:
            await turn
        except asyncio.CancelledError:
            if (caller, turn) in self._waiting:
                self._waiting.remove((caller, turn))
            elif turn.done() and not turn.cancelled():
                self._running.discard(caller)
                self._next()
            raise

    def _next(self) -> None:
        """Let those begin that are first, and of whom no question is being answered."""
        for caller, turn in tuple(self._waiting):
            if len(self._running) >= AT_ONCE:
                return
            if caller not in self._running:
                self._waiting.remove((caller, turn))
                if not turn.done():
                    self._running.add(caller)
                    turn.set_result(None)

    # The process.

    async def _answer(self, question: Question, form: type[_Answer]) -> _Answer:
        await self._started()
        await self._ready.wait()
        ours, theirs = socket.socketpair()
        with contextlib.ExitStack() as opened:
            opened.callback(theirs.close)
            try:
                assert self._control is not None
                socket.send_fds(self._control, [b"?"], [theirs.fileno()])
            except (OSError, AssertionError):
                ours.close()
                raise InputError("no-answer", _ENDED) from None
        reader, writer = await asyncio.open_connection(sock=ours)
        try:
            asked = Asked(question, self._position().sequence, self._now_ms())
            writer.write(msgspec.json.encode(asked) + b"\n")
            content = await reader.read(-1)
        except ConnectionError:
            content = b""
        finally:
            writer.close()
        if not content:
            raise InputError("no-answer", _ENDED)
        answered = msgspec.json.decode(content, type=Answered)
        if answered.code:
            raise InputError(answered.code, answered.reason)
        return msgspec.json.decode(answered.answer, type=form)

    async def _started(self) -> None:
        async with self._starting:
            if self._closed:
                raise InputError("stopping", "the server is stopping")
            if self.pid is not None:
                return
            await self._end()
            self._ready = asyncio.Event()
            ours, theirs = socket.socketpair()
            ours.setblocking(False)
            try:
                self._process = process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-P", "-m", PROGRAM),
                    *(str(self._directory), str(theirs.fileno())),
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=asyncio.subprocess.DEVNULL,
                    stderr=asyncio.subprocess.PIPE,
                    pass_fds=(theirs.fileno(),),
                    start_new_session=True,
                )
            except OSError as error:
                ours.close()
                raise InputError(
                    "no-answer", f"the process that answers this cannot start: {error.strerror}"
                ) from error
            finally:
                theirs.close()
            hold_back(process.pid)
            self._control = ours
            watch = asyncio.create_task(self._watch(process, ours, self._ready))
            watch.add_done_callback(lambda _: None)
            self._watching = watch  # a task without a reference may vanish

    async def _watch(
        self, process: asyncio.subprocess.Process, control: socket.socket, ready: asyncio.Event
    ) -> None:
        """Note when the process has read the journal, and log why it ended."""
        said = asyncio.create_task(self._last_words(process))
        with contextlib.suppress(OSError):
            await asyncio.get_running_loop().sock_recv(control, 1)
        ready.set()  # or it has ended: what waits gets to know it
        code = await process.wait()
        words = (await said).decode(errors="replace").strip()
        if self._process is process:
            _log.warning("the follower ended with %d: %s", code, words or "no reason")

    @staticmethod
    async def _last_words(process: asyncio.subprocess.Process) -> bytes:
        """The end of what it writes, all of which is read: else it would wait for that for ever."""
        assert process.stderr is not None
        last = b""
        while piece := await process.stderr.read(MOST_SAID):
            last = (last + piece)[-MOST_SAID:]
        return last


_ENDED: Final = "the process that answers this has ended: ask again"
