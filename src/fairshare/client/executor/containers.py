"""Calls that run in a container each: how they are submitted together, followed, and answered.

Calls that come at about the same time become the tasks of one application.
"""

import contextlib
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from fairshare.client.answers import Application, Task
from fairshare.client.errors import Refused
from fairshare.client.executor.calls import Batch, Call, Load, Sender, State, verdicts
from fairshare.client.executor.remote import SKIPPED, group_callable, value_or_error
from fairshare.client.waiting import SERVICE_UNAVAILABLE, Patience

MOST_CALLS = 1_000
MOST_BYTES = 4 << 20
"""Of the arguments of one application: each of its containers reads all of them."""

NODE_PATIENCE_S = 60.0
"""How long a result is waited for whose node is not registered: with a server that has just taken
over, it soon is again."""


class Containers:
    """Runs each call in a container of its own."""

    def __init__(self, state: State, sender: Sender) -> None:
        self._state = state
        self._sender = sender
        self._batches: dict[str, Batch] = {}
        self._marks = tempfile.TemporaryDirectory(
            prefix="fairshare-executor-", ignore_cleanup_errors=True
        )
        Path(self._marks.name).chmod(0o755)  # a container may run as another user

    @property
    def followed(self) -> bool:
        """Whether there are applications that are not over."""
        return bool(self._batches)

    @property
    def used(self) -> int:
        """How many containers may run."""
        with self._state.turn:
            return sum(batch.workers for batch in self._batches.values())

    def take_load(self, wanted: Callable[[Call], bool], at_once: int | None) -> Load:
        """The waiting calls that go together into the next application, of which `at_once` may run
        at the same time; possibly none."""
        load = Load()
        state = self._state
        with state.turn:
            most = MOST_CALLS
            if at_once is not None:
                load.at_once = at_once
                if self._batches:  # all of these can run now: none waits behind few workers
                    most = min(most, at_once)
            left: list[Call] = []
            while state.waiting and len(load.calls) < most:
                call = state.waiting[0]
                if not wanted(call):
                    left.append(state.waiting.popleft())
                elif load.has_room_for(call, MOST_BYTES):
                    load.add(state.waiting.popleft())
                else:
                    break
            state.waiting.extendleft(reversed(left))
        return load

    def send(self, load: Load, patience: Patience) -> None:
        """Submit calls as one application. What goes wrong is the error of all of them."""
        calls = load.calls
        try:
            run = group_callable(load.rows(), list(load.functions), self._marks.name)
            application = self._sender.submit(run, len(calls), patience, at_once=load.at_once)
        except BaseException as error:  # passed to all that wait for the calls
            for call in calls:
                self._state.settle(call, error=error)
            return
        with self._state.turn:
            batch = Batch(application, calls, load.at_once)
            self._batches[application] = batch
            for call in calls:
                call.application = application
            self._state.turn.notify_all()
        if not batch.wanted:  # all were cancelled meanwhile
            self._kill(batch)

    def drop(self, call: Call) -> bool:
        """A call was cancelled: see to it that it does not run, or no longer. False if it runs
        elsewhere."""
        with contextlib.suppress(OSError):  # the directory is gone when all is over
            Path(self._marks.name, call.name).touch()
        with self._state.turn:
            batch = self._batches.get(call.application or "")
            container = call.container
            if batch is None:
                return False
            if not batch.wanted:
                self._state.order(lambda: self._kill(batch))
            elif container is not None and self._sender.attempts > 1:
                # It begins once more, sees the mark, and ends at once.
                self._state.order(lambda: self._sender.client.stop_container(container))
            return True

    def look(self) -> None:
        """See how the applications are, and answer the calls that have ended."""
        with self._state.turn:
            batches = list(self._batches.values())
        for batch in batches:
            self._look(batch)

    def give_up(self, error: BaseException) -> None:
        """Answer all calls with an error: the server has been away for too long."""
        with self._state.turn:
            batches = list(self._batches.values())
        for batch in batches:
            self._give_up(batch, error)

    def close(self) -> None:
        """Remove what is on the disk."""
        self._marks.cleanup()

    def _kill(self, batch: Batch) -> None:
        with self._state.turn:
            self._batches.pop(batch.application, None)
            self._state.turn.notify_all()
        self._sender.client.kill(batch.application, "No caller waits for its calls any more.")

    def _look(self, batch: Batch) -> None:
        client = self._sender.client
        try:
            application = client.application(batch.application)
            tasks = client.tasks(batch.application)
            for task in tasks:
                self._see(batch, task)
        except Refused as error:
            if error.status == SERVICE_UNAVAILABLE:
                raise
            if error.code == "node-unreachable" and self._may_come_back(batch):
                return
            self._give_up(batch, error)  # the server does not know it any more
            return
        batch.lost_s = None
        if len(batch.settled) < len(batch.calls) and not application.over:
            return
        with self._state.turn:
            self._batches.pop(batch.application, None)
        if application.state != "FINISHED" and batch.wanted:
            self._break(batch, application, tasks)

    @staticmethod
    def _may_come_back(batch: Batch) -> bool:
        now_s = time.monotonic()
        if batch.lost_s is None:
            batch.lost_s = now_s
        return now_s - batch.lost_s < NODE_PATIENCE_S

    def _see(self, batch: Batch, task: Task) -> None:
        call = batch.calls[task.index]
        if task.index in batch.settled:
            return
        call.container = task.container if task.state == "RUNNING" else None
        if task.state == "SUCCEEDED":
            if not call.future.done():
                outcome = self._sender.client.result(task.container or "")
                if outcome[0] != SKIPPED:
                    self._state.settle(call, *value_or_error(outcome))
            with self._state.turn:
                batch.settled.add(task.index)
                self._state.turn.notify_all()

    def _break(self, batch: Batch, application: Application, tasks: tuple[Task, ...]) -> None:
        """An application has ended badly. Calls that did not cause it are submitted again."""
        log = self._sender.client.failure_log(application.id)
        again: list[Call] = []
        for call, error in verdicts(batch, application, tasks, log):
            if error is None:
                call.application = call.container = None
                again.append(call)
            else:
                self._state.settle(call, error=error)
        with self._state.turn:
            self._state.waiting.extend(again)
            self._state.turn.notify_all()

    def _give_up(self, batch: Batch, error: BaseException) -> None:
        with self._state.turn:
            self._batches.pop(batch.application, None)
        for call in batch.calls:
            self._state.settle(call, error=error)
