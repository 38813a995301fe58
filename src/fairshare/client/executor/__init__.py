"""`Executor`: calls of Python functions on a cluster, as `concurrent.futures` has them.

A call gets a container of its own (`containers`), or a worker that other short calls use too
(`workers`). One thread submits applications, another follows them; both wait for a server that
restarts. A call runs at least once, and its result is taken once. Only arguments that are futures
themselves are awaited, not those inside of lists or other objects, as with Ray.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent import futures
from concurrent.futures import Future
from types import TracebackType
from typing import Any, TypeVar

from fairshare.api.work import DEFAULT_RESOURCES, Submission, TaskGroup
from fairshare.client import callables
from fairshare.client.client import Client
from fairshare.client.errors import ServerUnreachable
from fairshare.client.executor.calls import Call, ExecutorProgress, Load, Sender, State
from fairshare.client.executor.containers import MOST_CALLS, Containers
from fairshare.client.executor.remote import chunk_callable
from fairshare.client.executor.workers import Workers
from fairshare.client.interpreter import Interpreter
from fairshare.client.waiting import Patience
from fairshare.errors import FairshareError


def futures_among(
    arguments: Sequence[object], keywords: Mapping[str, object]
) -> tuple[Future[Any], ...]:
    """The different futures among arguments."""
    values = (*arguments, *keywords.values())
    return tuple(dict.fromkeys(value for value in values if isinstance(value, Future)))


def with_results(
    arguments: Sequence[object], keywords: Mapping[str, object]
) -> tuple[tuple[object, ...], dict[str, object]]:
    """The arguments with the results of futures in their places; raises what one of these has
    raised, CancelledError too. All must be done."""
    return (
        tuple(_result(value) for value in arguments),
        {name: _result(value) for name, value in keywords.items()},
    )


def after_all(futures: Sequence[Future[object]], then: Callable[[], None]) -> None:
    """Call `then` once, when all futures are done: from the thread that ends the last one, or at
    once."""
    left = len(futures)
    turn = threading.Lock()

    def done(future: Future[object]) -> None:
        nonlocal left
        with turn:
            left -= 1
            last = left == 0
        if last:
            then()

    for future in futures:
        future.add_done_callback(done)


def _result(value: object) -> object:
    return value.result() if isinstance(value, Future) else value


def progress_bar(name: str) -> Callable[[ExecutorProgress], None] | None:
    """What shows each progress as a bar; None if stderr is not a terminal."""
    from rich import console, progress

    terminal = console.Console(stderr=True)
    if not terminal.is_terminal:
        return None
    shown = progress.Progress(
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TextColumn("{task.fields[words]}"),
        progress.TimeElapsedColumn(),
        console=terminal,
    )
    bar = shown.add_task(name, total=None, words="")

    def show(now: ExecutorProgress) -> None:
        over = now.done + now.failed + now.cancelled
        counts = {"running": now.running, "waiting": now.waiting, "failed": now.failed}
        words = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
        shown.start()
        shown.update(bar, total=now.calls, completed=over, words=words)
        if over == now.calls:
            shown.refresh()
            shown.stop()

    return show


Result = TypeVar("Result")

LINGER_S = 0.02
"""How long a call waits for others, to be submitted together with them."""

MOST_CONTAINERS = 500
"""Of one `map` that does not say how many calls shall share one: more hardly run at once, and each
costs a process and a folder."""

POLL_S = 5
WORKERS_POLL_S = 1
PACE_S = 0.1
AGAIN_S = 0.1
"""So soon the waiting calls are looked at again, when more is known of those before them."""

_log = logging.getLogger("fairshare.executor")


class Executor(futures.Executor):
    """Runs calls in containers of a fairshare server.

    >>> with Executor(queue="root.ml") as pool:                          # doctest: +SKIP
    ...     squares = list(pool.map(lambda number: number * number, range(100), chunksize=10))

    If the server runs containers on this machine, calls of less than a second share containers;
    with `isolated` each has one of its own, which is the default for another `user` and with a
    `time_limit_ms`. `resources` are those of one call. At most `max_workers` containers run at the
    same time; None: as many as the queue's share allows. `python` is the path of the interpreter
    that runs calls; by default that of this program, if the server is on this machine. A call whose
    process dies is tried `max_attempts` times. `progress` is called from another thread whenever
    something has changed; True shows a bar on stderr, if that is a terminal. Leaving the `with` by
    an exception cancels all calls: no caller would take their results.
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
        isolated: bool | None = None,
    ) -> None:
        if max_workers is not None and max_workers < 1:
            raise ValueError(f"max_workers is {max_workers}; it must be at least 1")
        self._max_workers = max_workers
        self._isolated = isolated or (isolated is None and bool(user or time_limit_ms))
        self._own_client = client is None
        self._client = client or Client(url)
        group = TaskGroup(
            name="call",
            count=1,
            resources=dict(resources or DEFAULT_RESOURCES),
            environment=dict(environment or {}),
            max_attempts=max_attempts,
            time_limit_ms=time_limit_ms,
            label=label,
        )
        submission = Submission(queue=queue, name=name, user=user)
        self._sender = Sender(self._client, submission, group, python)
        self._report = progress_bar(name) if progress is True else progress or None
        self._reported: ExecutorProgress | None = None
        self._state = State()
        self._containers = Containers(self._state, self._sender)
        self._workers = Workers(self._state, self._sender)
        self._threads = [
            threading.Thread(target=self._send_all, name="fairshare-submit", daemon=True),
            threading.Thread(target=self._follow_all, name="fairshare-follow", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    # What a user calls.

    def submit(
        self, fn: Callable[..., Result], /, *args: object, **kwargs: object
    ) -> "futures.Future[Result]":
        """Call `fn(*args, **kwargs)` in a container. Raises NotPicklable, InterpreterUnusable, and
        RuntimeError after `shutdown`. An argument that is a future itself is replaced by its
        result: the call is sent when all of these are done. The future raises what the call
        raised, caused by its traceback; CallFailed when its process died; ApplicationFailed when
        the application was killed."""
        earlier = futures_among(args, kwargs)
        sent = None if earlier else self._pickled(fn, args, kwargs)
        call = self._state.new_call(self._drop)
        if sent is not None:
            self._state.enqueue(call, sent)
        else:
            after_all(earlier, lambda: self._resume(call, fn, args, kwargs))
        return call.future

    def _pickled(
        self, fn: Callable[..., object], args: tuple[object, ...], kwargs: Mapping[str, object]
    ) -> tuple[bytes, bytes]:
        interpreter = Interpreter()
        with contextlib.suppress(ServerUnreachable):  # it may come back until calls are submitted
            interpreter = self._sender.interpreter()
        with interpreter.pickling():
            return callables.pickled_apart(fn, *args, **kwargs)

    def _resume(
        self,
        call: Call,
        fn: Callable[..., object],
        args: tuple[object, ...],
        kwargs: Mapping[str, object],
    ) -> None:
        """Go on with a call when the futures among its arguments are done."""
        if call.future.done():
            return
        try:
            self._state.enqueue(call, self._pickled(fn, *with_results(args, kwargs)))
        except (Exception, futures.CancelledError) as error:  # also what an earlier call has raised
            self._state.settle(call, error=error)

    def map(
        self,
        fn: Callable[..., Result],
        *iterables: Iterable[object],
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
        chunks = [self.submit(run, rows[n : n + size]) for n in range(0, len(rows), size)]
        end_s = None if timeout is None else time.monotonic() + timeout
        return _results(chunks, end_s)

    @property
    def prefix(self) -> str:
        """What the names of all its applications begin with."""
        return self._sender.prefix

    def progress(self) -> ExecutorProgress:
        """How many calls wait, run, and have ended."""
        return self._state.progress()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls. With `cancel_futures` those that do not run yet are cancelled. With
        `wait` all others are waited for."""
        self._state.close()
        if cancel_futures:
            for call in self._state.calls():
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
            for call in self._state.calls():
                call.future.cancel()
        self.shutdown()
        return None

    # The thread that submits.

    def _send_all(self) -> None:
        state = self._state
        patience = Patience(self._client.patience_s)
        while True:
            with state.turn:
                state.turn.wait_for(lambda: state.orders or state.waiting or state.over)
                if not (state.orders or state.waiting):
                    return
                state.turn.wait_for(
                    lambda: state.orders or len(state.waiting) >= MOST_CALLS, LINGER_S
                )
                order = state.orders.popleft() if state.orders else None
            if order is not None:
                with contextlib.suppress(FairshareError):  # the caller that gave it does not wait
                    order()
                continue
            state.prune()
            try:
                sent = self._send(patience)
            except BaseException as error:  # passed to all that wait for the calls
                for call in state.take_all():
                    state.settle(call, error=error)
                continue
            if not sent:
                with state.turn:
                    state.turn.wait_for(lambda: state.orders or state.over, AGAIN_S)

    def _send(self, patience: Patience) -> bool:
        """Submit what the waiting calls need now; False if that is nothing."""
        # Short calls share containers only beside this program, where they reach it.
        sharing = (
            not self._isolated
            and self._workers.usable
            and not self._sender.outlasting(patience, self._sender.interpreter).by_value
        )
        long = self._workers.long_functions() if sharing else set()
        free = self._free()
        load = Load()
        if (long or not sharing) and (free is None or free > 0):
            load = self._containers.take_load(
                lambda call: not sharing or call.function in long, free
            )
        if load.calls:
            self._containers.send(load, patience)
        missing = self._workers.missing() if sharing else 0
        if self._max_workers is not None:
            missing = min(missing, self._free() or 0)
        if missing > 0:
            self._workers.send(missing, patience)
        return bool(load.calls) or missing > 0

    def _free(self) -> int | None:
        """How many more containers may run; None: any number."""
        if self._max_workers is None:
            return None
        return self._max_workers - self._containers.used - self._workers.left

    def _drop(self, call: Call) -> None:
        if not self._containers.drop(call):
            self._workers.drop(call)
        self._state.cancelled(call)

    # The thread that follows.

    def _follow_all(self) -> None:
        state = self._state
        patience = Patience(self._client.patience_s)
        while True:
            with state.turn:
                state.turn.wait_for(lambda: self._followed or state.over)
                if not self._followed:
                    break
            try:
                with patience.outlast_absence():
                    # Asked first: a change meanwhile is then seen too often, and never missed.
                    version = self._client.changes()
                    self._containers.look()
                    self._workers.look()
                    self._report_progress()
                    if self._followed:
                        poll_s = WORKERS_POLL_S if self._workers.followed else POLL_S
                        self._client.changes(version, poll_s)
            except FairshareError as error:  # it has been away for too long
                self._containers.give_up(error)
                self._workers.give_up(error)
            time.sleep(PACE_S)
        self._report_progress()
        self._threads[0].join()
        self._report_progress()
        self._containers.close()
        self._workers.close()
        if self._own_client:
            self._client.close()

    @property
    def _followed(self) -> bool:
        return self._containers.followed or self._workers.followed

    def _report_progress(self) -> None:
        now = self.progress()
        if self._report is None or now == self._reported:
            return
        self._reported = now
        try:
            self._report(now)
        except Exception:  # it must not fail the calls
            _log.exception("the progress callback has failed")


def _results(chunks: list["futures.Future[list[Any]]"], end_s: float | None) -> Iterator[Any]:
    """The results of chunks, one by one; an iterator that is closed cancels the rest."""
    try:
        for future in chunks:
            left_s = None if end_s is None else end_s - time.monotonic()
            yield from future.result(left_s)
    finally:
        for future in chunks:
            future.cancel()
