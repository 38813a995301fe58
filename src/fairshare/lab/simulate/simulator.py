"""Owns the loop of a simulation, from instant to instant until nothing is left to do.

The runtime is that of a server; only clock, engine and journal differ. Knows no file.
"""

from collections.abc import Callable, Sequence

import msgspec

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import Event
from fairshare.core.model.identifiers import ApplicationId
from fairshare.core.model.inputs import (
    ContainerExited,
    ContainerStarted,
    ForgetApplications,
    Input,
    LoadConfiguration,
    NodeJoined,
)
from fairshare.engines.simulated import SimulatedEngine
from fairshare.lab.simulate.agenda import Agenda
from fairshare.lab.simulate.collection import Collection
from fairshare.lab.simulate.container_outcomes import ContainerOutcomes
from fairshare.lab.simulate.faults import Faults
from fairshare.lab.simulate.report import Report
from fairshare.lab.simulate.sessions import Sessions
from fairshare.lab.simulate.workload import EPOCH_MS, Arrival, Workload
from fairshare.runtime.clock import VirtualClock
from fairshare.runtime.journal.protocol import Journal
from fairshare.runtime.runtime import Observer, Runtime

FINISHED_KEPT = 1_000
"""How many applications that are over the state keeps, if it forgets any."""

PATIENCE_MS = 3_600_000
"""How long a simulation continues with only the scheduler's timers, while no container runs, no
input arrives and no container is allocated."""


class Simulator:
    """One run of a workload under one scheduler, from 0 ms on.

    `settings` are the scheduler's, encoded for LoadConfiguration. Nodes join at 0 ms, in their
    order, before the first submission. `stops` is asked after each instant, whether to end there.
    With `forgets` the state forgets most applications that are over, as a server's does; the
    report has all of them. It keeps them where the workload's submissions name others to wait for.
    Without `starts` the records leave out the starts of containers, which the report does not show.
    `hurries` is asked within an instant, whether to leave it as it is because `stops` will end the
    simulation there.
    With `faults` nodes are lost and tasks fail, as long as an application is left. The think times
    of users in closed loops are drawn by `seed`.
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
        stops: Callable[[int], bool] | None = None,
        forgets: bool = False,
        starts: bool = True,
        faults: Faults | None = None,
        hurries: Callable[[], bool] | None = None,
        seed: int = 1,
    ) -> None:
        self.agenda = Agenda()
        self.clock = VirtualClock()
        self.manager = manager
        self._workload = workload
        self._outcomes = ContainerOutcomes()
        self._collection = Collection(manager.scheduler)
        self._faults = faults
        self._sessions = Sessions(workload.sessions, seed) if workload.sessions else None
        if self._sessions is not None:
            observers = (self._sessions.observe, *observers)
        outcomes = self._outcomes if faults is None else faults.of_tasks(self._outcomes)
        self.engine = SimulatedEngine(self.agenda, outcomes)
        if faults is not None:
            faults.attach(self.agenda)
            observers = (faults.observe, *observers)
        self._reported: list[Input] = []
        self.engine.start(self._report_now)
        self.runtime = Runtime(
            manager,
            journal,
            self.engine,
            observers=(self._outcomes.observe, self._collection.observe, *observers),
            beat_interval_ms=beat_interval_ms,
            pretend=self.engine.pretend,
        )
        self.agenda.at(0, LoadConfiguration(settings, EPOCH_MS))
        for node in workload.nodes if nodes is None else nodes:
            self.agenda.at(0, node)
        self._arrived = 0
        self._forgets = forgets and not any(
            arrival.submission.start.after for arrival in workload.applications()
        )
        self._unforgotten: tuple[ApplicationId, ...] = ()
        self._starts = starts
        self._stops = stops
        self._hurries = hurries

    def run(self, until_ms: int | None = None) -> Report:
        """Run to the end, or to an instant; may be called again with a later one.

        The simulation ends when no container runs, no application will arrive, and the scheduler's
        timers alone allocate nothing.
        """
        faults = self._faults
        give_up_ms = self.clock.now_ms() + PATIENCE_MS
        while (now_ms := self._next_ms()) is not None:
            if until_ms is not None and now_ms > until_ms:
                break
            ahead = 0 if faults is None else faults.ahead
            if len(self.agenda) <= ahead and not self._arrivals_left:
                if faults is not None and faults.back_ms >= now_ms and not self.manager.state.nodes:
                    give_up_ms += now_ms - self.clock.now_ms()  # no node was there to allocate on
                if now_ms > give_up_ms or (faults is not None and not self._anything_left()):
                    break
            else:
                give_up_ms = now_ms + PATIENCE_MS
                if faults is not None:
                    give_up_ms = max(give_up_ms, faults.back_ms)
            self._go_to(now_ms)
            if self._stops is not None and self._stops(now_ms):
                break
        if until_ms is not None:
            self._move(max(until_ms, self.clock.now_ms()))
        return self._report()

    @property
    def submitted(self) -> Sequence[Arrival]:
        """The applications of the report, in its order."""
        return self._workload.arrivals if self._sessions is None else self._sessions.submitted

    def _report(self) -> Report:
        notes = self._workload.notes
        if self._faults is not None:
            notes = (*notes, self._faults.note())
        sessions = self._sessions
        if sessions is None:
            return self._collection.report(self.clock.now_ms(), notes)
        if note := sessions.note():
            notes = (*notes, note)
        report = self._collection.report(self.clock.now_ms(), notes)
        applications = tuple(
            msgspec.structs.replace(one, session=number)
            for one, number in zip(report.applications, sessions.numbers, strict=True)
        )
        return msgspec.structs.replace(report, applications=applications)

    def _anything_left(self) -> bool:
        """Whether an application is not over."""
        return any(not one.over for one in self.manager.state.applications.values())

    def arrive(self, arrival: Arrival) -> tuple[Event, ...]:
        """Submit an application that is not in the workload at the current instant; returns the
        events. Only valid when no arrival of the workload is left."""
        assert not self._arrivals_left
        self._outcomes.expect(arrival)
        return self.handle(arrival.submission)

    def handle(self, given: Input) -> tuple[Event, ...]:
        """Handle one input at the current instant; returns its events."""
        now_ms = self.clock.now_ms()
        self._reported = []
        (_, events), *_ = self.runtime.turn(now_ms, [given])
        while self._reported:
            inputs = self._take_reported()
            self.runtime.turn(now_ms, inputs)
        return events

    @property
    def _arrivals_left(self) -> int:
        """The number of applications that arrive at an instant which is known by now."""
        left = len(self._workload.arrivals) - self._arrived
        return left if self._sessions is None else left + self._sessions.due

    def _next_ms(self) -> int | None:
        next_ms = self.agenda.next_ms()
        arrivals = self._workload.arrivals
        if self._arrived < len(arrivals):
            at_ms = arrivals[self._arrived].at_ms
            if next_ms is None or at_ms < next_ms:
                next_ms = at_ms
        if self._sessions is not None:
            later_ms = self._sessions.next_ms()
            if later_ms is not None and (next_ms is None or later_ms < next_ms):
                next_ms = later_ms
        deadline_ms = self.runtime.next_deadline_ms()
        if deadline_ms is not None and (next_ms is None or deadline_ms < next_ms):
            next_ms = deadline_ms
        return None if next_ms is None else max(next_ms, self.clock.now_ms())

    def _go_to(self, now_ms: int) -> None:
        """Handle one instant: first the ends of containers, then the arrivals, finally the engine's
        reports on the orders of this instant."""
        self._move(now_ms)
        inputs: list[Input] = self.agenda.take(now_ms)
        for given in inputs:
            if type(given) is ContainerExited:
                self.engine.ended(given.container)
        for arrival in self._arriving(now_ms):
            self._outcomes.expect(arrival)
            inputs.append(arrival.submission)
        self._reported = []
        while True:
            self.runtime.turn(now_ms, inputs, self._hurries)
            if not self._reported or (self._hurries is not None and self._hurries()):
                break
            inputs = self._take_reported()
            if not inputs and not self.runtime.is_due(now_ms):
                break
        if self._forgets and len(self._collection.ended) >= 2 * FINISHED_KEPT:
            self._forget()

    def _arriving(self, now_ms: int) -> Sequence[Arrival]:
        """The applications that arrive at an instant, those of sessions last."""
        arrivals, first = self._workload.arrivals, self._arrived
        while self._arrived < len(arrivals) and arrivals[self._arrived].at_ms <= now_ms:
            self._arrived += 1
        arriving = arrivals[first : self._arrived]
        sessions = self._sessions
        if sessions is None:
            return arriving
        for arrival in arriving:
            sessions.expect(arrival)
        return (*arriving, *sessions.take(now_ms))

    def _forget(self) -> None:
        settled = self._collection.settle(FINISHED_KEPT)
        self._outcomes.forget(settled)
        chosen = self._unforgotten + settled
        self.handle(ForgetApplications(chosen))
        # Nodes may still keep room for some.
        applications = self.manager.state.applications
        self._unforgotten = tuple(number for number in chosen if number in applications)

    def _move(self, now_ms: int) -> None:
        self._collection.advance(now_ms)
        self.clock.advance(now_ms)

    def _report_now(self, given: Input) -> None:
        self._reported.append(given)

    def _take_reported(self) -> list[Input]:
        """The engine's reports, without starts if no record of them is wanted.

        A start decides nothing. Only where starvation clocks run, an update comes before it.
        """
        reported, self._reported = self._reported, []
        if self._starts or self.manager.scheduler.clock_interval_ms() is not None:
            return reported
        return [given for given in reported if type(given) is not ContainerStarted]
