"""Owns the loop of a simulation: from instant to instant, as far as there is anything left to do.

The runtime is the live one; only clock, engine and journal are others. Knows no file.
"""

from collections.abc import Sequence

from fairshare.engines.simulated import SimulatedEngine
from fairshare.journal.protocol import Journal
from fairshare.manager.resource_manager import ResourceManager
from fairshare.model.events import Event
from fairshare.model.inputs import ContainerExited, Input, LoadConfiguration, NodeJoined
from fairshare.runtime.clock import VirtualClock
from fairshare.runtime.runtime import Observer, Runtime
from fairshare.simulate.agenda import Agenda
from fairshare.simulate.collection import Collection
from fairshare.simulate.fates import Fates
from fairshare.simulate.report import Report
from fairshare.simulate.workload import Arrival, Workload

EPOCH_MS = 1_000_000_000_000
"""The cluster's identity in the names of simulated applications."""

PATIENCE_MS = 3_600_000
"""So long the scheduler's own timers may run while nothing runs, arrives or is granted."""


class Simulator:
    """One run of a workload under one scheduler, from 0 ms on.

    `settings` are the scheduler's, as LoadConfiguration takes them. Nodes join at 0 ms, in their
    order, before anything is submitted.
    """

    def __init__(
        self,
        manager: ResourceManager,
        settings: bytes,
        workload: Workload,
        journal: Journal,
        *,
        nodes: Sequence[NodeJoined] | None = None,
        observers: Sequence[Observer] = (),
        beat_interval_ms: int = 1_000,
    ) -> None:
        self.agenda = Agenda()
        self.clock = VirtualClock()
        self.manager = manager
        self._workload = workload
        self._fates = Fates()
        self._collection = Collection(manager.scheduler)
        self.engine = SimulatedEngine(self.agenda, self._fates)
        self._reported: list[Input] = []
        self.engine.start(self._report_now)
        self.runtime = Runtime(
            manager,
            journal,
            self.engine,
            observers=(self._fates.observe, self._collection.observe, *observers),
            beat_interval_ms=beat_interval_ms,
        )
        self.agenda.at(0, LoadConfiguration(settings, EPOCH_MS))
        for node in workload.nodes if nodes is None else nodes:
            self.agenda.at(0, node)
        for arrival in workload.arrivals:
            self._fates.expect(arrival)
        self._arrived = 0

    def run(self, until_ms: int | None = None) -> Report:
        """Go on to the end, or to an instant; may be called again with a later one.

        It is over when nothing runs or will arrive, and the scheduler's timers alone grant nothing.
        """
        idle_since_ms = self.clock.now_ms()
        while (now_ms := self._next_ms()) is not None:
            if until_ms is not None and now_ms > until_ms:
                break
            if not len(self.agenda) and not self._arrivals_left:
                if now_ms - idle_since_ms > PATIENCE_MS:
                    break
            else:
                idle_since_ms = now_ms
            self._go_to(now_ms)
        if until_ms is not None:
            self._move(max(until_ms, self.clock.now_ms()))
        return self._collection.report(self.clock.now_ms(), self._workload.notes)

    def arrive(self, arrival: Arrival) -> tuple[Event, ...]:
        """Something arrives at this instant that the workload does not know; the events of its
        submission. Only where nothing of the workload is left to come."""
        assert not self._arrivals_left
        self._fates.expect(arrival)
        return self.tell(arrival.submission)

    def tell(self, given: Input) -> tuple[Event, ...]:
        """Feed one input at this instant; its events."""
        now_ms = self.clock.now_ms()
        self._reported = []
        (_, events), *_ = self.runtime.turn(now_ms, [given])
        while self._reported:
            inputs, self._reported = self._reported, []
            self.runtime.turn(now_ms, inputs)
        return events

    @property
    def _arrivals_left(self) -> int:
        return len(self._workload.arrivals) - self._arrived

    def _next_ms(self) -> int | None:
        times = []
        if (entry_ms := self.agenda.next_ms()) is not None:
            times.append(entry_ms)
        if self._arrivals_left:
            times.append(self._workload.arrivals[self._arrived].at_ms)
        if (deadline_ms := self.runtime.next_deadline_ms()) is not None:
            times.append(deadline_ms)
        return max(min(times), self.clock.now_ms()) if times else None

    def _go_to(self, now_ms: int) -> None:
        """One instant: what has ended comes first, then what arrives; at last what the engine
        answers to what was ordered in this instant."""
        self._move(now_ms)
        inputs: list[Input] = self.agenda.take(now_ms)
        for given in inputs:
            if type(given) is ContainerExited:
                self.engine.ended(given.container)
        arrivals = self._workload.arrivals
        while self._arrivals_left and arrivals[self._arrived].at_ms <= now_ms:
            inputs.append(arrivals[self._arrived].submission)
            self._arrived += 1
        while True:
            self._reported = []
            self.runtime.turn(now_ms, inputs)
            if not self._reported:
                break
            inputs = self._reported

    def _move(self, now_ms: int) -> None:
        self._collection.advance(now_ms)
        self.clock.advance(now_ms)

    def _report_now(self, given: Input) -> None:
        self._reported.append(given)
