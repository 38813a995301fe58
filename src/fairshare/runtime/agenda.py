"""What becomes due without a further event, and when: lifetimes, begins, pauses, containers that
stay unused, drained and overcommitted nodes, gangs, empty queues, rounds of preemption.

The agenda makes the inputs that are due; the manager decides on them. What is rare is listed by the
state, and looked up there; what may be there for thousands of applications is kept in heaps here.
"""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush

import msgspec

from fairshare.core.model.events import (
    ApplicationDeferred,
    ApplicationEnded,
    ApplicationMoved,
    ApplicationRejected,
    ApplicationsForgotten,
    ConfigurationLoaded,
    ContainerAllocated,
    ContainerCompleted,
    Event,
    ExitCode,
    LifetimeSet,
    NodeAdded,
    NodeTotalChanged,
    NodeUndrained,
    RoomFreed,
    TaskPaused,
)
from fairshare.core.model.identifiers import ApplicationId, ContainerId, application_of
from fairshare.core.model.inputs import (
    BeginDue,
    ContainerExited,
    GangDue,
    Input,
    LifetimeOver,
    NodeBeat,
    NodeDue,
    NodeLost,
    OvercommitOver,
    TasksDue,
)
from fairshare.core.model.tasks import GROUP_REQUESTS
from fairshare.core.schedulers.protocol import Scheduler, State
from fairshare.runtime.pace import LOOKED, MONITORED, TIDIED, Pacing

EXPIRED = "Container expired"
LEFT_EMPTY = "decommissioned: it was empty"
LEFT_LATE = "decommissioned: its time was over"

LOOK_MS = 1_000
"""The shortest time between two looks at whether there is room for a paused gang."""

_DATED = frozenset((ApplicationDeferred, LifetimeSet, TaskPaused))
"""The events that make lifetimes, begins and pauses; all others only end them."""

_FREEING = frozenset(
    (
        *(ContainerCompleted, NodeAdded, NodeTotalChanged, NodeUndrained, RoomFreed),
        *(ApplicationMoved, ConfigurationLoaded),
    )
)
"""The events after which there may be room for a gang, or its limits admit it."""

_EMPTYING = frozenset(
    (ApplicationEnded, ApplicationMoved, ApplicationRejected, ConfigurationLoaded)
)
"""The events that may leave a queue empty."""

_OUTDATED = 64
"""Outdated entries of a heap that are not worth making it again."""


class AgendaMemory(msgspec.Struct, frozen=True):
    """What an agenda knows that does not follow from the state: when empty queues are looked for,
    when preemption has its next round, and whether and when there may be room for gangs."""

    tidy_ms: int | None
    monitor_ms: int | None
    look_ms: int
    room_freed: bool


class Agenda:
    """The agenda of one scheduler's state as it is, kept in step with it by `note`, which must see
    all events.

    `unused_expiry_ms` is how long a driver may keep a container without launching anything in it;
    None: for ever. `tidy_ms` is when the scheduler is to remove empty queues, `monitor_ms` when it
    has its next round of preemption; None while there is no reason to. `pacing` is that of the
    runtime.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        unused_expiry_ms: int | None = None,
        pacing: Pacing | None = None,
    ) -> None:
        state = scheduler.state
        self._scheduler = scheduler
        self._state = state
        self._lifetimes = _Instants(
            {
                application.id: application.expires_ms
                for application in state.applications.values()
                if application.expires_ms is not None and not application.over
            }
        )
        self._begins = _Instants(
            {number: start.begin_ms for number, start in state.deferred.items() if start.begin_ms}
        )
        self._pauses = _Instants(
            {
                number: application.tasks.next_resume_ms
                for number, application in state.applications.items()
                if not application.over and application.tasks.next_resume_ms is not None
            }
        )
        self._unused_expiry_ms = unused_expiry_ms
        self._unused = _granted_to_drivers(state) if unused_expiry_ms is not None else OrderedDict()
        self._room_freed = True  # for gangs, since the last look
        self._pacing = pacing or Pacing()
        self._look_ms = 0  # the next look, at the earliest
        self.tidy_ms: int | None = None
        self.monitor_ms: int | None = None

    def memory(self) -> AgendaMemory:
        """What is known beside the state."""
        return AgendaMemory(self.tidy_ms, self.monitor_ms, self._look_ms, self._room_freed)

    def remember(self, memory: AgendaMemory) -> None:
        """Go on with what was known when the state was the same."""
        fires = self._pacing.fires
        tidy_ms, monitor_ms = memory.tidy_ms, memory.monitor_ms
        self.tidy_ms = None if tidy_ms is None else fires(TIDIED, tidy_ms)
        self.monitor_ms = None if monitor_ms is None else fires(MONITORED, monitor_ms)
        self._look_ms, self._room_freed = fires(LOOKED, memory.look_ms), memory.room_freed

    def note(self, now_ms: int, events: Sequence[Event]) -> None:
        """Take note of events, except those of a node's beat."""
        if self.tidy_ms is None and not _EMPTYING.isdisjoint(map(type, events)):
            self._put_off_tidying(now_ms, needed=True)
        dated = self._lifetimes.at_ms or self._begins.at_ms or self._pauses.at_ms
        if dated or not _DATED.isdisjoint(map(type, events)):
            for event in events:
                self._note_instant(event)
        if self._unused_expiry_ms is not None:
            self._note_unused(events)
        if not self._room_freed:
            self._room_freed = any(type(event) in _FREEING for event in events)

    def note_beat(self, events: Sequence[Event]) -> None:
        """Take note of the events of a node's beat, which only grants or reserves."""
        if self._unused_expiry_ms is not None:
            self._note_unused(events)

    def _note_instant(self, event: Event) -> None:
        match event:
            case LifetimeSet(application=number, expires_ms=expires_ms):
                self._lifetimes.set(number, expires_ms)
            case ApplicationDeferred(application=number, start=start):
                if start.begin_ms:
                    self._begins.set(number, start.begin_ms)
                else:
                    self._begins.drop(number)
            case TaskPaused(application=number, until_ms=until_ms):
                self._pauses.set(number, min(until_ms, self._pauses.at_ms.get(number, until_ms)))
            case ApplicationEnded(application=number):
                for instants in (self._lifetimes, self._begins, self._pauses):
                    instants.drop(number)
            case ApplicationsForgotten(applications=numbers):
                for number in numbers:
                    self._lifetimes.drop(number)
            case _:
                pass

    def _note_unused(self, events: Sequence[Event]) -> None:
        for event in events:
            if type(event) is ContainerAllocated and event.request < GROUP_REQUESTS:
                application = self._state.applications[event.application]
                if application.submission.driver is not None:
                    self._unused[event.container] = event.allocated_ms
            elif type(event) is ContainerCompleted:
                self._unused.pop(event.container, None)

    # Applications, containers and nodes.

    @property
    def any(self) -> bool:
        """Whether anything of an application, a container or a node becomes due: nearly always
        nothing does."""
        state = self._state
        return bool(
            state.gangs
            or state.drains
            or state.overcommits
            or self._lifetimes.at_ms
            or self._begins.at_ms
            or self._pauses.at_ms
            or state.failing
            or self._unused
        )

    def due(self, now_ms: int) -> Iterator[Input]:
        """What is due now, one after the other: what is decided of one may change what follows."""
        for application in self._lifetimes.take(now_ms):
            yield LifetimeOver(application)
        for application in self._begins.take(now_ms):
            yield BeginDue(application)
        yield from self._tried_again(now_ms)
        yield from self._expired(now_ms)
        yield from self._decommissioned(now_ms)
        yield from self._drained_beats()
        yield from self._overcommitted(now_ms)
        yield from self._gangs_due(now_ms)

    def next_ms(self) -> int | None:
        """When the first of these is due; None if there is none."""
        state = self._state
        times = (
            self._lifetimes.next_ms(),
            self._begins.next_ms(),
            self._pauses.next_ms(),
            self._next_expiry_ms(),
            self._next_gang_ms(),
            *(pause.until_ms for pause in state.failing.values()),
            *(deadline_ms for _, deadline_ms in self._leaving()),
            *state.overcommits.values(),
        )
        return min((time for time in times if time is not None), default=None)

    def _tried_again(self, now_ms: int) -> Iterator[NodeDue | TasksDue]:
        """The nodes and the applications with tasks whose pause is over; the state says when each
        pause of a task is."""
        for name, pause in tuple(self._state.failing.items()):
            if pause.until_ms is not None and pause.until_ms <= now_ms:
                yield NodeDue(name)
        for number in self._pauses.take(now_ms):
            yield TasksDue(number)
            application = self._state.applications.get(number)
            next_ms = None if application is None else application.tasks.next_resume_ms
            if next_ms is not None and next_ms > now_ms:
                self._pauses.set(number, next_ms)

    # Containers in which a driver has launched nothing. A forgotten one would be unavailable to
    # other applications for as long as its application lives. Containers of outside masters, which
    # run elsewhere, are never launched and never expire; nor do those of task groups, which the
    # manager launches (gangs have a timeout of their own).

    def _expired(self, now_ms: int) -> list[ContainerExited]:
        ends: list[ContainerExited] = []
        while (next_ms := self._next_expiry_ms()) is not None and next_ms <= now_ms:
            container, _ = self._unused.popitem(last=False)
            words = f"{EXPIRED}: nothing was launched in it for {self._unused_expiry_ms} ms."
            ends.append(ContainerExited(container, ExitCode.ABORTED, words))
        return ends

    def _next_expiry_ms(self) -> int | None:
        while self._unused:
            container, granted_ms = next(iter(self._unused.items()))
            application = self._state.applications.get(application_of(container))
            if (
                application is not None
                and container in application.containers
                and container not in application.attempt.launched
                and container not in self._state.running
            ):
                return granted_ms + (self._unused_expiry_ms or 0)
            del self._unused[container]
        return None

    # Nodes.

    def _decommissioned(self, now_ms: int) -> list[NodeLost]:
        """The nodes that leave now, since they are empty or their time is over, in the order of
        their decommissioning."""
        nodes = self._state.nodes
        due: list[NodeLost] = []
        for name, deadline_ms in self._leaving():
            if not nodes[name].occupants:
                due.append(NodeLost(name, "DECOMMISSIONED", LEFT_EMPTY))
            elif deadline_ms <= now_ms:
                due.append(NodeLost(name, "DECOMMISSIONED", LEFT_LATE))
        return due

    def _drained_beats(self) -> list[NodeBeat]:
        """The beats of drained nodes that offer something else than what they use."""
        nodes = self._state.nodes
        drained = (nodes[name] for name in self._state.drains if name in nodes)
        return [NodeBeat(node.name) for node in drained if node.total != node.used]

    def _leaving(self) -> Iterator[tuple[str, int]]:
        for name, drain in self._state.drains.items():
            if drain.deadline_ms is not None and name in self._state.nodes:
                yield name, drain.deadline_ms

    def _overcommitted(self, now_ms: int) -> list[OvercommitOver]:
        """The nodes that are too small for their containers and past their deadline."""
        deadlines = self._state.overcommits.items()
        return [OvercommitOver(name) for name, deadline_ms in deadlines if deadline_ms <= now_ms]

    # Gangs.

    def _next_gang_ms(self) -> int | None:
        gangs = self._state.gangs.values()
        next_ms = min((gang.due_ms for gang in gangs if gang.due_ms is not None), default=None)
        if next_ms is not None and self._room_freed and any(gang.paused for gang in gangs):
            return min(next_ms, self._look_ms)
        return next_ms

    def _gangs_due(self, now_ms: int) -> list[GangDue]:
        """At most one gang that gives up, and one whose pause is over.

        Of several gangs that held their containers for too long, the youngest gives up first: what
        it gives back may complete the others, for which the next call follows. For the same reason
        paused gangs try again one after the other, the oldest first.
        """
        gangs = self._state.gangs
        due = [key for key, one in gangs.items() if one.due_ms is not None and one.due_ms <= now_ms]
        holding = sorted(key for key in due if not gangs[key].paused)
        paused = sorted(key for key in due if gangs[key].paused)
        return [GangDue(*key) for key in (*holding[-1:], *paused[:1])]

    def gangs_with_room(self, now_ms: int) -> Iterator[GangDue]:
        """The paused gangs for which there may be room now, the oldest first. The caller stops
        after one that asks again: there may not be room for two."""
        gangs = self._state.gangs
        if not gangs or not self._room_freed or now_ms < self._look_ms:
            return
        self._pacing.fired(LOOKED, now_ms)
        self._look_ms = self._pacing.fires(LOOKED, now_ms + LOOK_MS)
        yield from [GangDue(*key) for key in sorted(gangs) if gangs[key].paused]
        self._room_freed = False

    # Queues that were made on demand and are empty. Hadoop looks at intervals. We look an interval
    # after something ended that could have left a queue empty, and again while there was something
    # to do, unless the scheduler tidies in rounds.

    def recovered(self, now_ms: int) -> None:
        """What ended before a recovery may have left a queue empty."""
        self.tidy_ms = now_ms
        if self._scheduler.tidies_in_rounds:
            self._put_off_tidying(now_ms, needed=True)

    def tidied(self, now_ms: int, events: Sequence[Event]) -> None:
        """The scheduler has removed empty queues; where it found some, more may follow (a parent
        without children)."""
        self._put_off_tidying(now_ms, needed=bool(events) or self._scheduler.tidies_in_rounds)

    def _put_off_tidying(self, now_ms: int, *, needed: bool) -> None:
        interval_ms = self._scheduler.tidy_interval_ms() if needed else None
        self.tidy_ms = (
            None if interval_ms is None else self._pacing.fires(TIDIED, now_ms + interval_ms)
        )

    # Rounds of preemption. Hadoop's monitor runs at intervals for ever. Ours runs while the
    # scheduler says that something could come of it: the first round an interval after that began,
    # and each further one an interval later.

    def monitor_is_due(self, now_ms: int) -> bool:
        """Whether a round is due; then the next one is an interval away."""
        if self.monitor_ms is None or self.monitor_ms > now_ms:
            return False
        self.monitor_ms = None
        self._pacing.fired(MONITORED, now_ms)
        return True

    def look_at_monitor(self, now_ms: int) -> None:
        """Something may have changed: find out whether rounds are needed."""
        interval_ms = self._scheduler.monitor_interval_ms()
        if interval_ms is None:
            self.monitor_ms = None
        elif self.monitor_ms is None or self.monitor_ms > now_ms + interval_ms:  # or it is shorter
            self.monitor_ms = self._pacing.fires(MONITORED, now_ms + interval_ms)


def _granted_to_drivers(state: State) -> OrderedDict[ContainerId, int]:
    """The containers of drivers that are not of task groups, by when they were granted, the oldest
    first."""
    records = [
        record
        for application in state.applications.values()
        if application.submission.driver is not None
        for record in application.containers.values()
        if record.request < GROUP_REQUESTS
    ]
    records.sort(key=lambda record: (record.allocated_ms, record.container))
    return OrderedDict((record.container, record.allocated_ms) for record in records)


class _Instants:
    """One instant for each of some applications: `at_ms`, which others read only.

    The heap may also have outdated entries: of instants that were changed or dropped.
    """

    def __init__(self, known: dict[ApplicationId, int]) -> None:
        self.at_ms = known
        self._heap: list[tuple[int, ApplicationId]] = []
        self._rebuild()

    def set(self, number: ApplicationId, at_ms: int) -> None:
        """Set or change the instant of an application."""
        if self.at_ms.get(number) != at_ms:
            self.at_ms[number] = at_ms
            heappush(self._heap, (at_ms, number))

    def drop(self, number: ApplicationId) -> None:
        """Nothing is due for an application any more."""
        self.at_ms.pop(number, None)
        if len(self._heap) > 2 * len(self.at_ms) + _OUTDATED:
            self._rebuild()

    def next_ms(self) -> int | None:
        """The earliest instant; None if there is none."""
        heap = self._heap
        while heap and self.at_ms.get(heap[0][1]) != heap[0][0]:
            heappop(heap)
        return heap[0][0] if heap else None

    def take(self, now_ms: int) -> list[ApplicationId]:
        """The applications for which something is due now, in the order of their instants."""
        due: list[ApplicationId] = []
        while (next_ms := self.next_ms()) is not None and next_ms <= now_ms:
            number = heappop(self._heap)[1]
            del self.at_ms[number]
            due.append(number)
        return due

    def _rebuild(self) -> None:
        self._heap = [(at_ms, number) for number, at_ms in self.at_ms.items()]
        heapify(self._heap)
