"""The history of containers: a bounded projection, derived from events alone.

The core forgets a container when it completes; tenants need its outcome for longer. This projection
is rebuilt from the journal at a start, and decides nothing. The containers of an application that
has ended are packed, in about 40 bytes each, and opened for each reader.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import msgspec

from fairshare.core.model.events import (
    ApplicationsForgotten,
    AttemptStarted,
    ContainerAllocated,
    ContainerCompleted,
    ContainerLaunched,
    ContainerRunning,
    ExitCode,
    GangRestarted,
)
from fairshare.core.model.identifiers import (
    APPLICATION_SHIFT,
    ApplicationId,
    ContainerId,
    application_of,
)
from fairshare.core.model.resources import Resource
from fairshare.core.record import Record
from fairshare.core.schedulers.protocol import Scheduler
from fairshare.runtime.observers import Observers
from fairshare.runtime.projections.projection import Projection

MAX_FINISHED = 100_000
"""Finished containers that are remembered, over all applications; the oldest go first."""

MOST_PACKED = 1_000
"""An application with more containers is not packed: each look at one of them would open all."""

MAX_DIAGNOSTICS = 4_000
"""The last characters of a container's diagnostics that are kept; the end is the most informative
part."""


class ContainerRecord(msgspec.Struct, array_like=True, eq=False, gc=False):
    """One container, from its allocation on. Instants are None while they lie in the future.

    `group` and `task` are -1 for a container that runs no task of a group.
    """

    container: ContainerId
    node: str
    resource: Resource
    master: bool
    allocated_ms: int
    launched_ms: int | None = None
    running_ms: int | None = None
    finished_ms: int | None = None
    gpus: tuple[str, ...] = ()
    group: int = -1
    task: int = -1
    exit_code: int | None = None
    diagnostics: str = ""
    peak_memory_mb: int = 0
    cpu_ms: int = 0
    timed_out: bool = False

    @property
    def outcome(self) -> str:
        """How it ended, in one or two words; empty while it has not."""
        if self.finished_ms is None:
            return ""
        return "failed" if self.exit_code is None else outcome(self.exit_code, self.timed_out)

    @property
    def state(self) -> str:
        """`ALLOCATED`, `RUNNING` (as an engine reported) or `COMPLETE`."""
        if self.finished_ms is not None:
            return "COMPLETE"
        return "ALLOCATED" if self.running_ms is None else "RUNNING"


_OUTCOMES: Final[Mapping[int, str]] = {
    ExitCode.SUCCESS: "succeeded",
    ExitCode.PREEMPTED: "preempted",
    ExitCode.ABORTED: "stopped",
    ExitCode.KILLED_EXCEEDING_MEMORY: "out of memory",
}


def outcome(exit_code: int, timed_out: bool = False) -> str:
    """How a container ended, in one or two words.

    >>> outcome(0), outcome(3), outcome(-102), outcome(-104), outcome(143, timed_out=True)
    ('succeeded', 'failed', 'preempted', 'out of memory', 'timed out')
    """
    return "timed out" if timed_out else _OUTCOMES.get(exit_code, "failed")


class TaskRecord:
    """The history of one task: the number of its containers, and the last of them."""

    __slots__ = ("attempts", "last")

    def __init__(self, first: ContainerRecord) -> None:
        self.attempts = 1
        self.last = first


class ApplicationHistory:
    """The containers of one application in the order of their allocation; and of its tasks those
    that had more than one, or of which the only one did not succeed: the core knows the others."""

    __slots__ = ("containers", "tasks")

    def __init__(self) -> None:
        self.containers: dict[ContainerId, ContainerRecord] = {}
        self.tasks: dict[tuple[int, int], TaskRecord] = {}

    def keep_task(self, container: ContainerRecord) -> None:
        """Keep the task of its first container: it may have another one."""
        place = container.group, container.task
        if container.group >= 0 and place not in self.tasks:
            self.tasks[place] = TaskRecord(container)


_Tasks = list[tuple[int, int, int, int]]
"""Of each task that is kept: its group and index, its number of containers, and which is the last.
"""

_Content = tuple[ApplicationId, list[ContainerRecord], _Tasks]
_decode = msgspec.msgpack.Decoder(_Content).decode


class PackedHistory(bytes):
    """The `ApplicationHistory` of an application all of whose containers have finished: each as its
    record, with its number instead of the identifier, and the instants after its allocation as
    milliseconds since then."""

    __slots__ = ()

    def open(self) -> ApplicationHistory:
        """What is packed; not to be changed."""
        return _opened(self)


def _packed(application: ApplicationId, history: ApplicationHistory) -> PackedHistory:
    first = application << APPLICATION_SHIFT
    containers = [
        msgspec.structs.replace(
            record,
            container=record.container - first,
            launched_ms=_moved(record.launched_ms, -record.allocated_ms),
            running_ms=_moved(record.running_ms, -record.allocated_ms),
            finished_ms=_moved(record.finished_ms, -record.allocated_ms),
        )
        for record in history.containers.values()
    ]
    tasks = [
        (*place, task.attempts, task.last.container - first)
        for place, task in history.tasks.items()
    ]
    return PackedHistory(msgspec.msgpack.encode((application, containers, tasks)))


def _moved(instant_ms: int | None, by_ms: int) -> int | None:
    return None if instant_ms is None else instant_ms + by_ms


def _unpacked(packed: PackedHistory) -> ApplicationHistory:
    application, containers, tasks = _decode(packed)
    first = application << APPLICATION_SHIFT
    history = ApplicationHistory()
    for record in containers:
        record.container += first
        record.launched_ms = _moved(record.launched_ms, record.allocated_ms)
        record.running_ms = _moved(record.running_ms, record.allocated_ms)
        record.finished_ms = _moved(record.finished_ms, record.allocated_ms)
        history.containers[record.container] = record
    for group, index, attempts, last in tasks:
        task = history.tasks[group, index] = TaskRecord(history.containers[first + last])
        task.attempts = attempts
    return history


_opened = lru_cache(4)(_unpacked)  # readers look at an application several times in a row
_NOTHING = ApplicationHistory()


class ContainerHistory(Projection):
    """All live containers, and the last `limit` finished ones."""

    def __init__(self, limit: int = MAX_FINISHED) -> None:
        self.limit = limit
        self._applications: dict[ApplicationId, ApplicationHistory | PackedHistory] = {}
        self._finished: dict[ContainerId, None] = {}  # the oldest first
        self._forgotten: list[ApplicationId] = []

    def subscribe(self, observers: Observers, scheduler: Scheduler) -> None:
        observers.events(self._allocated, ContainerAllocated)
        observers.events(self._launched, ContainerLaunched)
        observers.events(self._running, ContainerRunning)
        observers.events(self._completed, ContainerCompleted)
        observers.events(self._repeated, AttemptStarted, GangRestarted)
        observers.events(self._applications_forgotten, ApplicationsForgotten)

    def _allocated(self, record: Record, event: ContainerAllocated) -> None:
        history = self._to_change(event.application)
        if history is None:
            history = self._applications[event.application] = ApplicationHistory()
        history.containers[event.container] = ContainerRecord(
            event.container, event.node, event.resource, event.master, event.allocated_ms
        )

    def _running(self, record: Record, event: ContainerRunning) -> None:
        history = self._to_change(application_of(event.container))
        known = history.containers.get(event.container) if history else None
        if known is not None:
            known.running_ms = record.now_ms
            known.gpus = event.gpus

    def _launched(self, record: Record, event: ContainerLaunched) -> None:
        history = self._to_change(application_of(event.container))
        container = history.containers.get(event.container) if history else None
        if container is None or history is None:
            return
        container.launched_ms = record.now_ms
        container.group, container.task = event.group, event.task
        tasks = history.tasks
        task = tasks.get((event.group, event.task)) if tasks else None
        if task is not None:
            task.attempts += 1
            task.last = container

    def _completed(self, record: Record, event: ContainerCompleted) -> None:
        history = self._to_change(application_of(event.container))
        container = history.containers.get(event.container) if history else None
        if container is None or history is None:
            return
        container.finished_ms = record.now_ms
        container.exit_code = event.exit_code
        container.diagnostics = event.diagnostics[-MAX_DIAGNOSTICS:]
        container.peak_memory_mb = event.peak_memory_mb
        container.cpu_ms = event.cpu_ms
        container.timed_out = event.timed_out
        if event.exit_code:
            history.keep_task(container)
        self._finished[event.container] = None
        if len(self._finished) > self.limit:
            self._forget(next(iter(self._finished)))

    def _repeated(self, record: Record, event: AttemptStarted | GangRestarted) -> None:
        """Tasks that have succeeded may run again."""
        history = self._to_change(event.application)
        if history is not None:
            for container in history.containers.values():
                history.keep_task(container)

    def _applications_forgotten(self, record: Record, event: ApplicationsForgotten) -> None:
        for number in event.applications:
            for container in self.application(number).containers:
                self._finished.pop(container, None)
            self._applications.pop(number, None)
            self._forgotten.append(number)

    def _forget(self, container: ContainerId) -> None:
        del self._finished[container]
        application = application_of(container)
        history = self._to_change(application)
        assert history is not None
        record = history.containers.pop(container)
        task = history.tasks.get((record.group, record.task))
        if task is not None and task.last is record:
            del history.tasks[(record.group, record.task)]
        if not history.containers:
            del self._applications[application]
            self._forgotten.append(application)

    def _to_change(self, application: ApplicationId) -> ApplicationHistory | None:
        """The history of an application, no longer packed; None if nothing is known."""
        history = self._applications.get(application)
        if isinstance(history, PackedHistory):
            history = self._applications[application] = _unpacked(history)
        return history

    def pack(self, application: ApplicationId) -> None:
        """Keep the history of an application that has ended in few bytes."""
        history = self._applications.get(application)
        if (
            type(history) is ApplicationHistory
            and len(history.containers) <= MOST_PACKED
            and all(one.finished_ms is not None for one in history.containers.values())
        ):
            self._applications[application] = _packed(application, history)

    def container(self, container: ContainerId) -> ContainerRecord | None:
        """One container, or None if it never existed, or is forgotten."""
        return self.application(application_of(container)).containers.get(container)

    def application(self, application: ApplicationId) -> ApplicationHistory:
        """The containers and tasks of one application; empty if nothing is known."""
        history = self._applications.get(application)
        if isinstance(history, PackedHistory):
            return history.open()
        return history or _NOTHING

    def on_node(self, node: str, at_ms: int) -> list[ContainerRecord]:
        """The remembered containers that a node had at an instant, in the order of allocation."""
        word = node.encode()  # packed ones without it need not be opened
        return [
            record
            for number, history in self._applications.items()
            if type(history) is not PackedHistory or history.find(word) >= 0
            for record in self.application(number).containers.values()
            if record.node == node
            and record.allocated_ms <= at_ms
            and (record.finished_ms is None or record.finished_ms > at_ms)
        ]

    @property
    def is_complete(self) -> bool:
        """Whether the history still has every container of the known applications."""
        return len(self._finished) < self.limit

    def take_forgotten(self) -> list[ApplicationId]:
        """The applications that were forgotten since the last call."""
        forgotten, self._forgotten = self._forgotten, []
        return forgotten
