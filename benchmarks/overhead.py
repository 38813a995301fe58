"""How much of a measured server's time is not the product's: what the benchmark itself does in that
process, and what Python's garbage collector takes.

A profile shows neither: it counts a collection as the time of the function that allocated last,
and the benchmark's functions as the product's, which calls them.
"""

import asyncio
import gc
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from typing import Any

import msgspec


class Overhead(msgspec.Struct):
    """Seconds of one process."""

    collector_s: float = 0.0
    longest_collection_s: float = 0.0  # since the last answer
    harness_s: float = 0.0
    processor_s: float = 0.0

    def since(self, before: "Overhead") -> str:
        """The shares of the time since then, as words beside a figure."""
        spent_s = max(self.processor_s - before.processor_s, 1e-9)
        harness = 100 * (self.harness_s - before.harness_s) / spent_s
        collector = 100 * (self.collector_s - before.collector_s) / spent_s
        return (
            f"of that {harness:.0f} % the benchmark's own harness, {collector:.0f} % the garbage"
            f" collector (longest stop {1_000 * self.longest_collection_s:.0f} ms)"
        )


class OverheadClock:
    """Counts processor time in the measured process, from its creation on, in the thread that made
    it; each moment counts once, for the one that began last. Of other threads only what they
    collect counts."""

    def __init__(self) -> None:
        self._sums_s = {"product": 0.0, "harness": 0.0, "collector": 0.0}
        self._owners = ["product"]
        self._thread = threading.get_ident()
        self._since_s = time.thread_time()
        self._collecting_s = self._longest_s = 0.0
        gc.callbacks.append(self._collects)

    def harness(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function of the benchmark, whose time is counted as the harness's."""
        return self._counted("harness", function)

    def product(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function of the product that the harness calls."""
        return self._counted("product", function)

    def answer_signals(self) -> None:
        """Print the sums as one line of JSON for each SIGUSR1; to be called in the event loop."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, self._answer)

    def _counted(self, owner: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any) -> Any:
            self._begin(owner)
            try:
                return function(*arguments)
            finally:
                self._end()

        return counted

    def _begin(self, owner: str) -> None:
        now_s = time.thread_time()
        self._sums_s[self._owners[-1]] += now_s - self._since_s
        self._owners.append(owner)
        self._since_s = now_s

    def _end(self) -> None:
        now_s = time.thread_time()
        self._sums_s[self._owners.pop()] += now_s - self._since_s
        self._since_s = now_s

    def _collects(self, phase: str, details: dict[str, int]) -> None:
        here = threading.get_ident() == self._thread
        if phase == "start":
            self._collecting_s = time.thread_time()
            if here:
                self._begin("collector")
            return
        took_s = time.thread_time() - self._collecting_s
        self._longest_s = max(self._longest_s, took_s)
        if here:
            self._end()
        else:
            self._sums_s["collector"] += took_s

    def read(self) -> Overhead:
        """The sums until now; the longest collection since the last time."""
        sums_s, longest_s = self._sums_s, self._longest_s
        self._longest_s = 0.0
        return Overhead(sums_s["collector"], longest_s, sums_s["harness"], time.process_time())

    def _answer(self) -> None:
        print(msgspec.json.encode(self.read()).decode(), flush=True)


def overhead_of(server: subprocess.Popen[str]) -> Overhead:
    """The sums of a process that answers signals, and writes nothing else to its output."""
    assert server.stdout is not None
    os.kill(server.pid, signal.SIGUSR1)
    return msgspec.json.decode(server.stdout.readline(), type=Overhead)
