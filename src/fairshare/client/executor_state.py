"""Owns the calls that an executor has accepted and not yet answered, and how many came to what end.

All threads of an executor share one `State`; `turn` guards it, and is notified of every change.
Nothing here talks to a server.
"""

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from fairshare.client.executor_calls import Call, ExecutorProgress


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

    def settle(self, call: Call, value: Any = None, error: BaseException | None = None) -> None:
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
