"""The collection of a report from the records of a simulation, one by one.

Reads the scheduler only between two instants, for the fair shares, and applications before the
state forgets them.
"""

from collections import Counter, deque
from collections.abc import Callable, Sequence
from operator import itemgetter

from fairshare.core.model.applications import Application
from fairshare.core.model.events import (
    ApplicationEnded,
    ApplicationMoved,
    ApplicationRejected,
    ApplicationState,
    ApplicationSubmitted,
    AsksChanged,
    AttemptEnded,
    ContainerAllocated,
    ContainerCompleted,
    ExitCode,
    Locality,
)
from fairshare.core.model.identifiers import (
    ApplicationId,
    ContainerId,
    application_name,
    application_of,
)
from fairshare.core.model.resources import Resource, subtract, total
from fairshare.core.record import Record
from fairshare.core.schedulers.protocol import Scheduler
from fairshare.lab.simulate.levels import KINDS, Levels, divided
from fairshare.lab.simulate.report import (
    ApplicationReport,
    Containers,
    QueueReport,
    QueueSample,
    Report,
    Sample,
    Spread,
    UserReport,
    spread,
)
from fairshare.lab.simulate.usage import Interval, Usage
from fairshare.runtime.observers import Observers


class _Tally:
    """The counters of one application. `live` has its live containers; `near` counts containers by
    locality, if it wants places."""

    __slots__ = (
        "failed",
        "first_ms",
        "granted",
        "live",
        "lost",
        "near",
        "preempted",
        "preempted_work",
        "queue",
    )

    def __init__(self, queue: str, near: list[int] | None = None) -> None:
        self.queue = queue
        self.first_ms: int | None = None
        self.granted = 0
        self.failed = 0
        self.preempted = 0
        self.near = near
        self.lost = 0
        self.preempted_work = 0
        self.live: dict[ContainerId, ContainerAllocated] = {}


class Collection:
    """Begins with the scheduler's state at `begin_ms`, and must observe every later record once, in
    order. Of applications that run at the beginning the report counts only what follows.

    `advance` must be called before the first decision of a later instant.
    """

    def __init__(self, scheduler: Scheduler, begin_ms: int = 0) -> None:
        self._scheduler = scheduler
        self._state = scheduler.state
        self._usage = Usage(self._state.none, begin_ms)
        self._total = self._state.none
        self._levels = Levels(scheduler)
        self._stale = self._levels.demands.stale
        self._tallies: dict[ApplicationId, _Tally] = {}
        self._settled: list[tuple[ApplicationId, ApplicationReport]] = []
        self._known_means: dict[tuple[Resource, int], dict[str, float]] = {}  # of one report
        self._succeeded = 0
        self.ended: deque[ApplicationId] = deque()
        """The applications that are over and not settled, in the order of their ends."""
        self._ends: Counter[str] = Counter()
        self._last_end_ms = 0
        for number, application in self._state.applications.items():
            if application.over and not application.containers:
                continue
            self._stale[number] = None
            tally = self._tallies[number] = _Tally(application.queue)
            tally.live = dict(application.containers)
            for granted in tally.live.values():
                self._usage.change(begin_ms, tally.queue, granted.resource)
        if self._state.total != self._total:
            self._total = self._state.total
            self._usage.offer(begin_ms, self._total)

    def advance(self, now_ms: int) -> None:
        """Account for the time up to `now_ms`, before the first decision of that instant."""
        if now_ms >= self._usage.look_ms:
            self._usage.advance(now_ms, self._levels.read())

    def subscribe(self, observers: Observers) -> None:
        """Follow the records."""
        observers.events(self._allocated, ContainerAllocated)
        observers.events(self._completed, ContainerCompleted)
        observers.events(self._submitted, ApplicationSubmitted)
        observers.events(self._rejected, ApplicationRejected)
        observers.events(self._ended, ApplicationEnded)
        observers.events(self._moved, ApplicationMoved)
        observers.events(self._demand_changed, AsksChanged, AttemptEnded)
        observers.commits(self._committed)

    def _committed(self, records: Sequence[Record]) -> None:
        if self._state.total is not self._total:
            self._total = self._state.total
            self._usage.offer(records[-1].now_ms, self._total)

    def _allocated(self, record: Record, event: ContainerAllocated) -> None:
        number = event.application
        tally = self._tallies[number]
        tally.granted += 1
        tally.live[event.container] = event
        if tally.near is not None:
            tally.near[event.locality] += 1
        if tally.first_ms is None:
            tally.first_ms = record.now_ms
        self._usage.change(record.now_ms, tally.queue, event.resource)
        self._stale[number] = None

    def _completed(self, record: Record, event: ContainerCompleted) -> None:
        number = application_of(event.container)
        tally = self._tallies[number]
        granted = tally.live.pop(event.container)
        resource = granted.resource
        if len(resource) == 2:
            change: Resource = (-resource[0], -resource[1])
        else:
            change = tuple([-amount for amount in resource])
        self._usage.change(record.now_ms, tally.queue, change)
        self._stale[number] = None
        code = event.exit_code
        if code == 0:
            self._succeeded += 1
            return
        work = resource[0] * (record.now_ms - granted.allocated_ms)
        tally.lost += work
        if code == ExitCode.PREEMPTED:
            tally.preempted_work += work
            tally.preempted += 1
            self._ends["preempted"] += 1
        elif code == ExitCode.ABORTED:
            self._ends["aborted"] += 1
        else:
            tally.failed += 1
            self._ends["failed"] += 1

    def _submitted(self, record: Record, event: ApplicationSubmitted) -> None:
        wants_places = any(group.hosts or group.racks for group in event.submission.tasks)
        places = [0] * len(Locality) if wants_places else None
        self._tallies[event.application] = _Tally(event.queue, places)

    def _rejected(self, record: Record, event: ApplicationRejected) -> None:
        self._tallies[event.application] = _Tally("")
        self.ended.append(event.application)

    def _ended(self, record: Record, event: ApplicationEnded) -> None:
        self.ended.append(event.application)
        self._last_end_ms = record.now_ms

    def _demand_changed(self, record: Record, event: AsksChanged) -> None:
        self._stale[event.application] = None

    def _moved(self, record: Record, event: ApplicationMoved) -> None:
        self._stale[event.application] = None
        tally = self._tallies[event.application]
        used = total((one.resource for one in tally.live.values()), len(self._state.none))
        self._usage.change(record.now_ms, tally.queue, subtract(self._state.none, used))
        self._usage.change(record.now_ms, event.queue, used)
        tally.queue = event.queue

    def intervals(self, now_ms: int) -> Sequence[Interval]:
        """The use and the levels of queues up to an instant."""
        self._usage.finish(now_ms, self._levels.read())
        return self._usage.intervals

    def settle(self, count: int) -> tuple[ApplicationId, ...]:
        """Report on the `count` applications that ended first, as they are now: the state may
        forget them. Returns them."""
        chosen = [self.ended.popleft() for _ in range(min(count, len(self.ended)))]
        settled = []
        for number in chosen:
            if self._tallies[number].live:  # containers that are still being stopped
                self.ended.append(number)
                continue
            self._settled.append((number, self._application(self._state.applications[number])))
            del self._tallies[number]
            settled.append(number)
        return tuple(settled)

    # The report.

    def report(self, now_ms: int, notes: tuple[str, ...] = ()) -> Report:
        """The report as of an instant; more records may follow."""
        self._known_means.clear()
        intervals = self.intervals(now_ms)
        state = self._state.applications
        unsettled = [(number, self._application(state[number])) for number in self._tallies]
        settled = sorted(self._settled + unsettled, key=itemgetter(0))
        applications = tuple(application for _, application in settled)
        admitted = [
            application
            for application in applications
            if application.state != ApplicationState.REJECTED
        ]
        first_ms = min((application.submitted_ms for application in admitted), default=0)
        makespan_ms = max(0, self._last_end_ms - first_ms)
        states = Counter(a.state for a in applications)
        granted = sum(application.containers for application in applications)
        return Report(
            scheduler=self._scheduler.name,
            end_ms=now_ms,
            makespan_ms=makespan_ms,
            applications_by_state={state.value: states[state.value] for state in ApplicationState},
            containers=Containers(granted, self._succeeded, **self._ends),
            waiting=_waiting(admitted),
            turnaround=_turnaround(admitted),
            utilization=self._utilization(intervals, first_ms, self._last_end_ms),
            queues=self._queues(intervals, admitted),
            users=_users(admitted),
            applications=applications,
            timeline=tuple(self._sample(interval) for interval in intervals),
            notes=notes,
        )

    def _application(self, application: Application) -> ApplicationReport:
        tally = self._tallies[application.id]
        waiting_ms = turnaround_ms = None
        if tally.first_ms is not None:
            waiting_ms = tally.first_ms - application.submitted_ms
        if application.finished_ms is not None and application.state != ApplicationState.REJECTED:
            turnaround_ms = application.finished_ms - application.submitted_ms
        return ApplicationReport(
            id=application_name(self._state.epoch_ms, application.id),
            name=application.submission.name,
            user=application.user,
            queue=application.queue,
            state=application.state.value,
            submitted_ms=application.submitted_ms,
            waiting_ms=waiting_ms,
            turnaround_ms=turnaround_ms,
            containers=tally.granted,
            failed_containers=tally.failed,
            preempted_containers=tally.preempted,
            diagnostics=application.diagnostics,
            lost_mb_ms=tally.lost,
            preempted_mb_ms=tally.preempted_work,
            near=() if tally.near is None else tuple(tally.near),
        )

    def _queues(
        self, intervals: Sequence[Interval], admitted: Sequence[ApplicationReport]
    ) -> tuple[QueueReport, ...]:
        members = _grouped(admitted, lambda one: one.queue)
        time_ms = sum(interval.length_ms for interval in intervals)
        none = self._state.none
        reports = []
        for name in sorted({**members, **self._levels.read()}):
            of_queue = members.get(name, [])
            used = total((i.used.get(name, none) for i in intervals), len(none))
            shares = total((i.shares.get(name, none)[: len(none)] for i in intervals), len(none))
            reports.append(
                QueueReport(
                    name=name,
                    applications=len(of_queue),
                    containers=sum(one.containers for one in of_queue),
                    preempted_containers=sum(one.preempted_containers for one in of_queue),
                    waiting=_waiting(of_queue),
                    turnaround=_turnaround(of_queue),
                    used=self._means(used, time_ms),
                    fair_share=self._means(shares, time_ms),
                )
            )
        return tuple(reports)

    def _utilization(
        self, intervals: Sequence[Interval], first_ms: int, last_ms: int
    ) -> dict[str, float]:
        """The mean used fraction of each type over the makespan; intervals that overlap the
        makespan partly count as a whole."""
        size = len(self._state.none)
        busy = [
            interval
            for interval in intervals
            if interval.at_ms < last_ms and interval.at_ms + interval.length_ms > first_ms
        ]
        used = total((area for i in busy for area in i.used.values()), size)
        offered = total((i.total for i in busy), size)
        return {
            name: round(part / whole, 6) if whole else 0.0
            for name, part, whole in zip(self._state.types.names, used, offered, strict=True)
        }

    def _sample(self, interval: Interval) -> Sample:
        types = self._state.types
        none = self._state.none
        nothing = none * len(KINDS)
        length_ms = interval.length_ms
        queues = {}
        for name in sorted({**interval.used, **interval.shares}):
            levels = divided(interval.shares.get(name, nothing))
            kinds = (self._means(amounts, length_ms) for amounts in levels)
            used = self._means(interval.used.get(name, none), length_ms)
            queues[name] = QueueSample(used, **dict(zip(KINDS, kinds, strict=True)))
        return Sample(
            at_ms=interval.at_ms,
            length_ms=length_ms,
            total={
                name: round(amount / length_ms)
                for name, amount in zip(types.names, interval.total, strict=True)
            },
            used=self._means(total(interval.used.values(), len(none)), length_ms),
            queues=queues,
        )

    def _means(self, areas: Resource, time_ms: int) -> dict[str, float]:
        key = areas, time_ms
        means = self._known_means.get(key)
        if means is None:
            means = self._known_means[key] = {
                name: round(area / time_ms, 3) if time_ms else 0.0
                for name, area in zip(self._state.types.names, areas, strict=True)
            }
        return means


def _users(admitted: Sequence[ApplicationReport]) -> tuple[UserReport, ...]:
    return tuple(
        UserReport(
            name=name,
            applications=len(of_user),
            containers=sum(application.containers for application in of_user),
            waiting=_waiting(of_user),
            turnaround=_turnaround(of_user),
        )
        for name, of_user in sorted(
            _grouped(admitted, lambda application: application.user).items()
        )
    )


def _grouped(
    applications: Sequence[ApplicationReport], name_of: Callable[[ApplicationReport], str]
) -> dict[str, list[ApplicationReport]]:
    groups: dict[str, list[ApplicationReport]] = {}
    for one in applications:
        groups.setdefault(name_of(one), []).append(one)
    return groups


def _waiting(applications: Sequence[ApplicationReport]) -> Spread | None:
    return spread([one.waiting_ms for one in applications if one.waiting_ms is not None])


def _turnaround(applications: Sequence[ApplicationReport]) -> Spread | None:
    return spread([one.turnaround_ms for one in applications if one.turnaround_ms is not None])
