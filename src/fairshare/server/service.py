"""The only writer of a running cluster, and wakes it when there is work.

Callers and the engine put inputs into the inbox. The writer takes all pending ones, has the runtime
decide and record them in one commit, and only then answers. In between it sleeps until an input
arrives, or until the runtime's deadline. The grants may exceed one turn: the next turn then
continues, after readers and callers have had a turn of the event loop. Everything here runs in one
event loop, so that readers, who come between two batches, see one whole state without a lock; a
commit takes about as long as the disk needs, and is what the callers of a batch wait for anyway.
"""

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence

from fairshare.core.model.events import Event, RequestRefused
from fairshare.core.model.identifiers import ApplicationId, ContainerId, application_of
from fairshare.core.model.inputs import (
    Input,
    LaunchContainer,
    ReserveApplication,
    SubmitApplication,
)
from fairshare.core.schedulers.offers import Survey
from fairshare.core.schedulers.protocol import State
from fairshare.core.schedulers.reasons import Cause, Reason, main_cause, reasons
from fairshare.errors import FairshareError, InputError, UndecidedError
from fairshare.runtime.clock import Clock
from fairshare.runtime.journal.sqlite import DiskFullError
from fairshare.runtime.projections.container_history import ContainerHistory
from fairshare.runtime.recovery import Position
from fairshare.runtime.runtime import Enough, Runtime, Step
from fairshare.runtime.shared import UnavailableError
from fairshare.server.inbox import Answer, Inbox, Pending
from fairshare.server.insight.owed import Debts
from fairshare.server.views import Views

MAX_WAITING = 10_000
"""Inputs that may wait before calls are refused; reports of the engine never are."""

ASKING_S = 0.0012
"""The time for node updates in one turn. Recording, showing and launching the grants takes three
times as long again."""

_CALLED_S = 0.0005
"""The same while callers wait for what this turn records: they don't wait for as many grants, too.
"""

_STEP_S = 0.0005
_MAX_STEPS = 16
"""After a turn the others of the loop get a step for each `_STEP_S` that it took, and at most so
many: a call needs several until it is in the inbox."""

_ADMITTED = frozenset((SubmitApplication, ReserveApplication, LaunchContainer))
"""Inputs that bring new work or launch it. They are refused while the disk is nearly full; what the
tasks of applications ask for waits."""

_CAUSES = {"disk-full": Cause.DISK_FULL, "no-database": Cause.NO_DATABASE}
"""Why applications wait while nothing is admitted, by the code of the refusal."""

_ROOM_S = 0.5
"""How often a full disk is tried again."""

_IDLE_S = 5.0
_LOOK_S = 0.002
"""The longest time until a busy server counts as idle, and how often that is looked at."""

MAX_SLEEP_MS = 3_600_000
MAX_RETREAT_MS = 1_000

_log = logging.getLogger("fairshare.service")


def log_undecided(input_: Input, error: UndecidedError) -> None:
    """Log that a valid input was refused."""
    _log.error("refused because of a defect of fairshare: %s", error, exc_info=error)


def enough_after(seconds: float) -> Enough:
    """Says when it is enough, counted from the first time that it is asked."""
    until_s: float | None = None

    def enough() -> bool:
        nonlocal until_s
        now_s = time.perf_counter()
        if until_s is None:
            until_s = now_s + seconds
        return now_s >= until_s

    return enough


def _refuse(batch: Iterable[Pending]) -> None:
    """Answer that nothing was recorded."""
    for pending in batch:
        if pending.answer is not None and not pending.answer.done():
            pending.answer.set_exception(
                InputError("stopping", "the server had to stop: nothing was recorded")
            )


def _refusal(events: Iterable[Event]) -> InputError | None:
    for event in events:
        if isinstance(event, RequestRefused):
            return InputError(event.code, event.reason)
    return None


class Service:
    """Feeds one runtime, and answers the waiting callers.

    Made, started and asked in one event loop; `report` alone may be called from any thread. After
    a failure (`failure`) nothing is fed any more: the state may be ahead of the journal.
    """

    def __init__(self, runtime: Runtime, clock: Clock, history: ContainerHistory) -> None:
        self.failure: Exception | None = None
        self.ended = asyncio.Event()
        self._runtime = runtime
        self._clock = clock
        self._history = history
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._inbox = Inbox()
        self._from_threads: list[Input] = []
        self._adding = threading.Lock()
        self._wake = asyncio.Event()
        self._changed = asyncio.Event()
        self._writer: asyncio.Task[None] | None = None
        self._stopping = False
        self._fatal_error: Exception | None = None
        self._useless_wakes = 0
        self._unrecordable: InputError | None = None  # why nothing can be recorded now
        self._turn_s = 0.0  # how long the last turn took
        self.on_turn: Callable[[float, int], None] = lambda seconds, inputs: None
        self._views: Views | None = None
        self.admission_problem: Callable[[], InputError | None] = lambda: None
        self.room_problem: Callable[[], str] = lambda: ""
        self.before_turn: Callable[[], None] = lambda: None

    # For readers.

    @property
    def state(self) -> State:
        """The present state of the cluster: read-only, not to be kept across an `await`."""
        return self._runtime.manager.state

    @property
    def version(self) -> int:
        """The number of the last record; every change of the state gives another number."""
        return self._runtime.position.sequence

    @property
    def position(self) -> Position:
        """The last record, all of whose events the state has seen."""
        return self._runtime.position

    @property
    def views(self) -> Views:
        """The views of this version."""
        if self._views is None or self._views.version != self.version:
            self._views = Views(self._runtime.manager.scheduler, self._history, self.version)
        return self._views

    def reasons(self, application: ApplicationId) -> list[Reason]:
        """Why an application waits, the most important reason first; raises KeyError."""
        scheduler = self._runtime.manager.scheduler
        known = self.state.applications[application]
        found = reasons(known, scheduler.limits_of(application), self.state, self.now_ms())
        problem = self.admission_problem()
        return [Reason(cause=_CAUSES[problem.code])] if found and problem is not None else found

    def debts(self) -> Debts:
        """What queues are owed, as long as the version is the present one."""
        return Debts(self._runtime.manager.scheduler, self.now_ms())

    def main_cause(self, application: ApplicationId, survey: Survey) -> Cause | None:
        """The cause of the first of an application's reasons, None without any; raises KeyError.
        `survey` must be of the present version."""
        scheduler = self._runtime.manager.scheduler
        known = self.state.applications[application]
        limits, now_ms = scheduler.limits_of(application), self.now_ms()
        found = main_cause(known, limits, self.state, survey, now_ms)
        problem = self.admission_problem()
        return _CAUSES[problem.code] if found is not None and problem is not None else found

    @property
    def stopping(self) -> bool:
        """Whether the service has stopped feeding inputs."""
        return self._stopping or self.ended.is_set()

    @property
    def full(self) -> bool:
        """Whether further calls are refused, since too many wait."""
        return self._inbox.calls >= MAX_WAITING

    def now_ms(self) -> int:
        """The instant."""
        return self._clock.now_ms()

    async def changed(self, since: int, timeout_s: float) -> int:
        """The version, as soon as it is not `since`, at the timeout, or when the server stops."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while self.version == since and not self._stopping and not self.ended.is_set():
                    await self._changed.wait()
        return self.version

    def is_over(self, container: ContainerId) -> bool:
        """Whether a container has ended, or never existed."""
        application = self.state.applications.get(application_of(container))
        return application is None or container not in application.containers

    # For writers.

    async def ask(self, input_: Input) -> tuple[Event, ...]:
        """Feed one input; returns its events once they are recorded.

        Raises InputError with the code of the refusal, `busy`, `disk-full`, `no-database` or
        `stopping`.
        """
        self._check_accepts((input_,))
        (answer,) = self._enqueue((input_,))
        events = await answer
        refusal = _refusal(events)
        if refusal is not None:
            raise refusal
        return events

    async def ask_all(self, inputs: Sequence[Input]) -> list[tuple[Event, ...] | InputError]:
        """Feed inputs in this order, with nothing between them and in one commit.

        Returns for each its events, or the error with which it was refused: the others count
        nevertheless. Raises InputError (`busy`, `disk-full`, `no-database`, `stopping`) if none was
        fed.
        """
        self._check_accepts(inputs)
        outcomes: list[tuple[Event, ...] | InputError] = []
        for answer in self._enqueue(inputs):
            events = await answer
            outcomes.append(_refusal(events) or events)
        return outcomes

    def _check_accepts(self, inputs: Sequence[Input]) -> None:
        if self._stopping or self._writer is None or self._writer.done():
            raise InputError("stopping", "the server is stopping: try again when it is back")
        if self.full:
            raise InputError(
                "busy", f"{MAX_WAITING} calls are waiting already: try again in a moment"
            )
        if self._unrecordable is not None:
            raise InputError(self._unrecordable.code, str(self._unrecordable))
        if any(type(given) in _ADMITTED for given in inputs):
            problem = self.admission_problem()
            if problem is not None:
                raise problem

    def _enqueue(self, inputs: Sequence[Input]) -> list[Answer]:
        answers: list[Answer] = [self._loop.create_future() for _ in inputs]
        if inputs:
            self._inbox.call(inputs, answers)
            self._wake.set()
        return answers

    def observe(self, observations: Iterable[Input]) -> None:
        """Put reports into the inbox, from the event loop itself."""
        self._inbox.report(observations)
        self._wake.set()

    def set_silent(self, node: str, silent: bool = True) -> None:
        """Allocate no containers on a node that does not answer, or again on one that is back.

        Not recorded: the nodes themselves say it again after a restart.
        """
        self._runtime.set_silent(node, silent)
        self._wake.set()

    def pause(self, paused: bool = True) -> None:
        """Allocate no containers on any node, or again; not recorded."""
        self._runtime.pause(paused)
        self._wake.set()

    def report(self, observation: Input) -> None:
        """Put an engine's report into the inbox; from any thread, returns at once.

        Another thread wakes the loop once for all reports that come before the loop takes them.
        """
        if threading.get_ident() == self._thread:
            self._inbox.report_one(observation)
            self._wake.set()
            return
        with self._adding:
            self._from_threads.append(observation)
            if len(self._from_threads) > 1:
                return
        with contextlib.suppress(RuntimeError):  # the loop is closed: the next server will see it
            self._loop.call_soon_threadsafe(self._take_reports)

    def _take_reports(self) -> None:
        with self._adding:
            reports, self._from_threads = self._from_threads, []
        self.observe(reports)

    async def idle(self) -> None:
        """Return when nothing is left to be done at once: what is decided later then follows from
        the state. A server that is always busy, or stops, is not waited for."""
        until_s = self._loop.time() + _IDLE_S
        while (
            (self._inbox or self._from_threads or not self._runtime.idle)
            and not self.stopping
            and self._loop.time() < until_s
        ):
            await asyncio.sleep(_LOOK_S)

    # The writer.

    def record(self, inputs: Iterable[Input]) -> list[Event]:
        """Feed the pending inputs and then `inputs`, without grants; returns all events.

        For the start and the end only, while the writer does not run. Raises JournalError.
        """
        waiting = [pending.input for pending in self._inbox.take_all()]
        steps = self._runtime.feed(self._clock.now_ms(), [*waiting, *inputs])
        return [event for _, events in steps for event in events]

    def start(self) -> None:
        """Begin to feed."""
        self._writer = self._loop.create_task(self._write(), name="fairshare-writer")

    async def stop(self) -> None:
        """Feed the pending inputs, then stop."""
        self._stopping = True
        self._wake.set()
        self._changed.set()
        if self._writer is not None:
            await self._writer

    def fail(self, error: Exception) -> None:
        """End as after a failure of the writer itself: something else says that it cannot go on."""
        self._fatal_error = self._fatal_error or error
        self._wake.set()

    def fail_soon(self, error: Exception) -> None:
        """`fail`, from any thread."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: it has ended already
            self._loop.call_soon_threadsafe(self.fail, error)

    async def _write(self) -> None:
        try:
            while await self._something_to_do():
                await self._feed_batch()
        except Exception as error:
            # The state in memory may be ahead of the journal, or contradict itself: going on would
            # make it worse. The containers live on, and the next server takes them over.
            self.failure = error
            cause = None if isinstance(error, FairshareError) else error
            _log.critical("the server must stop: %s", error, exc_info=cause)
        finally:
            _refuse(self._inbox.take_all())
            self.ended.set()
            self._changed.set()

    async def _something_to_do(self) -> bool:
        """Wait for work or a deadline; False when there is none and the service stops.

        Raises the error that `fail` was given.
        """
        if self._inbox or (self._runtime.unsettled and not self._stopping):
            # Tasks that are ready join this batch, and answers go out.
            for _ in range(min(1 + int(self._turn_s / _STEP_S), _MAX_STEPS)):
                await asyncio.sleep(0)
            self._raise_fatal_error()
            return True
        while not self._stopping:
            self._raise_fatal_error()
            delay_s = self._delay_ms() / 1_000
            self._wake.clear()
            try:
                async with asyncio.timeout(delay_s):
                    await self._wake.wait()
            except TimeoutError:
                if delay_s < MAX_SLEEP_MS / 1_000:
                    return True
            if self._inbox:
                self._raise_fatal_error()
                return True
        return bool(self._inbox)

    def _raise_fatal_error(self) -> None:
        if self._fatal_error is not None:
            raise self._fatal_error

    def _delay_ms(self) -> int:
        deadline_ms = self._runtime.next_deadline_ms()
        if deadline_ms is None:
            return MAX_SLEEP_MS
        delay_ms = max(0, deadline_ms - self._clock.now_ms())
        if self._useless_wakes:
            # A deadline that comes back though nothing came of it must not keep the machine busy.
            delay_ms = max(delay_ms, min(2**self._useless_wakes, MAX_RETREAT_MS))
        return min(delay_ms, MAX_SLEEP_MS)

    async def _feed_batch(self) -> None:
        batch = self._inbox.take_batch()
        self.before_turn()
        before, began_s = self.version, time.perf_counter()
        called = any(pending.answer is not None for pending in batch)
        enough = enough_after(_CALLED_S if called else ASKING_S)
        try:
            inputs = [pending.input for pending in batch]
            try:
                steps = self._runtime.turn(self._clock.now_ms(), inputs, enough)
            except UnavailableError as error:
                steps = await self._await_room(error)
        except Exception:
            _refuse(batch)
            raise
        for pending, (_, events) in zip(batch, steps, strict=False):
            answer = pending.answer
            if answer is not None and not answer.done():
                answer.set_result(events)
            elif answer is None and events and type(events[0]) is RequestRefused:
                _log.error("a report of the engine was refused: %s", events[0].reason)
        self._turn_s = time.perf_counter() - began_s
        self.on_turn(self._turn_s, len(batch))
        if self.version != before:
            self._changed.set()
            self._changed.clear()
        useful = batch or self.version != before or self._runtime.unsettled
        self._useless_wakes = 0 if useful else min(self._useless_wakes + 1, 16)

    async def _await_room(self, error: UnavailableError) -> list[Step]:
        """Nothing is ordered or answered until what was decided is recorded, and nothing further is
        decided: a disk that others have filled, or a database that is away, is not a reason to end.
        Raises the error if the service is to stop, or another limit keeps the journal from
        growing."""
        self.before_turn()
        if not self.room_problem():
            raise error
        _log.critical("nothing can be recorded now, and all waits: %s", error)
        code = "disk-full" if isinstance(error, DiskFullError) else "no-database"
        self._unrecordable = InputError(code, str(error))
        while True:
            with contextlib.suppress(UnavailableError):
                await asyncio.sleep(_ROOM_S)
                steps = self._runtime.finish()
                _log.warning("it can be recorded again, and all goes on")
                self._unrecordable = None
                return steps
            self._raise_fatal_error()
            if self._stopping:
                raise error
