"""The driver: decide, record, commit, act. Live and simulated are this, with other plugs.

One thread at a time may call it.
"""

from collections.abc import Callable, Generator, Sequence

import msgspec

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import Event
from fairshare.core.model.inputs import (
    OWN,
    AdvanceBookings,
    ContainerExited,
    Input,
    NodeBeat,
    PreemptContainers,
    TidyQueues,
    UpdateShares,
    UpdateUsage,
)
from fairshare.core.record import Record
from fairshare.core.schedulers.beats import HeartbeatRounds, RoundsMemory
from fairshare.engines.protocol import ChangesLimits, Engine, LaunchOrder, TaskLaunch
from fairshare.errors import EngineError, UndecidedError
from fairshare.runtime.acceptance import failure_of, refusal_of
from fairshare.runtime.agenda import Agenda, AgendaMemory
from fairshare.runtime.journal.protocol import Journal
from fairshare.runtime.orders import (
    ExtraEnvironment,
    LimitOrder,
    OrderBook,
    StopOrder,
    nothing_extra,
)
from fairshare.runtime.pace import OFFERED, TIDIED, Fires, Pacing, at_once
from fairshare.runtime.recovery import Position, reconcile, recover

Step = tuple[Input, tuple[Event, ...]]
Observer = Callable[[Record], None]
Enough = Callable[[], bool]
"""Asked after each beat of a node: whether the rest of them is left to the next turn."""

NOT_STARTED = -1000
"""Hadoop's exit code of a container that has none: it never ran."""

_PASSES = 16
"""So often shares are updated and nodes beat at one instant; what is left then waits a moment."""


class RuntimeMemory(msgspec.Struct, frozen=True):
    """What a runtime knows that does not follow from the state, while nothing is to be done at
    once: when shares were updated, its agenda and its rounds. A server that begins again forgets
    it; snapshots have it, so that plans go on from them as the server did."""

    updated_ms: int
    agenda: AgendaMemory
    rounds: RoundsMemory


class Runtime:
    """One driver, three plugs: manager (with its scheduler), journal, engine.

    `observers` see each record after its commit and before its orders, and `committed` all records
    of a commit before the orders of any of them; they must not raise.
    `extra_environment` adds to the environment of containers. `beat_interval_ms` is Hadoop's
    heartbeat: the pace of offers while an application waits for a nearer node. `unused_expiry_ms`
    is how long a driver may keep a container without launching anything in it; None: for ever.
    `pretend` is called in place of `engine.launch` if the engine runs nothing and needs no command.

    `on_undecided` is called with each input from outside that a bug kept from being decided; its
    step then has a refusal without a record. None: the exception is raised.

    `fires` says when a timer fires that is due: at once, or as late as in a history.
    """

    def __init__(
        self,
        manager: ResourceManager,
        journal: Journal,
        engine: Engine,
        *,
        observers: Sequence[Observer] = (),
        committed: Callable[[Sequence[Record]], None] = lambda records: None,
        extra_environment: ExtraEnvironment = nothing_extra,
        beat_interval_ms: int = 1_000,
        unused_expiry_ms: int | None = None,
        pretend: Callable[[TaskLaunch], None] | None = None,
        on_undecided: Callable[[Input, UndecidedError], None] | None = None,
        fires: Fires = at_once,
    ) -> None:
        self.manager = manager
        self.journal = journal
        self.engine = engine
        self.position = Position()
        self._observers = tuple(observers)
        self._committed = committed
        self._on_undecided = on_undecided
        self._encode = msgspec.msgpack.Encoder().encode
        self._pretend = pretend
        pretended = pretend is not None
        self._orders = OrderBook(manager.state, extra_environment, pretended=pretended)
        self._interval_ms = beat_interval_ms
        self._unused_expiry_ms = unused_expiry_ms
        self._fires = fires
        self._sequence = 0
        self._now_ms = 0
        self._updated_ms = 0
        self._paused = False
        self._eventful = True  # since the deadline was found
        self._deadline_ms: int | None = None
        self._settling: Generator[None] | None = None
        self._begin()
        self._recorded_ms = 0
        self._pending: list[Record] = []
        self._steps: list[Step] = []

    def _begin(self) -> None:
        """Make what follows from the state and the present instant."""
        fires = self._fires
        self._pacing = Pacing(fires, begins=self._sequence > 0)
        self._beats = HeartbeatRounds(
            self.manager.state, self._interval_ms, lambda due_ms: fires(OFFERED, due_ms)
        )
        self._agenda = Agenda(self.manager.scheduler, self._unused_expiry_ms, self._pacing)

    # From the journal to the present.

    def memory(self) -> RuntimeMemory | None:
        """What is known beside the state; None: something is left to be done at once."""
        if not self.idle:
            return None
        return RuntimeMemory(self._updated_ms, self._agenda.memory(), self._beats.memory())

    def recover(
        self,
        journal: Journal | None = None,
        since: Position | None = None,
        memory: RuntimeMemory | None = None,
    ) -> Position:
        """Fold the records of a journal (by default the runtime's own) into the state: an empty
        one, or that of a snapshot at `since`. With the `memory` of a runtime it goes on as that one
        did; there are no further records then.

        Decides nothing, records nothing, orders nothing. Raises JournalError.
        """
        since = since or Position()
        records = (journal or self.journal).records(since.sequence)
        self.position = recover(records, self.manager.state, since)
        self._sequence = self.position.sequence
        self.begin_again()
        if memory is not None:
            self._updated_ms = memory.updated_ms
            self._agenda.remember(memory.agenda)
            self._beats.remember(memory.rounds)
            self._deadline_ms = self._find_deadline_ms()
            self._eventful = False
        return self.position

    def begin_again(self) -> None:
        """Forget what does not follow from the records, as a server that ends and begins again."""
        self._now_ms = self._updated_ms = self.position.now_ms
        self._begin()
        self._agenda.recovered(self._now_ms)
        self._eventful = True
        self._settling = None
        self._recorded_ms = self._now_ms

    def reconcile(self, now_ms: int) -> list[Step]:
        """Compare the state with the engine, feed the difference, stop surplus containers.

        To be called after `recover`, and after what the engine reported at its start was fed.
        """
        findings = reconcile(self.manager.state, self.engine.nodes(), self.engine.running())
        steps = self.feed(now_ms, findings.inputs)
        for container in findings.stops:
            self.engine.stop(container)
        return steps

    # The present.

    def feed(self, now_ms: int, inputs: Sequence[Input]) -> list[Step]:
        """Decide each input, record what changed, commit once, then give the orders.

        Returns each input with its events, in order; behind them an update of shares that had to
        come before them, and what an engine's refusal of an order brought about. An input that
        cannot be recorded is refused, in no record. Any exception but UndecidedError (JournalError
        is one) means that nothing was ordered, and the state in memory is ahead of the journal or
        contradicts itself: the caller must stop.
        """
        self._pacing.fed(max(now_ms, self._now_ms))
        self._take(now_ms, inputs)
        return self.finish()

    def settle(self, now_ms: int, enough: Enough | None = None) -> list[Step]:
        """Update shares and let nodes beat until nothing changes; one commit, then the orders.

        If it was left because that is `enough`, the next call goes on with it (`unsettled`). What
        is decided does not depend on it, unless something is fed in between.
        """
        self._settle(now_ms, enough)
        return self.finish()

    def turn(
        self, now_ms: int, inputs: Sequence[Input], enough: Enough | None = None
    ) -> list[Step]:
        """`feed` and `settle` with one commit for both; the steps of the inputs come first."""
        self._pacing.begins(max(now_ms, self._now_ms), self._recorded_ms)
        self._take(now_ms, inputs)
        self._settle(now_ms, enough)
        return self.finish()

    def finish(self) -> list[Step]:
        """What `feed`, `settle` or `turn` would have returned if the disk had not been full
        (UnavailableError); raises that again while it is."""
        while self._pending:
            self.journal.commit()
            records, self._pending = self._pending, []
            self.position = Position(records[-1].sequence, records[-1].now_ms)
            self._take(self._now_ms, self._act(records))
        steps, self._steps = self._steps, []
        return steps

    @property
    def unsettled(self) -> bool:
        """Whether `settle` was left and must go on, now."""
        return self._settling is not None

    @property
    def idle(self) -> bool:
        """Whether nothing is left to be done at once."""
        return self._settling is None and not self._eventful

    @property
    def timed(self) -> bool:
        """Whether an application, a container or a node has an instant at which something is done
        to it, such as the end of a lifetime."""
        return self._agenda.any

    def set_silent(self, node: str, silent: bool = True) -> None:
        """Allocate nothing on a node from now on, or again; not recorded, and forgotten by
        `recover`."""
        self._beats.set_silent(node, silent)
        self._eventful = True

    def pause(self, paused: bool = True) -> None:
        """Allocate nothing on any node from now on, or again; not recorded, and forgotten by
        `recover`: what the safe mode does for administrators, this does where no room is left to
        start anything."""
        self._paused = paused
        self._settling = None
        self._eventful = True

    def next_deadline_ms(self) -> int | None:
        """When `settle` must be called at the latest, though nothing happens; None: never."""
        if self._settling is not None:
            return self._now_ms
        return self._find_deadline_ms() if self._eventful else self._deadline_ms

    def is_due(self, now_ms: int) -> bool:
        """Whether `settle` has something to do at an instant."""
        deadline_ms = self.next_deadline_ms()
        return deadline_ms is not None and deadline_ms <= now_ms

    # How.

    def _decide(self, input_: Input, following: Input | None = None) -> tuple[Event, ...]:
        """One input at the present instant: decide it, and record it if something came of it."""
        if type(input_) is UpdateShares:
            self._updated_ms = self._now_ms
        events = self.manager.handle(self._now_ms, input_, following)
        if events:
            self._sequence += 1
            now_ms, pacing = self._now_ms, self._pacing
            pace = pacing.taken(now_ms, self._recorded_ms) if pacing.pending else ()
            self._recorded_ms = now_ms
            record = Record(self._sequence, now_ms, input_, events, pace)
            self.journal.append(record)
            self._pending.append(record)
        return events

    def _take(self, now_ms: int, inputs: Sequence[Input]) -> None:
        # An instant before the last one counts as the last one: time never goes back.
        self._now_ms = max(now_ms, self._now_ms)
        if not inputs:
            return
        before = self._bring_clocks_up_to_date(inputs)
        last, steps = len(inputs) - 1, self._steps
        for place, given in enumerate(inputs):
            events = self._accept(given, inputs[place + 1] if place < last else None)
            steps.append((given, events))
            if events:
                self._note(events)
        steps += before  # behind the inputs, whose places callers count on

    def _accept(self, input_: Input, following: Input | None) -> tuple[Event, ...]:
        """Decide an input from outside, or refuse it before anything has changed."""
        if type(input_) in OWN:
            return self._decide(input_)
        refusal = refusal_of(input_, self._encode)
        if refusal is not None:
            self.manager.state.settle()  # the input before left that to this one
            return (refusal,)
        try:
            return self._decide(input_, following)
        except UndecidedError as error:
            if self._on_undecided is None:
                raise
            self.manager.state.settle()
            self._on_undecided(input_, error)
            return (failure_of(input_, error),)

    def _note(self, events: Sequence[Event]) -> None:
        if self._beats.note(events):
            self._eventful = True
            self._agenda.note(self._now_ms, events)

    def _bring_clocks_up_to_date(self, inputs: Sequence[Input]) -> list[Step]:
        """Let the scheduler update its view of the present state once more before a change.

        Hadoop updates every 500 ms. We do not while no application waits; without this update, a
        queue that was at its share for hours would count as starved for hours at the first change.
        """
        interval_ms = self.manager.scheduler.clock_interval_ms()
        if interval_ms is None or self._now_ms - self._updated_ms <= interval_ms:
            return []
        if all(type(input_) in OWN for input_ in inputs):
            return []
        update = UpdateShares()
        self._pacing.updated(self._now_ms)
        events = self._decide(update)
        self._note(events)
        return [(update, events)] if events else []

    def _settle(self, now_ms: int, enough: Enough | None = None) -> None:
        now_ms = self._now_ms = max(now_ms, self._now_ms)
        self._pacing.settled(now_ms)
        if self._settling is None:
            if not self._eventful and (self._deadline_ms is None or now_ms < self._deadline_ms):
                return
            self._settling = self._settlement(now_ms)
        for beats, _ in enumerate(self._settling, 1):
            if enough is not None and enough():
                self._pacing.left(now_ms, beats, recorded=self._recorded_ms == now_ms)
                return
        self._settling = None
        if self._recorded_ms != now_ms:
            self._pacing.finished(now_ms, begun_ms=self._recorded_ms)

    def _settlement(self, now_ms: int) -> Generator[None]:
        """All that is due at an instant; yields after each beat. Later ones go on with its rounds,
        and not with its clocks: what becomes due meanwhile comes in the next settlement."""
        scheduler = self.manager.scheduler
        state = self.manager.state
        agenda = self._agenda
        if agenda.any:
            for due in agenda.due(now_ms):
                self._provoke(due)
        if state.safe_mode or self._paused:
            self._eventful = False
            self._deadline_ms = self._find_deadline_ms()
            return
        if state.bookings_ms is not None and state.bookings_ms <= now_ms:
            self._provoke(AdvanceBookings())
        usage_ms = state.next_usage_ms()
        if usage_ms is not None and usage_ms <= now_ms:
            self._provoke(UpdateUsage())
        if state.gangs:
            any(self._provoke(due) for due in agenda.gangs_with_room(now_ms))
        deadline_ms = scheduler.next_deadline_ms()
        killing = deadline_ms is not None and deadline_ms <= now_ms
        if agenda.monitor_is_due(now_ms) or killing:
            self._provoke(PreemptContainers())
        update_ms = self._next_update_ms()
        if update_ms is not None and update_ms <= now_ms:
            self._update()
        if agenda.tidy_ms is not None and agenda.tidy_ms <= now_ms:
            self._pacing.fired(TIDIED, now_ms)
            agenda.tidied(now_ms, self._provoke(TidyQueues()))
        for _ in range(_PASSES):
            if scheduler.update_due():
                self._update()
            if not self._beats.due(now_ms):
                break
            if self._beats.full(now_ms):
                self._pacing.fired(OFFERED, now_ms)
            else:
                self._pacing.quiet(NodeBeat, now_ms)
            yield from self._beats.rounds(now_ms, self._beat)
            if self._beats.has_changed or not scheduler.update_due():
                break
        self._eventful = self._beats.has_changed
        agenda.look_at_monitor(self._now_ms)
        self._deadline_ms = self._find_deadline_ms()

    def _find_deadline_ms(self) -> int | None:
        soon_ms = self._now_ms + 1
        scheduler, state = self.manager.scheduler, self.manager.state
        agenda = self._agenda
        timer_ms = agenda.next_ms() if agenda.any else None
        if state.safe_mode or self._paused:
            return _earliest_ms((timer_ms,), soon_ms)
        if scheduler.update_due() and state.nodes:
            return soon_ms
        times = (
            timer_ms,
            self._beats.next_due_ms(soon_ms),
            scheduler.next_deadline_ms(),
            self._next_update_ms(),
            state.next_usage_ms(),
            state.bookings_ms,
            agenda.tidy_ms,
            agenda.monitor_ms,
        )
        return _earliest_ms(times, soon_ms)

    def _next_update_ms(self) -> int | None:
        """When shares must be updated without further events: a starvation timeout is running."""
        interval_ms = self.manager.scheduler.update_interval_ms()
        return None if interval_ms is None else self._updated_ms + interval_ms

    def _update(self) -> None:
        self._provoke(UpdateShares())

    def _provoke(self, input_: Input) -> tuple[Event, ...]:
        """Decide an input of the runtime itself; it is a step only if it has events."""
        events = self._decide(input_)
        if events:
            self._steps.append((input_, events))
            self._note(events)
        else:
            self._pacing.quiet(type(input_), self._now_ms)
        return events

    def _beat(self, node: str) -> tuple[Event, ...]:
        given = NodeBeat(node)
        events = self._decide(given)
        if events:
            self._steps.append((given, events))
            self._agenda.note_beat(events)
        return events

    def _act(self, records: Sequence[Record]) -> list[Input]:
        """Tell observers and engine; an exit for each container that the engine cannot start."""
        refused: list[Input] = []
        self._committed(records)
        for record in records:
            for observer in self._observers:
                observer(record)
            for order in self._orders.orders(record):
                if type(order) is StopOrder:
                    self.engine.stop(order.container)
                    continue
                if type(order) is TaskLaunch:
                    assert self._pretend is not None
                    self._pretend(order)
                    continue
                if type(order) is LimitOrder:
                    if isinstance(self.engine, ChangesLimits):
                        self.engine.limit(order.container, order.time_limit_ms)
                    continue
                assert type(order) is LaunchOrder
                try:
                    self.engine.launch(order)
                except EngineError as error:
                    refused.append(ContainerExited(order.container, NOT_STARTED, str(error)))
        return refused


def _earliest_ms(times: Sequence[int | None], soon_ms: int) -> int | None:
    known = [time for time in times if time is not None]
    return max(min(known), soon_ms) if known else None
