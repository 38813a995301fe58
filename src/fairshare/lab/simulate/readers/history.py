"""The reading of a journal as a world: inputs of others, and the lives of containers.

What the runtime feeds itself, and what engines report of containers, are decisions or their
consequences: they are left out, and the simulation makes them again. What a driver sent depends on
what it was given: its inputs follow facts (`Entry.after`).

A container that was stopped did not show how long it would have run: as long as the launch of the
same task that ended by itself, else as its group's median, else as the median of its user, and at
least as long as it did run.

A history may begin at an origin, a state of the past; then it has the records after it. A container
that runs there counts as running since its launch.
"""

from collections import defaultdict
from collections.abc import Iterable
from statistics import median_low
from typing import Any, Final

import msgspec

from fairshare.core.model.events import (
    ApplicationRejected,
    ApplicationSubmitted,
    ContainerAllocated,
    ContainerCompleted,
    ContainerLaunched,
    TasksAdded,
)
from fairshare.core.model.identifiers import ApplicationId, ContainerId, application_of
from fairshare.core.model.inputs import (
    OWN,
    AddTasks,
    ChangeBlacklist,
    ContainerExited,
    ContainerStarted,
    FinishApplication,
    ForgetApplications,
    Input,
    LaunchContainer,
    MasterRegistered,
    NodeJoined,
    NodeLost,
    ReleaseContainers,
    ReloadRefused,
    RequestContainers,
    UnregisterMaster,
)
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.record import Record
from fairshare.lab.simulate.readers.turns import Turns
from fairshare.lab.simulate.world import (
    ENDED,
    GRANTED,
    REGISTERED,
    STARTED,
    Entry,
    Fact,
    Grant,
    Life,
    Origin,
    Task,
    World,
)
from fairshare.runtime.agenda import EXPIRED, LEFT_EMPTY, LEFT_LATE

SURVIVED_MS: Final = 20
"""A container that was stopped is taken to have run for so much longer at least: it did not end by
itself, and it may start a little earlier in a simulation, where timers are never late."""

LEFT_OUT: Final = frozenset((ContainerExited, ContainerStarted, ForgetApplications, ReloadRefused))
"""Inputs that a simulation makes itself, and those that change no decision."""

OF_MASTERS: Final = frozenset(
    (
        AddTasks,
        ChangeBlacklist,
        FinishApplication,
        LaunchContainer,
        MasterRegistered,
        ReleaseContainers,
        RequestContainers,
        UnregisterMaster,
    )
)


class _Seen:
    """What the records say of one container."""

    __slots__ = (
        "decided_ms",
        "decided_turn",
        "ended_ms",
        "exited",
        "granted_ms",
        "launched_ms",
        "master",
        "reported_ms",
        "started",
        "started_ms",
        "task",
        "user",
    )

    def __init__(self, granted_ms: int, master: bool, user: str) -> None:
        self.granted_ms = granted_ms
        self.master = master
        self.user = user
        self.launched_ms: int | None = None
        self.task: Task | None = None
        self.started: ContainerStarted | None = None
        self.started_ms: int | None = None
        self.exited: ContainerExited | None = None  # by itself
        self.ended_ms: int | None = None
        self.decided_ms: int | None = None  # when the scheduler ended it
        self.decided_turn = 0
        self.reported_ms: int | None = None  # when its engine reported its end after that


def read_history(
    records: Iterable[Record],
    scheduler: str,
    types: ResourceTypes,
    epoch_ms: int,
    origin: Origin | None = None,
) -> World:
    """The world of a journal from its first record on, or from the first one after an origin."""
    reader = _Reader()
    if origin is not None:
        reader.begin(origin)
    for record in records:
        reader.take(record)
    return reader.world(scheduler, types, epoch_ms)


class _Reader:
    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._grants: list[Grant] = []
        self._seen: dict[ContainerId, _Seen] = {}
        self._ends: dict[ContainerId, tuple[int, int]] = {}
        self._starts: dict[ContainerId, tuple[int, int]] = {}
        self._users: dict[ApplicationId, str] = {}
        self._queues: dict[ApplicationId, str] = {}
        self._counts: dict[ApplicationId, int] = {}  # of groups
        self._masters: set[ApplicationId] = set()
        self._turns = Turns()
        self._facts: dict[Fact, int] = {}
        self._latest: dict[ApplicationId, Fact] = {}
        self._coming: list[tuple[Fact, ApplicationId]] = []  # drivers hear of it after this turn
        self._first_ms: int | None = None
        self._now_ms = 0
        self._nodes: set[str] = set()
        self._origin: Origin | None = None
        self._begun: dict[ContainerId, bool] = {}  # launched before the origin; whether it runs
        self._leaving: frozenset[ContainerId] = frozenset()  # stopped before it, and not reported
        self._known: tuple[Fact, ...] = ()

    def begin(self, origin: Origin) -> None:
        """Take up what lives at the origin."""
        state = origin.manager().state
        self._origin = origin
        self._first_ms = self._now_ms = now_ms = origin.position.now_ms
        self._turns = Turns(now_ms)
        self._nodes |= set(state.nodes)
        self._leaving = frozenset(state.ending)
        for number, application in state.applications.items():
            self._users[number] = application.user
            self._counts[number] = len(application.tasks.groups)
            if application.attempt.registered:
                self._facts[REGISTERED, number] = now_ms
            for container, granted in application.containers.items():
                seen = _Seen(granted.allocated_ms, granted.master, application.user)
                self._seen[container] = seen
                self._facts[GRANTED, container] = now_ms
                assigned = application.tasks.assigned.get(container)
                if assigned is not None:
                    seen.task = (number, assigned.group, assigned.task)
                seen.launched_ms = application.attempt.launched.get(container)
                runs = container in state.running
                if runs:
                    seen.started = ContainerStarted(container, state.running[container])
                    seen.started_ms = seen.launched_ms or granted.allocated_ms
                    self._facts[STARTED, container] = now_ms
                if runs or seen.launched_ms is not None:
                    self._begun[container] = runs
        self._known = tuple(self._facts)

    def take(self, record: Record) -> None:
        """Read the next record."""
        recorded = record.input
        if self._first_ms is None:
            self._first_ms = record.now_ms
        own = _is_own(recorded)
        if self._turns.take(record, own=own):
            for fact, application in self._coming:
                self._happened(fact, application)
            self._coming.clear()
        self._now_ms = record.now_ms
        # The end of a container that had been stopped before the origin is not decided again.
        had_left = type(recorded) is ContainerExited and recorded.container in self._leaving
        if not own and (type(recorded) not in LEFT_OUT or had_left):
            self._entries.append(self._entry(record))
        self._see(recorded, record)
        for event in record.events:
            self._observe(event, record)

    def _entry(self, record: Record) -> Entry:
        recorded = record.input
        entry = Entry(record.now_ms, record.sequence, self._turns.number, recorded)
        if type(recorded) is NodeJoined:
            self._nodes.add(recorded.node)
        if type(recorded) not in OF_MASTERS:
            return entry
        number: ApplicationId = recorded.application  # type: ignore[union-attr]
        self._masters.add(number)
        after = tuple(fact for fact in self._followed(recorded, number) if fact in self._facts)
        since_ms = max((self._facts[fact] for fact in after), default=record.now_ms)
        if type(recorded) is MasterRegistered:
            self._happened((REGISTERED, number), number)
        return msgspec.structs.replace(entry, after=after, delay_ms=record.now_ms - since_ms)

    def _followed(self, input_: Input, number: ApplicationId) -> tuple[Fact, ...]:
        """What an input of a master waited for."""
        match input_:
            case LaunchContainer():
                return ((GRANTED, input_.container),)
            case ReleaseContainers():
                return tuple((GRANTED, container) for container in input_.containers)
            case FinishApplication() | UnregisterMaster():
                entries = [
                    (ENDED, container)
                    for container in self._seen
                    if application_of(container) == number and (ENDED, container) in self._facts
                ]
                return (*entries, (REGISTERED, number))
            case _:
                latest = self._latest.get(number)
                return () if latest is None else (latest,)

    def _happened(self, fact: Fact, application: ApplicationId) -> None:
        self._facts.setdefault(fact, self._now_ms)
        self._latest[application] = fact

    def _see(self, input_: Input, record: Record) -> None:
        if type(input_) is ContainerStarted:
            seen = self._seen.get(input_.container)
            if seen is not None and seen.started is None:
                seen.started, seen.started_ms = input_, record.now_ms
                self._starts[input_.container] = (record.sequence, self._turns.number)
                self._happened((STARTED, input_.container), application_of(input_.container))
        elif type(input_) is ContainerExited:
            seen = self._seen.get(input_.container)
            if seen is None:
                return
            # An end that came in the turn in which it was decided upon is not the effect of that.
            at_once = (seen.decided_ms, seen.decided_turn) == (record.now_ms, self._turns.number)
            if seen.decided_ms is not None and not at_once:
                seen.reported_ms = record.now_ms
                self._ends[input_.container] = (record.sequence, self._turns.number)
            elif seen.exited is None:
                seen.exited, seen.ended_ms = input_, record.now_ms
                self._ends[input_.container] = (record.sequence, self._turns.number)

    def _observe(self, event: object, record: Record) -> None:
        match event:
            case ApplicationSubmitted() | ApplicationRejected():
                self._users[event.application] = event.submission.user
                self._queues[event.application] = event.queue or event.submission.queue
                self._counts[event.application] = len(event.submission.tasks)
            case TasksAdded():
                self._counts[event.application] += len(event.tasks)
            case ContainerAllocated():
                user = self._users.get(event.application, "")
                self._seen[event.container] = _Seen(record.now_ms, event.master, user)
                self._grants.append(Grant(event.container, event.node, record.now_ms))
                self._happened((GRANTED, event.container), event.application)
            case ContainerLaunched():
                seen = self._seen.get(event.container)
                if seen is not None:
                    seen.launched_ms = record.now_ms
                    if event.group >= 0:
                        seen.task = (application_of(event.container), event.group, event.task)
            case ContainerCompleted():
                seen = self._seen.get(event.container)
                if seen is not None and seen.exited is None and seen.decided_ms is None:
                    seen.decided_ms = record.now_ms
                    seen.decided_turn = self._turns.number + (record is self._turns.ahead)
                container = event.container
                ended = (ENDED, container), application_of(container)
                if type(record.input) is ContainerExited and record.input.container == container:
                    self._happened(*ended)
                else:
                    self._coming.append(ended)
            case _:
                pass

    # The world.

    def world(self, scheduler: str, types: ResourceTypes, epoch_ms: int) -> World:
        """All that was read."""
        estimates = _Estimates(self._seen)
        lives: dict[Task, list[Life]] = defaultdict(list)
        own: dict[ContainerId, Life] = {}
        begun: dict[ContainerId, Life] = {}
        censored = 0
        for container, seen in self._seen.items():
            if seen.launched_ms is None and seen.started_ms is None:
                continue
            life = estimates.life(seen, self._now_ms)
            censored += life.censored
            if container in self._begun:
                runs = self._begun[container]
                begun[container] = _rest(seen, life, self._first_ms or 0, runs=runs)
            elif seen.task is None:
                own[container] = life
            else:
                lives[seen.task].append(life)
        return World(
            scheduler=scheduler,
            types=types,
            epoch_ms=epoch_ms,
            begin_ms=self._first_ms or 0,
            end_ms=self._now_ms,
            entries=tuple(self._entries),
            lives={task: tuple(found) for task, found in lives.items()},
            own_lives=own,
            unordered=frozenset(
                container
                for container, seen in self._seen.items()
                if seen.started_ms is not None and seen.launched_ms is None
            ),
            starts=self._starts,
            ends=self._ends,
            typical_ms={
                (number, group): estimates.typical_ms(number, group, self._users[number])
                for number, count in self._counts.items()
                for group in range(count)
            },
            grants=tuple(self._grants),
            pauses=tuple(self._turns.pauses),
            decided_ms=self._turns.decided_ms,
            timers=tuple(self._turns.timers),
            pace=self._turns.pace(),
            censored=censored,
            drivers=len(self._masters),
            nodes=len(self._nodes),
            origin=self._origin,
            begun=begun,
            facts=self._known,
            queues=self._queues,
        )


def _is_own(input_: Input) -> bool:
    """Whether the runtime fed it itself."""
    match input_:
        case NodeLost():
            return input_.report in (LEFT_EMPTY, LEFT_LATE)
        case ContainerExited():
            return input_.diagnostics.startswith(EXPIRED)
        case _:
            return type(input_) in OWN


def _rest(seen: _Seen, life: Life, now_ms: int, *, runs: bool) -> Life:
    """What is left of a life at an instant after its launch."""
    launched_ms = seen.granted_ms if seen.launched_ms is None else seen.launched_ms
    starts_ms = launched_ms + (life.start_ms or 0)
    if runs or life.start_ms is None:
        rest_ms = max(0, starts_ms + life.run_ms - now_ms)
        return msgspec.structs.replace(life, start_ms=None, run_ms=rest_ms)
    return msgspec.structs.replace(life, start_ms=max(0, starts_ms - now_ms))


class _Estimates:
    """Run times of containers that did not end by themselves."""

    def __init__(self, seen: dict[ContainerId, _Seen]) -> None:
        tasks: dict[Task, int] = {}
        groups: dict[tuple[ApplicationId, int], list[int]] = defaultdict(list)
        users: dict[str, list[int]] = defaultdict(list)
        stops: list[int] = []
        for life in seen.values():
            if life.reported_ms is not None and life.decided_ms is not None:
                stops.append(life.reported_ms - life.decided_ms)
            if life.ended_ms is None or life.started_ms is None:
                continue
            run_ms = life.ended_ms - life.started_ms
            if life.task is not None and life.exited is not None and life.exited.exit_code == 0:
                tasks[life.task] = run_ms
                groups[life.task[:2]].append(run_ms)
                users[life.user].append(run_ms)
        self._tasks = tasks
        self._groups = {key: median_low(found) for key, found in groups.items()}
        self._users = {key: median_low(found) for key, found in users.items()}
        all_ms = [run_ms for found in users.values() for run_ms in found]
        self._all_ms = median_low(all_ms) if all_ms else 0
        self._stop_ms = median_low(stops) if stops else 0

    def typical_ms(self, application: ApplicationId, group: int, user: str) -> int:
        """The run time that is expected of a task that never ended by itself."""
        known_ms = self._groups.get((application, group))
        return self._users.get(user, self._all_ms) if known_ms is None else known_ms

    def life(self, seen: _Seen, now_ms: int) -> Life:
        """The life of a container; a censored one if it did not end by itself."""
        launched_ms = seen.granted_ms if seen.launched_ms is None else seen.launched_ms
        start_ms = None if seen.started_ms is None else seen.started_ms - launched_ms
        began_ms = launched_ms if seen.started_ms is None else seen.started_ms
        holds = seen.started is not None and seen.started.holds_room
        stop_ms = self._stop_ms
        if seen.decided_ms is not None and seen.exited is None:
            if seen.reported_ms is not None:
                stop_ms = seen.reported_ms - seen.decided_ms
            else:  # not by then
                stop_ms = max(stop_ms, now_ms - seen.decided_ms + 1)
        common: dict[str, Any] = {
            "holds_room": holds,
            "stop_ms": stop_ms,
            "gpus": seen.started.gpus if seen.started is not None else (),
        }
        if seen.exited is not None and seen.ended_ms is not None:
            exited = seen.exited
            return Life(
                start_ms,
                seen.ended_ms - began_ms,
                exited.exit_code,
                exited.diagnostics,
                exited.peak_memory_mb,
                exited.cpu_ms,
                exited.cannot_start,
                exited.timed_out,
                **common,
            )
        until_ms = now_ms if seen.decided_ms is None else seen.decided_ms
        known_ms = self._known_ms(seen)
        ran_ms = max(0, until_ms - began_ms) + SURVIVED_MS
        if start_ms is None:  # not by then
            start_ms = max(0, until_ms - began_ms) + 1
        return Life(start_ms, max(known_ms, ran_ms), censored=True, **common)

    def _known_ms(self, seen: _Seen) -> int:
        task = seen.task
        if task is None:
            return 0
        known_ms = self._tasks.get(task)
        return self.typical_ms(*task[:2], seen.user) if known_ms is None else known_ms
