"""The views of the running cluster: frozen, computed on demand, of one instant (but for
`queues_in_steps`).

`Views` belongs to one version of the state; expensive views are computed once per version, on
demand. A reader takes those of the present version and does not keep them across an `await`.
"""

from collections import Counter
from collections.abc import Hashable, Iterator
from functools import cache, cached_property, lru_cache
from typing import TypeVar

import msgspec

from fairshare.api.applications import Container, GroupProgress, Progress, Task
from fairshare.api.nodes import Node as NodeRow
from fairshare.api.values import Amounts
from fairshare.core.model.applications import Application
from fairshare.core.model.events import ApplicationState
from fairshare.core.model.identifiers import ApplicationId, application_name, container_name
from fairshare.core.model.nodes import MANY_FAILURES, Node
from fairshare.core.model.resources import Resource, ResourceTypes, subtract
from fairshare.core.model.tasks import GroupProgress as TaskGroupProgress
from fairshare.core.schedulers.protocol import Scheduler, State, Steps
from fairshare.core.schedulers.views import ApplicationView, QueueView
from fairshare.runtime.projections.container_history import ContainerHistory, ContainerRecord

Form = TypeVar("Form", bound=msgspec.Struct)


class ClusterView(msgspec.Struct, frozen=True):
    """The cluster as a whole; `applications` counts those that are known, by state."""

    total: Resource
    used: Resource
    available: Resource
    pending: Resource
    nodes: int
    containers: int
    applications: dict[str, int]
    safe_mode: bool = False


MAX_WRITTEN = 16
"""Answers that are kept as bytes, of one version."""


class Views:
    """The views of one version."""

    def __init__(self, scheduler: Scheduler, history: ContainerHistory, version: int) -> None:
        self.version = version
        self._scheduler = scheduler
        self._state = scheduler.state
        self._history = history
        self._written: dict[Hashable, bytes] = {}

    def kept(self, key: Hashable) -> bytes | None:
        """An answer as it was sent to an earlier caller; `key` says all that it depends on beside
        the version."""
        return self._written.get(key)

    def keep(self, key: Hashable, content: bytes) -> None:
        """Cache an answer for the next request, if there is room."""
        if len(self._written) < MAX_WRITTEN:
            self._written[key] = content

    @cached_property
    def cluster(self) -> ClusterView:
        """The cluster as a whole."""
        state = self._state
        counts = Counter(a.shown_state.value for a in state.applications.values())
        pending = self.queues[0].pending if self.queues else state.none
        return ClusterView(
            total=state.total,
            used=state.used,
            available=subtract(state.total, state.used),
            pending=pending,
            nodes=len(state.nodes),
            containers=sum(len(node.containers) for node in state.nodes.values()),
            applications={each.value: counts[each.value] for each in ApplicationState},
            safe_mode=state.safe_mode,
        )

    @cached_property
    def queues(self) -> tuple[QueueView, ...]:
        """All queues, root first."""
        return tuple(self._scheduler.queue_views())

    def queues_in_steps(self) -> Steps[tuple[QueueView, ...]]:
        """The same with a pause after each queue, where there may be thousands of them. Queues are
        shown as they are when their turn comes, as in Hadoop, which locks one queue at a time."""
        if "queues" not in vars(self):
            self.queues = tuple((yield from self._scheduler.queue_views_in_steps()))
        return self.queues

    @cached_property
    def nodes(self) -> tuple[NodeRow, ...]:
        """All nodes in the order of registration."""
        state = self._state
        return tuple(node_row(state, node) for node in state.nodes.values())

    def applications(self) -> Iterator[Application]:
        """All applications that are known, the newest first."""
        known = self._state.applications
        return (known[number] for number in reversed(known))

    def application(self, number: ApplicationId) -> ApplicationView:
        """One application; raises KeyError."""
        return self._scheduler.application_view(number)

    def groups(self, application: Application) -> tuple[GroupProgress, ...]:
        """The groups of tasks of one application in the order of their submission."""
        return tuple(group_view(progress) for progress in application.tasks.groups)

    def tasks(
        self, application: Application, offset: int = 0, limit: int | None = None
    ) -> Iterator[Task]:
        """The tasks of one application, by group and index: `limit` of them from `offset` on."""
        history = self._history.application(application.id)
        for number, progress in enumerate(application.tasks.groups):
            count = progress.spec.count
            first, offset = min(offset, count), max(0, offset - count)
            last_index = count if limit is None else min(count, first + limit)
            limit = None if limit is None else limit - (last_index - first)
            for index in range(first, last_index):
                record = history.tasks.get((number, index))
                container = progress.results.get(index) or progress.running.get(index)
                last = record.last if record else history.containers.get(container or 0)
                if container is None and last is not None:
                    container = last.container
                yield Task(
                    group=progress.spec.name,
                    index=progress.spec.index_of(index),
                    state=progress.state(index),
                    attempts=record.attempts if record else int(container is not None),
                    container=(
                        None
                        if container is None
                        else container_name(self._state.epoch_ms, container)
                    ),
                    exit_code=last.exit_code if last else None,
                    diagnostics=last.diagnostics if last else "",
                    outcome=last.outcome if last else "",
                )

    def containers(self, application: Application) -> Iterator[Container]:
        """The containers of one application in the order of their allocation, ended ones too."""
        for record in list(self._history.application(application.id).containers.values()):
            yield self._container(application, record)

    def live_containers(self, application: Application) -> Iterator[Container]:
        """Those that have not ended."""
        for container in list(application.containers):
            record = self._history.container(container)
            if record is not None:
                yield self._container(application, record)

    def _container(self, application: Application, record: ContainerRecord) -> Container:
        spec = application.tasks.groups[record.group].spec if record.group >= 0 else None
        return Container(
            id=container_name(self._state.epoch_ms, record.container),
            node=record.node,
            resources=self._state.types.mapping(record.resource),
            state=record.state,
            group=spec.name if spec is not None else None,
            task=spec.index_of(record.task) if spec is not None else None,
            exit_code=record.exit_code,
            diagnostics=record.diagnostics,
            peak_memory_mb=record.peak_memory_mb,
            cpu_ms=record.cpu_ms,
            allocated_ms=record.allocated_ms,
            finished_ms=record.finished_ms,
            master=record.master,
            gpus=record.gpus,
            outcome=record.outcome,
        )


def node_row(state: State, node: Node) -> NodeRow:
    """One node in its present state, without what is measured of its GPUs."""
    reserved = node.reservation if node.reservation and node.reservation.kept != () else None
    drain = state.drains.get(node.name)
    return NodeRow(
        name=node.name,
        rack=node.rack,
        total=amounts_of(state.types, node.total),
        used=amounts_of(state.types, node.used),
        available=amounts_of(state.types, node.available),
        containers=len(node.containers),
        reserved_for=application_name(state.epoch_ms, reserved.application) if reserved else None,
        attributes=node.attributes,
        label=state.label_of(node),
        state=state_of(state, node),
        health_report=health_report_of(state, node.name),
        leaves_ms=None if drain is None else drain.deadline_ms,
        host=node.host,
    )


def health_report_of(state: State, node: str) -> str:
    """Why a node could not start containers lately; empty if it is not known to have failed."""
    known = state.failing.get(node)
    return "" if known is None else known.reason


def is_unhealthy(state: State, node: str) -> bool:
    """Whether a node could not start containers several times in a row."""
    known = state.failing.get(node)
    return known is not None and known.failures >= MANY_FAILURES


def state_of(state: State, node: Node) -> str:
    """The state of a node, in one word."""
    drain = state.drains.get(node.name)
    if drain is None:
        return "UNHEALTHY" if is_unhealthy(state, node.name) else "RUNNING"
    if drain.deadline_ms is not None:
        return "DECOMMISSIONING"
    return "DRAINING" if node.occupants else "DRAINED"


def group_view(progress: TaskGroupProgress) -> GroupProgress:
    """The numbers of tasks by state of one group."""
    failed = len(progress.lost_tasks) if progress.restarts_together else progress.lost
    succeeded, running = progress.succeeded, len(progress.running)
    return GroupProgress(
        name=progress.spec.name,
        count=progress.spec.count,
        succeeded=succeeded,
        running=running,
        waiting=progress.spec.count - succeeded - running - failed,
        failed=failed,
        time_limit_ms=progress.spec.time_limit_ms,
    )


def progress_of(groups: tuple[GroupProgress, ...]) -> Progress:
    """The sum over all groups of an application."""
    return _progress(
        sum(group.count for group in groups),
        sum(group.succeeded for group in groups),
        sum(group.running for group in groups),
        sum(group.waiting for group in groups),
        sum(group.failed for group in groups),
    )


@lru_cache(4096)
def _progress(total: int, succeeded: int, running: int, waiting: int, failed: int) -> Progress:
    """Shared by all rows that have the same."""
    return Progress(
        total=total, succeeded=succeeded, running=running, waiting=waiting, failed=failed
    )


def kind_of(application: Application) -> str:
    """`tasks`, `driver` or `unmanaged`: the kind of its master."""
    if application.submission.tasks:
        return "tasks"
    return "driver" if application.submission.driver is not None else "unmanaged"


def filled(form: type[Form], view: msgspec.Struct, types: ResourceTypes, **more: object) -> Form:
    """An answer with the fields of a view, named amounts in place of vectors, and `more` fields,
    which take precedence. A field of the view that the answer lacks raises TypeError."""
    fields = msgspec.structs.asdict(view)
    for name in vectors_of(type(view)):
        if fields[name] is not None and name not in more:
            fields[name] = amounts_of(types, fields[name])
    fields.update(more)
    return form(**fields)


@lru_cache(4096)
def amounts_of(types: ResourceTypes, resource: Resource) -> Amounts:
    """The named amounts of a vector, shared by all rows that have the same: they must not be
    changed."""
    return types.mapping(resource)


@cache
def vectors_of(view: type[msgspec.Struct]) -> tuple[str, ...]:
    """The names of the fields of a structure that hold vectors."""
    return tuple(
        field.name
        for field in msgspec.structs.fields(view)
        if field.type in (Resource, Resource | None)
    )
