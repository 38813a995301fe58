"""Owns `Executor`: calls of Python functions on a cluster, as `concurrent.futures` has them.

Calls that come at about the same time become the tasks of one application. One thread hands calls
in, another follows the applications; a server that restarts is waited for by both. A call runs at
least once: like every task it runs again when its container was lost.
"""

import contextlib
import itertools
import logging
import secrets
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent import futures
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import msgspec

from fairshare.client import callables
from fairshare.client.answers import Application, Task
from fairshare.client.client import Client
from fairshare.client.errors import Refused, ServerUnreachable
from fairshare.client.executor_arguments import after_all, futures_among, with_results
from fairshare.client.executor_bar import progress_bar
from fairshare.client.executor_calls import Batch, Call, ExecutorProgress, Load, verdicts
from fairshare.client.interpreter import Interpreter, choose_interpreter
from fairshare.client.remote_calls import (
    SKIPPED,
    Outcome,
    chunk_callable,
    group_callable,
    value_or_error,
)
from fairshare.client.submissions import DEFAULT_RESOURCES, Submission, TaskGroup
from fairshare.client.waiting import SERVICE_UNAVAILABLE, Patience
from fairshare.errors import FairshareError

Result = TypeVar("Result")

LINGER_S = 0.02
"""So long a call waits for others to come along."""

MOST_CALLS = 1_000
MOST_BYTES = 4 << 20
"""Of the arguments of one application: each of its containers reads all of them."""

MOST_CONTAINERS = 500
"""Of one `map` that does not say how many calls shall share one: more hardly run at once, and each
costs a process and a folder."""

POLL_S = 5
PACE_S = 0.1

_log = logging.getLogger("fairshare.executor")


class Executor(futures.Executor):
    """Runs calls in containers of a fairshare server.

    >>> with Executor(queue="root.ml") as pool:                          # doctest: +SKIP
    ...     squares = list(pool.map(lambda number: number * number, range(100), chunksize=10))

    `resources` are those of one call. At most `max_workers` containers run at the same time; None:
    as many as the queue's share allows. `python` is the path of the interpreter that runs calls; by
    default that of this program, if the server is on this machine. A call whose process dies is
    tried `max_attempts` times. `progress` is called from another thread whenever something has
    changed; True shows a bar on stderr, if that is a terminal. Leaving the `with` by an exception
    cancels all calls: no caller would take their results.
    """

    def __init__(
        self,
        queue: str | None = None,
        *,
        url: str | None = None,
        client: Client | None = None,
        name: str = "executor",
        user: str | None = None,
        resources: Mapping[str, int] | None = None,
        environment: Mapping[str, str] | None = None,
        label: str | None = None,
        max_attempts: int = 4,
        max_workers: int | None = None,
        time_limit_ms: int | None = None,
        progress: Callable[[ExecutorProgress], None] | bool | None = None,
        python: str | None = None,
    ) -> None:
        if max_workers is not None and max_workers < 1:
            raise ValueError(f"max_workers is {max_workers}; it must be at least 1")
        self._max_workers = max_workers
        self._python = python
        self._interpreter: Interpreter | None = None
        self._own_client = client is None
        self._client = client or Client(url)
        self._submission = Submission(queue=queue, name=name, user=user)
        self._group = TaskGroup(
            name="call",
            count=1,
            resources=dict(resources or DEFAULT_RESOURCES),
            environment=dict(environment or {}),
            max_attempts=max_attempts,
            time_limit_ms=time_limit_ms,
            label=label,
        )
        self._report = progress_bar(name) if progress is True else progress or None
        self._told: ExecutorProgress | None = None
        self._token = secrets.token_hex(4)
        self._numbers = itertools.count(1)
        self._marks = tempfile.TemporaryDirectory(
            prefix="fairshare-executor-", ignore_cleanup_errors=True
        )
        Path(self._marks.name).chmod(0o755)  # a container may run as another user
        self._turn = threading.Condition()
        self._waiting: deque[Call] = deque()
        self._orders: deque[Callable[[], None]] = deque()
        self._live: dict[str, Call] = {}
        self._batches: dict[str, Batch] = {}
        self._counts = {"calls": 0, "done": 0, "failed": 0, "cancelled": 0}
        self._closing = False
        self._threads = [
            threading.Thread(target=self._hand_in_all, name="fairshare-hand-in", daemon=True),
            threading.Thread(target=self._follow_all, name="fairshare-follow", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    # What a user calls.

    def submit(
        self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any
    ) -> "futures.Future[Result]":
        """Call `fn(*args, **kwargs)` in a container. Raises NotPicklable, InterpreterUnusable, and
        RuntimeError after `shutdown`. An argument that is a future itself is replaced by its
        result: the call is sent when all of these are done. The future raises what the call
        raised, caused by its traceback; CallFailed when its process died; ApplicationFailed when
        the application was killed."""
        earlier = futures_among(args, kwargs)
        sent = None if earlier else self._pickled(fn, args, kwargs)
        with self._turn:
            if self._closing:
                raise RuntimeError("cannot schedule new futures after shutdown")
            number = self._counts["calls"] = self._counts["calls"] + 1
            call = Call(str(number), b"", b"", self._drop)
            self._live[call.name] = call
            if sent is not None:
                self._enqueue(call, sent)
        if earlier:
            after_all(earlier, lambda: self._resume(call, fn, args, kwargs))
        return call.future

    def _pickled(
        self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[bytes, bytes]:
        interpreter = Interpreter()
        with contextlib.suppress(ServerUnreachable):  # it may come back until calls are submitted
            interpreter = self._chosen_interpreter()
        with interpreter.pickling():
            return callables.pickled_apart(fn, *args, **kwargs)

    def _enqueue(self, call: Call, sent: tuple[bytes, bytes]) -> None:
        with self._turn:
            call.function, call.data = sent
            self._waiting.append(call)
            self._turn.notify_all()

    def _resume(
        self, call: Call, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """Go on with a call when the futures among its arguments are done."""
        if call.future.done():
            return
        try:
            self._enqueue(call, self._pickled(fn, *with_results(args, kwargs)))
        except (Exception, futures.CancelledError) as error:  # also what an earlier call has raised
            self._settle(call, error=error)

    def map(
        self,
        fn: Callable[..., Result],
        *iterables: Iterable[Any],
        timeout: float | None = None,
        chunksize: int | None = None,
        buffersize: int | None = None,
    ) -> Iterator[Result]:
        """`map(fn, *iterables)`, in order; `chunksize` calls share a container, one after the
        other. None: as many as it takes to need no more than MOST_CONTAINERS. All are submitted
        at once: `buffersize`, of later Pythons, must be None."""
        if chunksize is not None and chunksize < 1:
            raise ValueError(f"chunksize is {chunksize}: it must be at least 1")
        if buffersize is not None:
            raise ValueError("buffersize is not supported: all calls are submitted at once")
        rows = list(zip(*iterables, strict=False))
        size = chunksize or -(-len(rows) // MOST_CONTAINERS) or 1
        run = chunk_callable(fn)
        given = [self.submit(run, rows[n : n + size]) for n in range(0, len(rows), size)]
        end_s = None if timeout is None else time.monotonic() + timeout
        return _results(given, end_s)

    def progress(self) -> ExecutorProgress:
        """How the calls stand."""
        with self._turn:
            running = sum(call.container is not None for call in self._live.values())
            waiting = len(self._live) - running
            return ExecutorProgress(**self._counts, running=running, waiting=waiting)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls. With `cancel_futures` those that do not run yet are cancelled. With
        `wait` all others are waited for."""
        with self._turn:
            self._closing = True
            self._turn.notify_all()
        if cancel_futures:
            for call in self._calls():
                if not call.future.running():
                    call.future.cancel()
        if wait:
            for thread in self._threads:
                thread.join()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        if kind is not None:
            for call in self._calls():
                call.future.cancel()
        self.shutdown()
        return None

    def _chosen_interpreter(self) -> Interpreter:
        if self._interpreter is None:
            self._interpreter = choose_interpreter(self._client.cluster(), self._python)
        return self._interpreter

    def _calls(self) -> list[Call]:
        with self._turn:
            return list(self._live.values())

    # The thread that submits.

    def _hand_in_all(self) -> None:
        patience = Patience(self._client.patience_s)
        while True:
            with self._turn:
                self._turn.wait_for(lambda: self._orders or self._has_load or self._over)
                order = self._orders.popleft() if self._orders else None
                if order is None and not self._has_load:
                    return
            if order is not None:
                with contextlib.suppress(FairshareError):  # who gave it waits for nothing
                    order()
                continue
            load = self._next_load()
            if not load.calls:
                continue
            try:
                self._hand_in(load, patience)
            except BaseException as error:  # passed to all that wait for the calls
                for call in load.calls:
                    self._settle(call, error=error)

    @property
    def _over(self) -> bool:
        return self._closing and not self._live

    @property
    def _has_load(self) -> bool:
        return bool(self._waiting) and (self._max_workers is None or self._free_workers > 0)

    @property
    def _free_workers(self) -> int:
        """How many more containers may run, with a limit."""
        used = sum(batch.workers for batch in self._batches.values())
        return (self._max_workers or 0) - used

    def _next_load(self) -> Load:
        load = Load()
        with self._turn:
            self._turn.wait_for(lambda: len(self._waiting) >= MOST_CALLS, LINGER_S)
            most = MOST_CALLS
            if self._max_workers is not None:
                load.at_once = self._free_workers
                if self._batches:  # all of these can run now: none waits behind few workers
                    most = min(most, load.at_once)
            while self._waiting and len(load.calls) < most:
                if not load.has_room_for(self._waiting[0], MOST_BYTES):
                    break
                call = self._waiting.popleft()
                if not call.future.done():
                    load.add(call)
        return load

    def _hand_in(self, load: Load, patience: Patience) -> None:
        calls = load.calls
        run = group_callable(load.rows(), list(load.functions), self._marks.name)
        name = f"{self._submission.name}-{self._token}-{next(self._numbers)}"
        interpreter = self._outlasting(patience, self._chosen_interpreter)
        group = msgspec.structs.replace(
            self._group,
            count=len(calls),
            callable=callables.pickled(run),
            at_once=load.at_once,
            python=interpreter.python,
            environment=interpreter.environment(self._group.environment),
        )
        submission = msgspec.structs.replace(self._submission, name=name, tasks=(group,))
        application = self._submitted(submission, patience)
        with self._turn:
            batch = Batch(application, calls, load.at_once)
            self._batches[application] = batch
            for call in calls:
                call.application = application
            self._turn.notify_all()
        if not batch.wanted:  # all were cancelled meanwhile
            self._kill(batch)

    def _submitted(self, submission: Submission, patience: Patience) -> str:
        def submit() -> str:
            # The answer may have been lost, and not the submission.
            known = self._client.applications() if patience.absent else ()
            found = next((one.id for one in known if one.name == submission.name), None)
            return found or self._client.submit(submission)

        return self._outlasting(patience, submit)

    def _outlasting(self, patience: Patience, ask: Callable[[], Result]) -> Result:
        """What a question yields, also if the server is away for a while."""
        answers: list[Result] = []
        while True:
            with patience.outlast_absence():
                answers.append(ask())
            if answers:
                return answers[0]
            time.sleep(self._client.pace_s)

    def _drop(self, call: Call) -> None:
        """A call was cancelled: see to it that it does not run, or no longer."""
        with contextlib.suppress(OSError):  # the directory is gone when all is over
            Path(self._marks.name, call.name).touch()
        with self._turn:
            self._counts["cancelled"] += 1
            batch = self._batches.get(call.application or "")
            container = call.container
            if batch is not None and not batch.wanted:
                self._orders.append(lambda: self._kill(batch))
            elif container is not None and self._group.max_attempts > 1:
                # It begins once more, sees the mark, and ends at once.
                self._orders.append(lambda: self._client.stop_container(container))
            self._forget(call)

    def _kill(self, batch: Batch) -> None:
        with self._turn:
            self._batches.pop(batch.application, None)
            self._turn.notify_all()
        self._client.kill(batch.application, "No caller waits for its calls any more.")

    # The thread that follows.

    def _follow_all(self) -> None:
        patience = Patience(self._client.patience_s)
        while True:
            with self._turn:
                self._turn.wait_for(lambda: self._batches or self._over)
                batches = list(self._batches.values())
            if not batches:
                break
            try:
                with patience.outlast_absence():
                    # Asked first: a change meanwhile is then seen too often, and never missed.
                    version = self._client.changes()
                    for batch in batches:
                        self._look(batch)
                    self._tell()
                    if self._batches:
                        self._client.changes(version, POLL_S)
            except FairshareError as error:  # it has been away for too long
                for batch in batches:
                    self._give_up(batch, error)
            time.sleep(PACE_S)
        self._tell()
        self._threads[0].join()
        self._tell()
        self._marks.cleanup()
        if self._own_client:
            self._client.close()

    def _look(self, batch: Batch) -> None:
        try:
            application = self._client.application(batch.application)
            tasks = self._client.tasks(batch.application)
            for task in tasks:
                self._see(batch, task)
        except Refused as error:
            if error.status == SERVICE_UNAVAILABLE:
                raise
            self._give_up(batch, error)  # the server does not know it any more
            return
        if len(batch.settled) < len(batch.calls) and not application.over:
            return
        with self._turn:
            self._batches.pop(batch.application, None)
        if application.state != "FINISHED" and batch.wanted:
            self._break(batch, application, tasks)

    def _see(self, batch: Batch, task: Task) -> None:
        call = batch.calls[task.index]
        if task.index in batch.settled:
            return
        call.container = task.container if task.state == "RUNNING" else None
        if task.state == "SUCCEEDED":
            if not call.future.done():
                self._take(call, self._client.result(task.container or ""))
            with self._turn:
                batch.settled.add(task.index)
                self._turn.notify_all()

    def _take(self, call: Call, outcome: Outcome) -> None:
        if outcome[0] != SKIPPED:
            self._settle(call, *value_or_error(outcome))

    def _break(self, batch: Batch, application: Application, tasks: tuple[Task, ...]) -> None:
        """An application has ended badly. Calls that did not cause it are submitted again."""
        log = self._client.failure_log(application.id)
        again: list[Call] = []
        for call, error in verdicts(batch, application, tasks, log):
            if error is None:
                call.application = call.container = None
                again.append(call)
            else:
                self._settle(call, error=error)
        with self._turn:
            self._waiting.extend(again)
            self._turn.notify_all()

    def _give_up(self, batch: Batch, error: BaseException) -> None:
        with self._turn:
            self._batches.pop(batch.application, None)
        for call in batch.calls:
            self._settle(call, error=error)

    def _settle(self, call: Call, value: Any = None, error: BaseException | None = None) -> None:
        if call.future.settle(value, error):
            with self._turn:
                self._counts["failed" if error else "done"] += 1
        with self._turn:
            self._forget(call)

    def _forget(self, call: Call) -> None:
        self._live.pop(call.name, None)
        self._turn.notify_all()

    def _tell(self) -> None:
        now = self.progress()
        if self._report is None or now == self._told:
            return
        self._told = now
        try:
            self._report(now)
        except Exception:  # the calls are none the worse for it
            _log.exception("the progress callback has failed")


def _results(given: list["futures.Future[list[Any]]"], end_s: float | None) -> Iterator[Any]:
    """The results of chunks, one by one; an iterator that is closed cancels the rest."""
    try:
        for future in given:
            left_s = None if end_s is None else end_s - time.monotonic()
            yield from future.result(left_s)
    finally:
        for future in given:
            future.cancel()
