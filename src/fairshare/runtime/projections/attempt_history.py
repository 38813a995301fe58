"""The history of every application: attempts, masters, use over time; from records alone.

The core's state only has the present; YARN's clients also read the history. This projection is
rebuilt from the journal at a start, and decides nothing. Amounts over time are vectors of the
cluster's types, in units times milliseconds. The history of an ended application is packed, and
opened for each reader.
"""

from functools import lru_cache
from operator import attrgetter
from typing import Any, Self, cast

import msgspec

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
    ExitCode,
    MasterStarted,
    MasterUnregistered,
    QueueCreated,
    RequestRefused,
)
from fairshare.core.model.identifiers import ApplicationId, ContainerId, application_of
from fairshare.core.model.inputs import FinishApplication, MasterRegistered, UnregisterMaster
from fairshare.core.model.packing import Pattern
from fairshare.core.model.resources import Resource, ResourceTypes, add, scale
from fairshare.core.record import Record
from fairshare.core.schedulers.protocol import Scheduler
from fairshare.runtime.observers import Observers
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
    def attempted(self) -> bool:
        """Whether an attempt has started."""
        return bool(self.attempts)

    @property
    def unregistered(self) -> bool:
        """Whether its master reported its outcome."""
        return bool(self.final_status)

    @property
    def final_status(self) -> str:
        """What the last master reported; empty without a report."""
        last = self.attempt
        return "" if last is None else last.final_status

    @property
    def last_ms(self) -> int:
        """When the last attempt ended or its master reported; 0: neither."""
        last = self.attempt
        return 0 if last is None else last.finished_ms


_fields_of_attempt = attrgetter(*Attempt.__slots__)
_NAMES = [name for name in ApplicationAttempts.__slots__ if name != "attempts"]
_fields = attrgetter(*_NAMES)


_STATUS = 8
"""Where packed attempts have the final status."""


class PackedAttempts(bytes):
    """The `ApplicationAttempts` of an ended application, to be read as they are.

    What lists and metrics read of all comes first, not packed: whether there was an attempt, the
    length of the final status, when the last attempt ended, and the final status.
    """

    __slots__ = ()

    @classmethod
    def of(cls, history: ApplicationAttempts) -> Self:
        status = history.final_status.encode()
        head = bytes((history.attempted, len(status))) + history.last_ms.to_bytes(_STATUS - 2)
        return cls(head + status + _PATTERN.pack(_encoded(history)))

    @property
    def attempted(self) -> bool:
        """Whether an attempt has started."""
        return bool(self[0])

    @property
    def unregistered(self) -> bool:
        """Whether its master reported its outcome."""
        return bool(self[1])

    @property
    def final_status(self) -> str:
        """What the last master reported; empty without a report."""
        return self[_STATUS : _STATUS + self[1]].decode()

    @property
    def last_ms(self) -> int:
        """When the last attempt ended or its master reported; 0: neither."""
        return int.from_bytes(self[2:_STATUS])

    def __getattr__(self, name: str) -> Any:
        return getattr(_opened(self), name)

    def open(self) -> ApplicationAttempts:
        """What is packed; a new one."""
        attempts, fields = msgspec.msgpack.decode(_PATTERN.unpack(self[_STATUS + self[1] :]))
        history = ApplicationAttempts(())
        for name, value in zip(_NAMES, fields, strict=True):
            setattr(history, name, tuple(value) if type(value) is list else value)
        if history.end is not None:
            history.end = ApplicationState(history.end)
        for values in attempts:
            attempt = object.__new__(Attempt)
            for name, value in zip(Attempt.__slots__, values, strict=True):
                setattr(attempt, name, value)
            history.attempts.append(attempt)
        return history


_opened = lru_cache(4)(PackedAttempts.open)  # readers read several fields in a row


def _encoded(history: ApplicationAttempts) -> bytes:
    attempts = [_fields_of_attempt(one) for one in history.attempts]
    return msgspec.msgpack.encode((attempts, _fields(history)))


def _typical() -> ApplicationAttempts:
    history, attempt = ApplicationAttempts((1 << 20, 1 << 10)), Attempt(1, 1 << 40)
    attempt.registered, attempt.end = True, "FINISHED"
    attempt.launched_ms = attempt.finished_ms = history.launched_ms = 1 << 40
    history.attempts = [attempt]
    history.end = ApplicationState.FINISHED
    history.progress = 1.0
    history.preempted = history.preempted_ms = (0, 0)
    history.outside = True
    return history


_PATTERN = Pattern(_encoded(_typical()))


class AttemptHistory(Projection):
    """All applications of the records."""

    def __init__(self, types: ResourceTypes) -> None:
        self._none = types.none
        self._applications: dict[ApplicationId, ApplicationAttempts | PackedAttempts] = {}
        self._live: dict[ContainerId, ContainerAllocated] = {}
        self._new_queues: set[str] = set()  # created by the record of the last submission

    @classmethod
    def empty(cls, types: ResourceTypes) -> Self:
        return cls(types)

    def of(self, application: ApplicationId) -> ApplicationAttempts:
        """One application; an empty one if no record names it."""
        found = self._applications.get(application)
        return cast("ApplicationAttempts | None", found) or ApplicationAttempts(self._none)

    def opened(self, application: ApplicationId) -> ApplicationAttempts:
        """The same for those who read most of it: opened once, not for each field."""
        found = self._applications.get(application)
        return _opened(found) if type(found) is PackedAttempts else self.of(application)

    def pack(self, application: ApplicationId) -> None:
        """Keep the history of an application that has ended, of which no more records come, in few
        bytes."""
        found = self._applications.get(application)
        if type(found) is ApplicationAttempts and found.end is not None:
            self._applications[application] = PackedAttempts.of(found)

    def report_progress(self, application: ApplicationId, fraction: float) -> bool:
        """A master's progress report, 0 to 1; whether it changes anything. Not in the journal:
        masters repeat it."""
        history, fraction = self._applications.get(application), min(max(fraction, 0.0), 1.0)
        if type(history) is not ApplicationAttempts or history.end is not None:
            return False
        before, history.progress = history.progress, fraction
        return before != fraction

    def subscribe(self, observers: Observers, scheduler: Scheduler) -> None:
        observers.events(self._submitted, ApplicationSubmitted)
        observers.events(self._rejected, ApplicationRejected)
        observers.events(self._attempt_started, AttemptStarted)
        observers.events(self._allocated, ContainerAllocated)
        observers.events(self._reserved, ContainerReserved)
        observers.events(self._container_launched, ContainerLaunched)
        observers.events(self._completed, ContainerCompleted)
        observers.events(self._started, MasterStarted)
        observers.events(self._unregistered, MasterUnregistered)
        observers.events(self._attempt_ended, AttemptEnded)
        observers.events(self._ended, ApplicationEnded)
        observers.events(self._forgotten, ApplicationsForgotten)
        observers.after(self._master_registered, MasterRegistered)
        observers.after(self._master_says_where, UnregisterMaster)
        observers.after(self._master_finishes, FinishApplication)

    def _asked_of(self, record: Record, application: ApplicationId) -> ApplicationAttempts:
        """The application of a request; an empty one if it was refused, and so changed nothing."""
        refused = RequestRefused in map(type, record.events)
        return ApplicationAttempts(self._none) if refused else self.of(application)

    def _submitted(self, record: Record, event: ApplicationSubmitted) -> None:
        found = self._applications[event.application] = ApplicationAttempts(self._none)
        self._new_queues = {one.queue for one in record.events if type(one) is QueueCreated}
        found.new_queue = event.queue in self._new_queues
        found.outside = event.submission.driver is None

    def _rejected(self, record: Record, event: ApplicationRejected) -> None:
        found = self._applications[event.application] = ApplicationAttempts(self._none)
        found.end = ApplicationState.REJECTED
        found.refusal, found.refused_by = event.code, event.queue

    def _attempt_started(self, record: Record, event: AttemptStarted) -> None:
        history = self.of(event.application)
        started = (Attempt(event.attempt, record.now_ms),)
        history.attempts = [*history.attempts, *started]  # without room for more

    def _reserved(self, record: Record, event: ContainerReserved) -> None:
        self.of(event.application).reserved = True

    def _allocated(self, record: Record, event: ContainerAllocated) -> None:
        self._live[event.container] = event
        if not event.master:
            return
        history = self.of(event.application)
        last = history.attempt
        if last is not None:
            last.master, last.node = event.container, event.node
            if history.outside:
                self._launched(record.now_ms, event.container)

    def _container_launched(self, record: Record, event: ContainerLaunched) -> None:
        if event.group < 0:  # not a task: only these may be masters
            self._launched(record.now_ms, event.container)

    def _launched(self, now_ms: int, container: ContainerId) -> None:
        history = self.of(application_of(container))
        last = history.attempt
        if last is not None and container == last.master:
            last.launched_ms = now_ms
            history.launched_ms = history.launched_ms or now_ms

    def _started(self, record: Record, event: MasterStarted) -> None:
        history = self.of(event.application)
        last = history.attempt
        if last is not None:
            last.registered = True
            last.launched_ms = last.launched_ms or record.now_ms
            history.launched_ms = history.launched_ms or record.now_ms

    def _master_registered(self, record: Record) -> None:
        request = record.input
        assert isinstance(request, MasterRegistered)
        last = self._asked_of(record, request.application).attempt
        if last is not None and last.registered and not last.host:
            last.host, last.rpc_port = request.host, request.rpc_port
            last.tracking_url = request.tracking_url

    def _unregistered(self, record: Record, event: MasterUnregistered) -> None:
        history = self.of(event.application)
        history.progress = 1.0
        last = history.attempt
        if last is not None:
            last.final_status = event.final_status
            last.finished_ms = record.now_ms
            last.diagnostics = event.diagnostics[-MAX_DIAGNOSTICS:]

    def _master_says_where(self, record: Record) -> None:
        request = record.input
        assert isinstance(request, UnregisterMaster)
        last = self._asked_of(record, request.application).attempt
        if last is not None and last.final_status:
            last.tracking_url = request.tracking_url or last.tracking_url

    def _master_finishes(self, record: Record) -> None:
        request = record.input
        assert isinstance(request, FinishApplication)
        history = self._asked_of(record, request.application)
        last = history.attempt
        if history.end is not None and last is not None and last.registered:
            last.final_status = "SUCCEEDED" if request.succeeded else "FAILED"
            last.end = "FINISHED"
            last.diagnostics = request.diagnostics[-MAX_DIAGNOSTICS:]
            history.progress = 1.0

    def _completed(self, record: Record, event: ContainerCompleted) -> None:
        grant = self._live.pop(event.container, None)
        if grant is None:
            return
        history = self.of(grant.application)
        use_ms = scale(grant.resource, record.now_ms - grant.allocated_ms)
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

    def _attempt_ended(self, record: Record, event: AttemptEnded) -> None:
        last = self.of(event.application).attempt
        if last is not None:
            last.finished_ms = last.finished_ms or record.now_ms
            last.end = "FINISHED" if last.final_status else "FAILED"

    def _forgotten(self, record: Record, event: ApplicationsForgotten) -> None:
        for number in event.applications:
            self._applications.pop(number, None)

    def _ended(self, record: Record, event: ApplicationEnded) -> None:
        history = self.of(event.application)
        history.end = event.state
        last = history.attempt
        if last is None:
            return
        last.finished_ms = last.finished_ms or record.now_ms
        if last.final_status:
            last.end = "FINISHED"
        elif event.state == ApplicationState.KILLED:
            last.end = "KILLED"
        else:
            last.end = str(event.state)
        if last.launched_ms:
            history.progress = 1.0
