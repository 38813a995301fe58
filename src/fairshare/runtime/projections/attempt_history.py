"""The history of every application: attempts, masters, use over time; from records alone.

The core's state only has the present; YARN's clients also read the history. This projection is
rebuilt from the journal at a start, and decides nothing. Amounts over time are vectors of the
cluster's types, in units times milliseconds.
"""

from typing import Self

from fairshare.core.model.events import (
    ApplicationEnded,
    ApplicationRejected,
    ApplicationsForgotten,
    ApplicationState,
    ApplicationSubmitted,
    AttemptEnded,
    AttemptStarted,
    ContainerAllocated,
    ContainerCompleted,
    ContainerLaunched,
    ContainerReserved,
    Event,
    ExitCode,
    MasterStarted,
    MasterUnregistered,
    QueueCreated,
)
from fairshare.core.model.identifiers import ApplicationId, ContainerId, application_of
from fairshare.core.model.inputs import FinishApplication, MasterRegistered, UnregisterMaster
from fairshare.core.model.resources import Resource, ResourceTypes, add, scale
from fairshare.core.record import Record
from fairshare.core.schedulers.protocol import Scheduler
from fairshare.runtime.projections.projection import Projection

MAX_DIAGNOSTICS = 4_000
"""The last characters of a master's diagnostics that are kept; the end is the most informative
part."""


class Attempt:
    """One attempt of an application. Instants are 0 while they lie in the future.

    `end` is how it ended: FINISHED, FAILED or KILLED; empty while it goes on. `final_status` is its
    master's report; empty without a report. `exit_code` and `diagnostics` are those of the master's
    container.
    """

    __slots__ = (
        "diagnostics",
        "end",
        "exit_code",
        "final_status",
        "finished_ms",
        "host",
        "launched_ms",
        "master",
        "node",
        "number",
        "registered",
        "rpc_port",
        "started_ms",
        "tracking_url",
    )

    def __init__(self, number: int, started_ms: int) -> None:
        self.number = number
        self.started_ms = started_ms
        self.launched_ms = 0
        self.finished_ms = 0
        self.master: ContainerId | None = None
        self.node = ""
        self.registered = False
        self.host = ""
        self.rpc_port = -1
        self.tracking_url = ""
        self.final_status = ""
        self.end = ""
        self.exit_code = 0
        self.diagnostics = ""


class ApplicationAttempts:
    """One application. `use_ms` counts containers that have ended, `preempted_ms` those of them
    that were preempted. `reserved`: it once had a reservation;
    `refusal` is the code of a refused submission, `refused_by` the queue of its event."""

    __slots__ = (
        "attempts",
        "end",
        "launched_ms",
        "new_queue",
        "outside",
        "preempted",
        "preempted_masters",
        "preempted_ms",
        "preempted_others",
        "progress",
        "refusal",
        "refused_by",
        "reserved",
        "use_ms",
    )

    def __init__(self, none: Resource) -> None:
        self.attempts: list[Attempt] = []
        self.launched_ms = 0
        self.end: ApplicationState | None = None
        self.progress = 0.0  # 0 to 1, as its master reports
        self.use_ms = none
        self.preempted_ms = none
        self.preempted = none
        self.preempted_masters = 0
        self.preempted_others = 0
        self.reserved = False
        self.refusal = ""
        self.refused_by = ""
        self.new_queue = False
        self.outside = False

    @property
    def attempt(self) -> Attempt | None:
        return self.attempts[-1] if self.attempts else None

    @property
    def unregistered(self) -> bool:
        """Whether its master reported its outcome."""
        last = self.attempt
        return last is not None and bool(last.final_status)


class AttemptHistory(Projection):
    """All applications of the records. `reports` counts the progress reports of masters, which are
    not recorded."""

    reports = 0

    def __init__(self, types: ResourceTypes) -> None:
        self._none = types.none
        self._applications: dict[ApplicationId, ApplicationAttempts] = {}
        self._live: dict[ContainerId, ContainerAllocated] = {}
        self._new_queues: set[str] = set()  # created by the current record

    @classmethod
    def empty(cls, types: ResourceTypes) -> Self:
        return cls(types)

    def of(self, application: ApplicationId) -> ApplicationAttempts:
        """One application; an empty one if no record names it."""
        return self._applications.get(application) or ApplicationAttempts(self._none)

    def report_progress(self, application: ApplicationId, fraction: float) -> None:
        """A master's progress report, 0 to 1. Not in the journal: masters repeat it."""
        found = self._applications.get(application)
        if found is not None and found.end is None:
            found.progress = min(max(fraction, 0.0), 1.0)
            self.reports += 1

    def observe(self, record: Record, scheduler: Scheduler) -> None:
        """Apply one record; records come in the order of the journal."""
        given = record.input
        self._new_queues = {e.queue for e in record.events if type(e) is QueueCreated}
        for event in record.events:
            self._event(record.now_ms, event)
        match given:
            case MasterRegistered():
                self._registered(given)
            case UnregisterMaster(application=number):
                last = self.of(number).attempt
                if last is not None and last.final_status:
                    last.tracking_url = given.tracking_url or last.tracking_url
            case FinishApplication(application=number):
                history = self.of(number)
                last = history.attempt
                if history.end is not None and last is not None and last.registered:
                    last.final_status = "SUCCEEDED" if given.succeeded else "FAILED"
                    last.end = "FINISHED"
                    last.diagnostics = given.diagnostics[-MAX_DIAGNOSTICS:]
                    history.progress = 1.0
            case _:
                pass

    def _event(self, now_ms: int, event: Event) -> None:
        match event:
            case ContainerAllocated():
                self._allocated(now_ms, event)
            case ContainerCompleted():
                self._completed(now_ms, event)
            case ContainerReserved(application=number):
                self.of(number).reserved = True
            case ContainerLaunched(container=container):
                self._launched(now_ms, container)
            case ApplicationSubmitted():
                self._submitted(event)
            case ApplicationRejected(application=number):
                found = self._applications[number] = ApplicationAttempts(self._none)
                found.end = ApplicationState.REJECTED
                found.refusal, found.refused_by = event.code, event.queue
            case AttemptStarted(application=number, attempt=attempt):
                self.of(number).attempts.append(Attempt(attempt, now_ms))
            case MasterStarted(application=number):
                self._started(now_ms, self.of(number))
            case MasterUnregistered(application=number):
                self._unregistered(now_ms, self.of(number), event)
            case AttemptEnded(application=number):
                last = self.of(number).attempt
                if last is not None:
                    last.finished_ms = last.finished_ms or now_ms
                    last.end = "FINISHED" if last.final_status else "FAILED"
            case ApplicationEnded(application=number):
                self._ended(now_ms, self.of(number), event)
            case ApplicationsForgotten(applications=numbers):
                for number in numbers:
                    self._applications.pop(number, None)
            case _:
                pass

    def _submitted(self, event: ApplicationSubmitted) -> None:
        found = self._applications[event.application] = ApplicationAttempts(self._none)
        found.new_queue = event.queue in self._new_queues
        found.outside = event.submission.driver is None

    def _allocated(self, now_ms: int, event: ContainerAllocated) -> None:
        self._live[event.container] = event
        history = self.of(event.application)
        last = history.attempt
        if event.master and last is not None:
            last.master, last.node = event.container, event.node
            if history.outside:
                self._launched(now_ms, event.container)

    def _launched(self, now_ms: int, container: ContainerId) -> None:
        history = self.of(application_of(container))
        last = history.attempt
        if last is not None and container == last.master:
            last.launched_ms = now_ms
            history.launched_ms = history.launched_ms or now_ms

    def _started(self, now_ms: int, history: ApplicationAttempts) -> None:
        last = history.attempt
        if last is not None:
            last.registered = True
            last.launched_ms = last.launched_ms or now_ms
            history.launched_ms = history.launched_ms or now_ms

    def _registered(self, given: MasterRegistered) -> None:
        last = self.of(given.application).attempt
        if last is not None and last.registered and not last.host:
            last.host, last.rpc_port = given.host, given.rpc_port
            last.tracking_url = given.tracking_url

    def _unregistered(
        self, now_ms: int, history: ApplicationAttempts, event: MasterUnregistered
    ) -> None:
        history.progress = 1.0
        last = history.attempt
        if last is not None:
            last.final_status = event.final_status
            last.finished_ms = now_ms
            last.diagnostics = event.diagnostics[-MAX_DIAGNOSTICS:]

    def _completed(self, now_ms: int, event: ContainerCompleted) -> None:
        grant = self._live.pop(event.container, None)
        if grant is None:
            return
        history = self.of(grant.application)
        use_ms = scale(grant.resource, now_ms - grant.allocated_ms)
        history.use_ms = add(history.use_ms, use_ms)
        if event.exit_code == ExitCode.PREEMPTED:
            history.preempted_ms = add(history.preempted_ms, use_ms)
            history.preempted = add(history.preempted, grant.resource)
            if grant.master:
                history.preempted_masters += 1
            else:
                history.preempted_others += 1
        last = history.attempt
        if last is not None and event.container == last.master and not last.final_status:
            last.exit_code = event.exit_code
            last.diagnostics = event.diagnostics[-MAX_DIAGNOSTICS:]

    def _ended(self, now_ms: int, history: ApplicationAttempts, event: ApplicationEnded) -> None:
        history.end = event.state
        last = history.attempt
        if last is None:
            return
        last.finished_ms = last.finished_ms or now_ms
        if last.final_status:
            last.end = "FINISHED"
        elif event.state == ApplicationState.KILLED:
            last.end = "KILLED"
        else:
            last.end = str(event.state)
        if last.launched_ms:
            history.progress = 1.0
