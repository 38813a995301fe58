"""The loop of a simulation, from instant to instant until nothing is left to do; what becomes of
its containers, and users who wait for what they submitted.

The runtime is that of a server; only clock, engine and journal differ. From the records is learned
which numbers applications have (the manager handles submissions in the order in which they were
added, and each results in an application or a rejection), when they are over, and where containers
were granted that run longer far from their hosts.

A user in a closed loop submits the next applications when the last ones are over, and it has
thought. A drawn think time follows from the seed, the session and the turn alone, so that it is the
same under every configuration.
"""

import random
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush

import msgspec

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import (
    ApplicationEnded,
    ApplicationRejected,
    ApplicationSubmitted,
    Event,
    RequestRefused,
)
from fairshare.core.model.identifiers import ApplicationId, application_of
from fairshare.core.model.inputs import (
    ContainerExited,
    ContainerStarted,
    ForgetApplications,
    Input,
    LoadConfiguration,
    MakeBooking,
    NodeJoined,
    SubmitApplication,
)
from fairshare.core.record import Record
from fairshare.core.schedulers.protocol import State
from fairshare.engines.protocol import TaskLaunch
from fairshare.engines.simulated import Outcome, SimulatedEngine
from fairshare.errors import InputError
from fairshare.lab.simulate.collection import Collection
from fairshare.lab.simulate.faults import Agenda, Faults
from fairshare.lab.simulate.report import Report
from fairshare.lab.simulate.workload import EPOCH_MS, Arrival, Session, Workload
from fairshare.runtime.clock import VirtualClock
from fairshare.runtime.journal.protocol import Journal
from fairshare.runtime.observers import Observers
from fairshare.runtime.runtime import Observer, Runtime, Step
from fairshare.wording import counted

NO_SESSION = -1


class _Progress:
    """How far one session is: `begun` turns have begun, and of the last one some are not over."""

    __slots__ = ("begun", "chance", "open")

    def __init__(self) -> None:
        self.begun = 0
        self.open = 0
        self.chance: random.Random | None = None


class Sessions:
    """The sessions of one run. Must observe every record of it, and be informed with `expect` of
    all submissions, also of others, in the order in which they are handled."""

    def __init__(self, sessions: Sequence[Session], seed: int) -> None:
        self.submitted: list[Arrival] = []
        """All applications, in the order of their numbers."""
        self.numbers: list[int] = []
        """Of each of them the number of its session, from 1; 0 without one."""
        self._sessions = sessions
        self._seed = seed
        self._progress = [_Progress() for _ in sessions]
        self._heap: list[tuple[int, int, int, Arrival]] = []
        self._pushed = 0
        self._expected: deque[tuple[Arrival, int]] = deque()
        self._live: dict[ApplicationId, int] = {}
        self._arrived = 0
        for number, session in enumerate(sessions):
            self._begin(session.at_ms, number)

    @property
    def due(self) -> int:
        """The number of applications that arrive at an instant which is known by now."""
        return len(self._heap)

    def next_ms(self) -> int | None:
        """The instant of the next arrival, if any is known."""
        return self._heap[0][0] if self._heap else None

    def take(self, now_ms: int) -> list[Arrival]:
        """What arrives by an instant; it is expected then."""
        taken = []
        while self._heap and self._heap[0][0] <= now_ms:
            _, _, number, arrival = heappop(self._heap)
            self.expect(arrival, number)
            self._arrived += 1
            taken.append(arrival)
        return taken

    def expect(self, arrival: Arrival, number: int = NO_SESSION) -> None:
        """Announce the arrival whose submission will be handled next, of a session or of none."""
        self._expected.append((arrival, number))

    def observe(self, record: Record) -> None:
        """Let the next turn of a session begin where its last one is over."""
        submitted = type(record.input) is SubmitApplication and bool(self._expected)
        arrival, number = self._expected.popleft() if submitted else (None, NO_SESSION)
        for event in record.events:
            if type(event) is ApplicationEnded:
                self._over(record.now_ms, self._live.pop(event.application, NO_SESSION))
            elif arrival is None:
                continue
            elif type(event) is ApplicationRejected:
                self._arrives(arrival, number)
                self._over(record.now_ms, number)
            elif type(event) is ApplicationSubmitted:
                self._arrives(arrival, number)
                if number != NO_SESSION:
                    self._live[event.application] = number

    def _arrives(self, arrival: Arrival, number: int) -> None:
        """An application has its number."""
        self.submitted.append(arrival)
        self.numbers.append(number + 1)

    def note(self) -> str:
        """That applications never came, if so, for the report."""
        whole = sum(len(turn.members) for session in self._sessions for turn in session.turns)
        missing = whole - self._arrived
        if not missing:
            return ""
        return (
            f"{counted(missing, 'application')} of users in closed loops never came: those before"
            " them were not over."
        )

    def _over(self, now_ms: int, number: int) -> None:
        """An application of a session is over."""
        if number == NO_SESSION:
            return
        progress, turns = self._progress[number], self._sessions[number].turns
        progress.open -= 1
        if not progress.open and progress.begun < len(turns):
            turn = turns[progress.begun]
            think_ms = turn.think_ms
            if turn.drawn and think_ms:
                if progress.chance is None:
                    # A text as seed: the same on every machine, whatever the hashes of Python.
                    progress.chance = random.Random(f"{self._seed}/session/{number}")  # noqa: S311
                think_ms = round(progress.chance.expovariate(1 / think_ms))
            self._begin(now_ms + think_ms, number)

    def _begin(self, at_ms: int, number: int) -> None:
        """Let the next turn of a session begin at an instant."""
        progress = self._progress[number]
        turn = self._sessions[number].turns[progress.begun]
        progress.begun += 1
        progress.open = len(turn.members)
        for arrival in turn.members:
            self._pushed += 1
            heappush(self._heap, (at_ms + arrival.at_ms, self._pushed, number, arrival))


_AT_ONCE = Outcome(0)


class ContainerOutcomes:
    """The plans of the applications that are not forgotten."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._expected: deque[Arrival] = deque()
        self._arrivals: dict[ApplicationId, Arrival] = {}

    def expect(self, arrival: Arrival) -> None:
        """Announce the arrival whose submission will be handled next."""
        self._expected.append(arrival)

    def subscribe(self, observers: Observers) -> None:
        """Follow the records: a new application's plans are assigned to its number."""
        observers.before(self._submitted, SubmitApplication)

    def _submitted(self, record: Record) -> None:
        if not self._expected:
            return
        arrival = self._expected.popleft()
        for event in record.events:
            if type(event) is ApplicationSubmitted:
                self._arrivals[event.application] = arrival
                return

    def forget(self, applications: Iterable[ApplicationId]) -> None:
        """Drop the plans of applications that are over."""
        for number in applications:
            self._arrivals.pop(number, None)

    def __call__(self, launch: TaskLaunch) -> Outcome:
        """The outcome of one container, by its task and its attempt; 0 ms without a plan."""
        number = application_of(launch.container)
        arrival = self._arrivals.get(number)
        if arrival is None or not 0 <= launch.group < len(arrival.plans):
            return _AT_ONCE
        plan = arrival.plans[launch.group]
        locality = self._state.applications[number].containers[launch.container].locality
        fails = plan.fails(launch.task, launch.attempt)
        return Outcome(plan.duration_ms(launch.task, locality), 1 if fails else 0)


FINISHED_KEPT = 1_000
"""How many applications that are over the state keeps, if it forgets any."""

PATIENCE_MS = 3_600_000
"""How long a simulation continues with only the scheduler's timers, while no container runs, no
input arrives and no container is allocated."""


def _check_bookings(steps: Sequence[Step]) -> None:
    """Raise InputError if a booking of the workload was refused."""
    for given, events in steps:
        for event in events:
            if type(given) is MakeBooking and type(event) is RequestRefused:
                message = f"the booking {given.booking.name!r} is refused: {event.reason}"
                raise InputError(event.code, message)


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
        self._outcomes = ContainerOutcomes(manager.state)
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
        table = Observers()
        self._outcomes.subscribe(table)
        self._collection.subscribe(table)
        self._reported: list[Input] = []
        self.engine.start(self._report_now)
        self.runtime = Runtime(
            manager,
            journal,
            self.engine,
            observers=observers,
            committed=table.observe,
            beat_interval_ms=beat_interval_ms,
            pretend=self.engine.pretend,
        )
        self.agenda.at(0, LoadConfiguration(settings, EPOCH_MS))
        for node in workload.nodes if nodes is None else nodes:
            self.agenda.at(0, node)
        for booking in workload.bookings:
            self.agenda.at(0, booking)
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
                ledger = self.manager.state.ledger
                if ledger is not None and ledger.over:  # what waits for a budget waits for a month
                    give_up_ms = max(give_up_ms, ledger.month_end_ms + PATIENCE_MS)
                for span in self.manager.state.kept:  # and what waits for a booking for its end
                    give_up_ms = max(give_up_ms, span.until_ms + PATIENCE_MS)
                state = self.manager.state
                if until_ms is None and state.bookings and not state.attempts:
                    break  # a booking alone uses nothing
                if now_ms > give_up_ms or (
                    faults is not None
                    and all(one.over for one in self.manager.state.applications.values())
                ):
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

    def arrive(self, arrival: Arrival) -> tuple[Event, ...]:
        """Submit an application that is not in the workload at the current instant; returns the
        events. Only valid when no arrival of the workload is left."""
        assert not self._arrivals_left
        self._outcomes.expect(arrival)
        return self.handle(arrival.submission)

    def handle(self, input_: Input) -> tuple[Event, ...]:
        """Handle one input at the current instant; returns its events."""
        now_ms = self.clock.now_ms()
        self._reported = []
        (_, events), *_ = self.runtime.turn(now_ms, [input_])
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
            steps = self.runtime.turn(now_ms, inputs, self._hurries)
            if now_ms == 0 and self._workload.bookings:
                _check_bookings(steps)
            if not self._reported or (self._hurries is not None and self._hurries()):
                break
            inputs = self._take_reported()
            if not inputs and not self.runtime.is_due(now_ms):
                break
        if self._forgets and len(self._collection.ended) >= 2 * FINISHED_KEPT:
            settled = self._collection.settle(FINISHED_KEPT)
            self._outcomes.forget(settled)
            chosen = self._unforgotten + settled
            self.handle(ForgetApplications(chosen))
            # Nodes may still keep room for some.
            applications = self.manager.state.applications
            self._unforgotten = tuple(number for number in chosen if number in applications)

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

    def _move(self, now_ms: int) -> None:
        self._collection.advance(now_ms)
        self.clock.advance(now_ms)
        self.agenda.now_ms = now_ms  # what begins now ends so much later

    def _report_now(self, input_: Input) -> None:
        self._reported.append(input_)

    def _take_reported(self) -> list[Input]:
        """The engine's reports, without starts if no record of them is wanted.

        A start decides nothing. Only where starvation clocks run, an update comes before it.
        """
        reported, self._reported = self._reported, []
        if self._starts or self.manager.scheduler.clock_interval_ms() is not None:
            return reported
        return [given for given in reported if type(given) is not ContainerStarted]
