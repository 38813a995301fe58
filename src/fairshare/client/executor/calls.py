"""The calls that an executor has accepted and not yet answered, and how it submits applications.

All threads of an executor share one `State`; `turn` guards it, and is notified of every change.
`Sender` knows what all applications of an executor have in common, and waits for a server that is
away.
"""

import itertools
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

import msgspec

from fairshare.api.work import DEFAULT_ATTEMPTS, Submission, TaskGroup
from fairshare.client import callables
from fairshare.client.answers import Application, Task
from fairshare.client.client import Client
from fairshare.client.errors import ApplicationFailed, CallFailed
from fairshare.client.interpreter import Interpreter, choose_interpreter
from fairshare.client.waiting import Patience


class ExecutorProgress(msgspec.Struct, frozen=True):
    """How the calls of an executor stand. `done` have returned, `failed` have raised."""

    calls: int = 0
    waiting: int = 0
    running: int = 0
    done: int = 0
    failed: int = 0
    cancelled: int = 0


class Call:
    """One call: its name, its function and its arguments (both pickled, as soon as these are
    known), its future, and where it runs."""

    def __init__(
        self, name: str, function: bytes, data: bytes, drop: Callable[["Call"], None]
    ) -> None:
        self.name = name
        self.function = function
        self.data = data
        self.future = RemoteFuture(lambda: drop(self), lambda: self.container is not None)
        self.application: str | None = None
        self.container: str | None = None
        self.failures = 0  # of processes that ran it among others


class RemoteFuture(Future[Any]):
    """What will come of a call. It can be cancelled also while it runs: its container is ended."""

    def __init__(self, drop: Callable[[], None], runs: Callable[[], bool]) -> None:
        super().__init__()
        self._drop = drop
        self._runs = runs
        self._turn = threading.Lock()

    def running(self) -> bool:
        """Whether it has been seen to run in a container."""
        return not self.done() and self._runs()

    def cancel(self) -> bool:
        """Do without it: what waits never starts, what runs is ended. False if it is over."""
        with self._turn:
            already = self.cancelled()
            # Not marked as running before it is over, so that it can be cancelled until then.
            if not super().cancel():
                return False
            if not already:
                self.set_running_or_notify_cancel()
        if not already:
            self._drop()
        return True

    def settle(self, value: object = None, error: BaseException | None = None) -> bool:
        """Set its outcome; False if no caller waits for it, or it was reported before."""
        with self._turn:
            if self.done() or not self.set_running_or_notify_cancel():
                return False
        if error is not None:
            self.set_exception(error)
        else:
            self.set_result(value)
        return True


class Load:
    """Calls that are submitted together: each function is there once. `size` is in bytes."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.functions: dict[bytes, int] = {}
        self.at_once: int | None = None  # how many may run at the same time
        self.size = 0

    def size_with(self, call: Call) -> int:
        """The size with one call more."""
        new = 0 if call.function in self.functions else len(call.function)
        return self.size + new + len(call.data)

    def has_room_for(self, call: Call, most_bytes: int) -> bool:
        """Whether a further call goes along. The first function does not count: calls that share
        it send it once only if they go together, however large it is."""
        if not self.calls:
            return True
        return self.size_with(call) - len(self.calls[0].function) <= most_bytes

    def add(self, call: Call) -> None:
        """Take a call along."""
        self.size = self.size_with(call)
        self.functions.setdefault(call.function, len(self.functions))
        self.calls.append(call)

    def rows(self) -> list[tuple[str, int, bytes]]:
        """Of each call its name, the number of its function, and its arguments."""
        return [(call.name, self.functions[call.function], call.data) for call in self.calls]


class Batch:
    """The calls of one application; the number of a call is that of its task."""

    def __init__(self, application: str, calls: list[Call], at_once: int | None = None) -> None:
        self.application = application
        self.calls = calls
        self.at_once = at_once
        self.settled: set[int] = set()
        self.lost_s: float | None = None  # since when the node of a result is not there

    @property
    def workers(self) -> int:
        """How many containers it can still use at the same time."""
        left = len(self.calls) - len(self.settled)
        return left if self.at_once is None else min(left, self.at_once)

    @property
    def wanted(self) -> bool:
        """Whether a caller waits for any of them."""
        return any(not call.future.done() for call in self.calls)


def verdicts(
    batch: Batch, application: Application, tasks: Sequence[Task], log: str
) -> Iterator[tuple[Call, Exception | None]]:
    """The outcomes of the calls without an answer when their application has ended badly.

    If a process has failed too often, its own call has failed; the others only shared the
    application, and are to be submitted again (None). If no process failed, a user has
    ended the application, and all its calls with it. `log` is the end of what was written last.
    """
    failed = {task.index: task for task in tasks if task.state in ("FAILED", "KILLED")}
    for index, call in enumerate(batch.calls):
        if index in batch.settled or call.future.done():
            continue
        if index in failed:
            reason = failed[index].diagnostics or application.diagnostics
            yield call, CallFailed.of_process(reason, log)
        elif failed and application.state == "FAILED":
            yield call, None
        else:
            state, diagnostics = application.state, application.diagnostics
            yield call, ApplicationFailed(application.id, state, diagnostics, log)


class State:
    """The calls of one executor. `drop` is called for each that is cancelled."""

    def __init__(self) -> None:
        self.turn = threading.Condition()
        self.waiting: deque[Call] = deque()
        self.orders: deque[Callable[[], None]] = deque()
        self.closing = False
        self._live: dict[str, Call] = {}
        self._counts = {"calls": 0, "done": 0, "failed": 0, "cancelled": 0}

    @property
    def over(self) -> bool:
        """Whether no call is left, and none will come."""
        return self.closing and not self._live

    @property
    def idle(self) -> bool:
        """Whether no call is left."""
        return not self._live

    def new_call(self, drop: Callable[[Call], None]) -> Call:
        """A further call, which does not wait for a container yet; raises RuntimeError after
        `close`."""
        with self.turn:
            if self.closing:
                raise RuntimeError("cannot schedule new futures after shutdown")
            number = self._counts["calls"] = self._counts["calls"] + 1
            call = Call(str(number), b"", b"", drop)
            self._live[call.name] = call
        return call

    def close(self) -> None:
        """Accept no more calls."""
        with self.turn:
            self.closing = True
            self.turn.notify_all()

    def enqueue(self, call: Call, sent: tuple[bytes, bytes]) -> None:
        """Let a call wait, whose function and arguments are known now."""
        function, data = sent
        with self.turn:
            # Calls of one function in a row keep one copy of it.
            last = self.waiting[-1].function if self.waiting else b""
            call.function = last if last == function else function
            call.data = data
            self.waiting.append(call)
            self.turn.notify_all()

    def prune(self) -> None:
        """Let calls that were cancelled wait no longer."""
        with self.turn:
            left = [call for call in self.waiting if not call.future.done()]
            if len(left) < len(self.waiting):
                self.waiting.clear()
                self.waiting.extend(left)

    def take_all(self) -> list[Call]:
        """All waiting calls, which wait no longer."""
        with self.turn:
            calls = list(self.waiting)
            self.waiting.clear()
        return calls

    def order(self, what: Callable[[], None]) -> None:
        """Let the thread that talks to the server do something."""
        with self.turn:
            self.orders.append(what)
            self.turn.notify_all()

    def calls(self) -> list[Call]:
        """All calls that are not answered."""
        with self.turn:
            return list(self._live.values())

    def running(self) -> list[Call]:
        """The calls that have been seen to run."""
        with self.turn:
            return [call for call in self._live.values() if call.container is not None]

    def settle(self, call: Call, value: object = None, error: BaseException | None = None) -> None:
        """Answer a call."""
        if call.future.settle(value, error):
            with self.turn:
                self._counts["failed" if error else "done"] += 1
        self._forget(call)

    def cancelled(self, call: Call) -> None:
        """Forget a call that its caller has cancelled."""
        with self.turn:
            self._counts["cancelled"] += 1
        self._forget(call)

    def _forget(self, call: Call) -> None:
        with self.turn:
            self._live.pop(call.name, None)
            self.turn.notify_all()

    def progress(self) -> ExecutorProgress:
        """How many calls wait, run, and have ended."""
        with self.turn:
            running = sum(call.container is not None for call in self._live.values())
            waiting = len(self._live) - running
            return ExecutorProgress(**self._counts, running=running, waiting=waiting)


Answer = TypeVar("Answer")


class Sender:
    """Submits the applications of one executor: `submission` and `group` with what each adds."""

    def __init__(
        self, client: Client, submission: Submission, group: TaskGroup, python: str | None
    ) -> None:
        self.client = client
        self.group = group
        self.attempts = group.max_attempts or DEFAULT_ATTEMPTS
        self.prefix = f"{submission.name}-{secrets.token_hex(4)}-"
        self._submission = submission
        self._python = python
        self._numbers = itertools.count(1)
        self._interpreter: Interpreter | None = None
        self._choosing = threading.Lock()
        self._fitting: int | None = None

    def interpreter(self) -> Interpreter:
        """The Python that runs calls; raises ServerUnreachable, InterpreterUnusable."""
        with self._choosing:
            if self._interpreter is None:
                cluster = self.client.cluster()
                self._interpreter = choose_interpreter(cluster, self._python)
                asked = self.group.resources.items()
                fits = [cluster.total.get(kind, 0) // amount for kind, amount in asked if amount]
                self._fitting = max(1, min(fits, default=1))
            return self._interpreter

    @property
    def fitting(self) -> int:
        """How many containers of a call the cluster had room for when it was empty, at least 1."""
        return self._fitting or 1

    def submit(
        self, run: Callable[[], object], count: int, patience: Patience, **fields: object
    ) -> str:
        """Submit an application of `count` tasks that run a callable, with further fields of their
        group; its id."""
        interpreter = self.outlasting(patience, self.interpreter)
        group = msgspec.structs.replace(
            self.group,
            count=count,
            callable=callables.pickled(run),
            python=interpreter.python,
            environment=interpreter.environment(self.group.environment),
            **fields,
        )
        name = f"{self.prefix}{next(self._numbers)}"
        submission = msgspec.structs.replace(self._submission, name=name, tasks=(group,))

        def submit() -> str:
            # The answer may have been lost, and not the submission.
            applications = self.client.applications() if patience.absent else ()
            earlier = next((known.id for known in applications if known.name == name), None)
            return earlier or self.client.submit(submission)

        return self.outlasting(patience, submit)

    def outlasting(self, patience: Patience, ask: Callable[[], Answer]) -> Answer:
        """What a question yields, also if the server is away for a while."""
        answers: list[Answer] = []
        while True:
            with patience.outlast_absence():
                answers.append(ask())
            if answers:
                return answers[0]
            time.sleep(self.client.pace_s)
