"""The simulation of a world from its first instant to the end of its work.

The runtime is that of a server; only clock, engine and journal differ. Inputs of one turn of the
history are decided together, in their order.

A world that begins with a state of one scheduler is restated for another scheduler, which cannot
take that state up: all nodes join, and what lives is submitted again under its number, with the
tasks that are not done; those that ran have what was left of their run times. Applications that
masters drive are left out, as their masters would ask again for what they had.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import Final

import msgspec
from msgspec.structs import replace

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.applications import Application
from fairshare.core.model.events import ContainerAllocated, ContainerCompleted, ContainerLaunched
from fairshare.core.model.identifiers import ApplicationId
from fairshare.core.model.inputs import (
    NO_CONDITIONS,
    ContainerExited,
    ContainerStarted,
    DrainNode,
    Input,
    LoadConfiguration,
    MasterRegistered,
    NodeJoined,
    ReserveApplication,
    SubmitApplication,
    UpdateShares,
)
from fairshare.core.record import Record
from fairshare.lab.simulate.simulator import PATIENCE_MS
from fairshare.lab.simulate.world import (
    ENDED,
    GRANTED,
    REGISTERED,
    STARTED,
    Entry,
    Fact,
    Life,
    Task,
    World,
    WorldEngine,
)
from fairshare.runtime.journal.memory import ForgetfulJournal
from fairshare.runtime.pace import FED
from fairshare.runtime.runtime import Observer, Runtime

_Part = tuple[int, list[int]]
"""A group of tasks, and those of its tasks that are not done."""


def restated(world: World, settings: bytes) -> tuple[World, frozenset[ApplicationId]]:
    """The world without its origin, which loads `settings` first; and the applications that are
    left out of it."""
    assert world.origin is not None
    state = world.origin.manager().state
    inputs: list[Input] = [LoadConfiguration(settings, world.epoch_ms)]
    inputs += (
        NodeJoined(name, state.offered(node), node.rack, node.attributes, node.host)
        for name, node in state.nodes.items()
    )
    inputs += map(DrainNode, state.drains)
    lives = dict(world.lives)
    typical_ms = dict(world.typical_ms)
    left_out = set()
    following = 1
    for number, application in sorted(state.applications.items()):
        if application.over:
            continue
        parts = _open_parts(application)
        if not parts:
            left_out.add(number)
            continue
        inputs += (ReserveApplication(number), _rest(application, parts))
        following = number + 1
        _move_lives(lives, world, application, parts)
        for old, known_ms in world.typical_ms.items():
            if old[0] == number and (new := _place(old[1], application, parts)) is not None:
                typical_ms[number, new] = known_ms
    if state.next_application > following:
        inputs.append(ReserveApplication(state.next_application - 1))
    first = min((one.number for one in world.entries), default=0) - len(inputs)
    begin = [Entry(world.begin_ms, first + at, 0, given) for at, given in enumerate(inputs)]
    later = [one for one in world.entries if _concerns(one.input, left_out)]
    world_as_asked = replace(
        world,
        origin=None,
        entries=(*begin, *later),
        lives=lives,
        typical_ms=typical_ms,
        begun={},
        facts=(),
        pace=None,
    )
    return world_as_asked, frozenset(left_out)


def _next_ms(instants: Sequence[int], due_ms: int, latest_ms: int) -> int:
    """The first instant, if it is late by so much at most; or when it is due."""
    at = bisect_left(instants, due_ms)
    return instants[at] if at < len(instants) and instants[at] - due_ms <= latest_ms else due_ms


def _concerns(input_: Input, left_out: set[ApplicationId]) -> bool:
    """Whether an input counts: not of what is left out, nor the end of what has been restated."""
    if type(input_) is ContainerExited or type(input_) is LoadConfiguration:
        return False
    return getattr(input_, "application", 0) not in left_out


def _open_parts(application: Application) -> list[_Part]:
    """The groups whose tasks are not all done; of each first the tasks that run."""
    groups = enumerate(application.tasks.groups)
    parts = [
        (old, [*sorted(one.running), *sorted((*one.waiting, *one.paused))]) for old, one in groups
    ]
    return [part for part in parts if part[1]]


def _place(old: int, application: Application, parts: list[_Part]) -> int | None:
    """The number of a group among what is left; groups that are added later come behind it."""
    count = len(application.tasks.groups)
    if old >= count:
        return old - count + len(parts)
    return next((new for new, (group, _) in enumerate(parts) if group == old), None)


def _rest(application: Application, parts: list[_Part]) -> SubmitApplication:
    """What is left of an application as a submission."""
    board = application.tasks.groups
    names = {board[old].spec.name for old, _ in parts}
    groups = []
    for old, tasks in parts:
        spec = board[old].spec
        # Groups that have begun wait for none, and no group waits for one that is done.
        after = () if board[old].started else tuple(one for one in spec.after if one in names)
        changed = replace(spec, count=len(tasks), after=after, array=None)
        groups.append(changed)
    begun = application.attempt.number > 0
    return replace(
        application.submission,
        number=application.id,
        queue=application.queue,
        tasks=tuple(groups),
        start=NO_CONDITIONS if begun else application.submission.start,
    )


def _move_lives(
    lives: dict[Task, tuple[Life, ...]], world: World, application: Application, parts: list[_Part]
) -> None:
    """Give each task that is left the lives that it had, first what is left of one that runs."""
    number = application.id
    rest = {
        (one.group, one.task): world.begun[container]
        for container, one in application.tasks.assigned.items()
        if container in world.begun
    }
    own = {task: recorded for task, recorded in lives.items() if task[0] == number}
    for known in own:
        del lives[known]
    for new, (old, tasks) in enumerate(parts):
        for place, task in enumerate(tasks):
            begun = rest.get((old, task))
            now = () if begun is None else (replace(begun, start_ms=begun.start_ms or 0),)
            moved = (*now, *own.get((number, old, task), ()))
            if moved:
                lives[number, new, place] = moved
    for (_, group, task), recorded in own.items():
        if group >= len(application.tasks.groups):  # it is added later
            lives[number, group - len(application.tasks.groups) + len(parts), task] = recorded


IDLE_MS: Final = 120_000
"""And how long if no container is there that could be preempted, and nothing has an instant set:
what still waits then can only wait for a nearer node."""

LATEST_MS: Final = 20
"""The most that a timer is taken to be late; a later record has another cause."""

_NO_NUMBER: Final = 1 << 62
_WHOLE: Final = (-1, 0)
"""A turn that was not left."""


class Pause(msgspec.Struct, frozen=True):
    """A span of time in which no server decided anything by itself.

    With `after` it begins within the instant `since_ms`, after so many grants: there the machine
    held up a server between two turns, and the next input ends the pause."""

    since_ms: int
    until_ms: int
    after: int = 0


class _Grants(ForgetfulJournal):
    """Counts grants as they are decided: observers see them only at the end of a turn."""

    def __init__(self) -> None:
        self.granted = 0
        self.sequence = 0  # of the last record

    def append(self, record: Record) -> None:
        self.sequence = record.sequence
        self.granted += sum(type(event) is ContainerAllocated for event in record.events)


class Rerun:
    """One run of a world under one scheduler.

    `settings` replace those of the history, encoded for LoadConfiguration, and its reloads are left
    out; None: the history's own. `observers` see each record; `advance` is called with each later
    instant, before its first decision. A world with an origin needs a manager of it; new settings
    come there as at a restart of the server.

    What is due is done at once, as by a machine that is never busy. With `paced` the server does
    everything when it did, as far as its records say: with other settings, or if the world is not
    `as_recorded`, it is late by LATEST_MS at most. With `late` the scheduler's timers fire as late
    as they did in the history. `pauses` are further ones than the world knows, such as the start of
    a server, which grants nothing before it has taken stock, and moments at which the machine held
    it up between two beats of nodes.
    """

    def __init__(
        self,
        world: World,
        manager: ResourceManager,
        settings: bytes | None = None,
        *,
        beat_interval_ms: int = 1_000,
        unused_expiry_ms: int | None = None,
        late: bool = False,
        pauses: Sequence[Pause] = (),
        paced: bool = False,
        as_recorded: bool = True,
        observers: Sequence[Observer] = (),
        advance: Callable[[int], None] | None = None,
    ) -> None:
        self.manager = manager
        self.now_ms = world.begin_ms
        self._world = world
        self._advance = advance
        self._heap: list[tuple[int, int, int, int, Input | None]] = []
        self._pushed = 0
        self._cancelled: set[int] = set()
        self._waiting: dict[Fact, list[int]] = defaultdict(list)
        self._missing: dict[int, int] = {}
        self._facts: set[Fact] = set()
        self._entries: dict[int, Entry] = {}
        self._granted = False
        self._journal = _Grants()
        self._granted_before = 0  # before this instant
        self._idle_since_ms = world.begin_ms
        self._late = late
        self._pace = world.pace if paced else None
        exact = settings is None and as_recorded
        self._latest_ms = _NO_NUMBER if exact else LATEST_MS
        self._ends = deque(self._pace.ends if self._pace and exact else ())
        self._over: set[Pause] = set()
        self._pauses = (*(Pause(*span) for span in world.pauses), *pauses)
        self.engine = WorldEngine(world, self._after, self._cancelled.add)
        self.runtime = Runtime(
            manager,
            self._journal,
            self.engine,
            observers=(self._observe, *observers),
            beat_interval_ms=beat_interval_ms,
            pretend=self.engine.pretend,
            unused_expiry_ms=unused_expiry_ms,
            fires=self._fires_ms,
        )
        loaded = False
        if world.origin is not None:
            self.runtime.recover(since=world.origin.position, memory=world.origin.memory)
            for container, life in world.begun.items():
                self.engine.resume(container, life)
            if settings is not None:
                loaded = True
                loading = LoadConfiguration(settings, world.epoch_ms)
                self._push(world.begin_ms, world.origin.position.sequence, 0, loading)
        for at_ms, number, turn, updated in self._pace.bare if self._pace and exact else ():
            self._push(at_ms, number, turn, UpdateShares() if updated else None)
        for entry in world.entries:
            if settings is not None and type(entry.input) is LoadConfiguration:
                if loaded:
                    continue
                loaded = True
                loading = LoadConfiguration(settings, world.epoch_ms)
                self._push(entry.at_ms, entry.number, entry.turn, loading)
            else:
                self.add(entry)
        for fact in world.facts:
            self._happened(fact)

    def add(self, entry: Entry) -> None:
        """Let an input come: of the world, or a later one."""
        if not entry.after:
            self._push(entry.at_ms, entry.number, entry.turn, entry.input)
            return
        self._entries[entry.number] = entry
        self._missing[entry.number] = len(entry.after)
        for fact in entry.after:
            self._waiting[fact].append(entry.number)

    def run(self, until_ms: int | None = None) -> None:
        """Run to the end, or up to and with an instant; may be called again, and then goes on.

        It ends when no input is left and the scheduler's timers alone granted nothing for
        PATIENCE_MS; for IDLE_MS, if they have nothing left to preempt or to end.
        """
        while True:
            entry_ms = self._next_entry_ms()
            deadline_ms = self._deadline_ms()
            times = [one for one in (entry_ms, deadline_ms) if one is not None]
            if not times:
                return
            now_ms = self._awake_ms(entry_ms, max(self.now_ms, min(times)))
            if until_ms is not None and now_ms > until_ms:
                return
            if now_ms != self.now_ms:
                self._granted_before = self._journal.granted
                if self._advance is not None:
                    self._advance(now_ms)
            self.now_ms = now_ms
            if self._ends and now_ms > self._ends[0][1]:
                self._ends.popleft()
                self.runtime.begin_again()
            if entry_ms is not None or self._granted:
                self._idle_since_ms = now_ms
                self._granted = False
            elif self._waited_enough(now_ms - self._idle_since_ms):
                return
            self._go()

    def _waited_enough(self, idle_ms: int) -> bool:
        """Whether nothing will be granted any more, as nothing was for so long."""
        if idle_ms <= IDLE_MS or idle_ms > PATIENCE_MS:
            return idle_ms > PATIENCE_MS
        nodes = self.manager.state.nodes.values()
        return not self.runtime.timed and not any(node.containers for node in nodes)

    def _deadline_ms(self) -> int | None:
        """When a timer of the scheduler fires, or a turn goes on that was left."""
        if self._pace is not None and self._ends and self.now_ms >= self._ends[0][1]:
            wakes = self._pace.wakes  # the next one is of another server
            return wakes[bisect_right(wakes, self._ends[0][1])]
        deadline_ms = self.runtime.next_deadline_ms()
        if deadline_ms is None:
            return None
        if self._pace is not None:
            # Where inputs were only fed, or a turn was left, nothing else is done at this instant.
            later = self.runtime.unsettled or self.now_ms in self._pace.left
            due_ms = max(deadline_ms, self.now_ms + later)
            return _next_ms(self._pace.wakes, due_ms, self._latest_ms)
        if self._late:
            return _next_ms(self._world.timers, max(deadline_ms, self.now_ms), LATEST_MS)
        return deadline_ms

    def _fires_ms(self, timer: int, due_ms: int) -> int:
        """When a timer of the runtime fires that is due."""
        if self._pace is None or due_ms < self._pace.fired_since_ms:
            return due_ms
        return _next_ms(self._pace.fired[timer], due_ms, self._latest_ms)

    def _awake_ms(self, entry_ms: int | None, at_ms: int) -> int:
        """An instant at which a server ran: what the scheduler's timers want in a pause comes at
        its end."""
        pause = self._pause(at_ms)
        if pause is None or at_ms == entry_ms or self._before(pause, at_ms):
            return at_ms
        until_ms = pause.until_ms
        return until_ms if entry_ms is None else min(until_ms, max(entry_ms, at_ms))

    def _pause(self, at_ms: int) -> Pause | None:
        for pause in self._pauses:
            if pause.since_ms <= at_ms < pause.until_ms and pause not in self._over:
                return pause
        return None

    def _before(self, pause: Pause, at_ms: int) -> bool:
        """Whether a pause begins within this instant, after grants that are not all made yet."""
        made = self._made() if at_ms == self.now_ms else 0
        return at_ms == pause.since_ms and made < pause.after

    def _made(self) -> int:
        """The grants of this instant."""
        return self._journal.granted - self._granted_before

    def _go(self) -> None:
        """Handle one instant, turn by turn: what one grants may be what the next one launches."""
        turn, inputs = self._due() or (0, [])
        self._decide(inputs, turn)
        while following := self._due():
            turn, inputs = following
            self._decide(inputs, turn)

    def _decide(self, inputs: Sequence[Input], turn: int) -> None:
        """Handle inputs; then let shares be updated and nodes be offered, unless in a pause."""
        if self._ends and self.now_ms == self._ends[0][1]:
            last = self._ends[0][0]
            self.runtime.feed(self.now_ms, inputs)
            if self._journal.sequence < last:
                self.runtime.settle(self.now_ms, lambda: self._journal.sequence >= last)
            return
        beats, since = self._pace.left.get(self.now_ms, _WHOLE) if self._pace else _WHOLE
        if beats == FED:
            self.runtime.feed(self.now_ms, inputs)
            return
        if beats > 0 and turn >= since:
            asked = count(1)
            self.runtime.turn(self.now_ms, inputs, lambda: next(asked) >= beats)
            return
        pause = self._pause(self.now_ms)
        if pause is None:
            self.runtime.turn(self.now_ms, inputs)
        elif self._before(pause, self.now_ms):
            self.runtime.turn(self.now_ms, inputs, lambda: self._made() >= pause.after)
        elif pause.after and inputs and self.now_ms > pause.since_ms:
            self._over.add(pause)
            self.runtime.turn(self.now_ms, inputs)
        else:
            self.runtime.feed(self.now_ms, inputs)

    def _due(self) -> tuple[int, list[Input]] | None:
        """The number and the inputs of the next turn that is due."""
        turn = 0
        inputs: list[Input] = []
        while self._next_entry_ms() is not None and self._heap[0][0] <= self.now_ms:
            _, number, _, of_turn, input_ = self._heap[0]
            if inputs and (of_turn != turn or number == _NO_NUMBER):
                break
            heappop(self._heap)
            if input_ is None:
                return of_turn, inputs
            turn = of_turn
            inputs.append(input_)
            self._comes(input_)
        return (turn, inputs) if inputs else None

    def _comes(self, input_: Input) -> None:
        """An input is about to be decided. What follows it in its own turn becomes due now, and not
        when observers see its record: other inputs of the turn come after that."""
        if type(input_) is ContainerStarted:
            self._happened((STARTED, input_.container))
        elif type(input_) is ContainerExited:
            self.engine.ended(input_.container)
            self._happened((ENDED, input_.container))
        elif type(input_) is MasterRegistered:
            self._happened((REGISTERED, input_.application))

    def _next_entry_ms(self) -> int | None:
        heap, cancelled = self._heap, self._cancelled
        while heap and heap[0][2] in cancelled:
            cancelled.discard(heappop(heap)[2])
        return heap[0][0] if heap else None

    def _push(self, at_ms: int, number: int, turn: int, input_: Input | None) -> int:
        self._pushed += 1
        heappush(self._heap, (at_ms, number, self._pushed, turn, input_))
        return self._pushed

    def _after(self, delay_ms: int, input_: Input) -> int:
        """A timer of the engine: at its place in the history's order, if it had one."""
        places = self._world.starts if type(input_) is ContainerStarted else self._world.ends
        container = input_.container  # type: ignore[union-attr]
        number, turn = places.get(container, (_NO_NUMBER, 0))
        return self._push(self.now_ms + delay_ms, number, turn, input_)

    # Inputs of masters.

    def _happened(self, fact: Fact) -> None:
        if fact in self._facts:
            return
        self._facts.add(fact)
        for number in self._waiting.pop(fact, ()):
            self._missing[number] -= 1
            if not self._missing[number]:
                entry = self._entries.pop(number)
                at_ms = max(self.now_ms, self.now_ms + entry.delay_ms)
                self._push(at_ms, entry.number, entry.turn, entry.input)

    def _observe(self, record: Record) -> None:
        for event in record.events:
            if type(event) is ContainerAllocated:
                self._granted = True
                self._happened((GRANTED, event.container))
                self.engine.begin_granted(event.container)
            elif type(event) is ContainerLaunched:
                self.engine.observe_launch(event)
            elif type(event) is ContainerCompleted:
                self._happened((ENDED, event.container))
