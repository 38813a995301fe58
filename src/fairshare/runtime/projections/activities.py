"""The activities of the scheduler on nodes and for applications that clients requested.

Derived from the records of node updates. Requests and their results are kept for a while; without
requests nothing is kept.
"""

import msgspec

from fairshare.core.model.applications import Application
from fairshare.core.model.events import ApplicationsForgotten, ContainerAllocated, ContainerReserved
from fairshare.core.model.identifiers import ApplicationId
from fairshare.core.model.inputs import NodeBeat
from fairshare.core.model.resources import Resource
from fairshare.core.record import Record
from fairshare.core.schedulers.protocol import Scheduler
from fairshare.runtime.observers import Observers
from fairshare.runtime.projections.projection import Projection

KEPT_MS = 600_000
ANY_NODE = ""
MAX_KEPT = 1_000


class Activity(msgspec.Struct, frozen=True):
    """One grant (or, with `reserved`, one reservation) of a node update."""

    node: str
    instant_ms: int
    application: ApplicationId
    queue: str
    application_priority: int
    priority: int
    request: int
    resource: Resource
    reserved: bool
    from_reservation: bool


class Update(msgspec.Struct, frozen=True):
    """The result of one node update; `activities` is empty if nothing was granted."""

    node: str
    instant_ms: int
    activities: tuple[Activity, ...]


class Activities(Projection):
    """The node updates, and the grants to applications, that clients requested."""

    def __init__(self) -> None:
        self._wanted_nodes: dict[str, int] = {}  # until when
        self._wanted_applications: dict[ApplicationId, int] = {}
        self._nodes: dict[str, Update] = {}
        self._last: Update | None = None
        self._applications: dict[ApplicationId, list[Activity]] = {}

    def watch_node(self, node: str, now_ms: int) -> None:
        """Record the next update of a node; of any node for `ANY_NODE`."""
        self._wanted_nodes[node] = now_ms + KEPT_MS

    def watch_application(self, application: ApplicationId, until_ms: int) -> None:
        """Record the grants to an application until an instant."""
        self._wanted_applications[application] = until_ms

    def of_node(self, node: str, now_ms: int) -> Update | None:
        """The last recorded update of a node, or of any node."""
        found = self._last if node == ANY_NODE else self._nodes.get(node)
        return found if found is not None and found.instant_ms + KEPT_MS >= now_ms else None

    def of_application(self, application: ApplicationId, now_ms: int) -> list[Activity]:
        """The recorded grants to an application, the newest first."""
        found = self._applications.get(application, [])
        return [one for one in reversed(found) if one.instant_ms + KEPT_MS >= now_ms]

    def subscribe(self, observers: Observers, scheduler: Scheduler) -> None:
        applications = scheduler.state.applications
        observers.after(lambda record: self._beat(record, applications), NodeBeat)
        observers.events(self._forget, ApplicationsForgotten)

    def _beat(self, record: Record, applications: dict[ApplicationId, Application]) -> None:
        if not self._wanted_nodes and not self._wanted_applications:
            return
        assert isinstance(record.input, NodeBeat)
        node, now_ms = record.input.node, record.now_ms
        done = tuple(
            _activity(event, applications[event.application], now_ms)
            for event in record.events
            if isinstance(event, ContainerAllocated | ContainerReserved)
            and event.application in applications
        )
        update = Update(node, now_ms, done)
        if self._wanted_nodes.pop(node, 0) >= now_ms:
            self._nodes[node] = update
        if ANY_NODE in self._wanted_nodes and done:
            del self._wanted_nodes[ANY_NODE]
            self._last = self._nodes[node] = update
        for one in done:
            if self._wanted_applications.get(one.application, 0) >= now_ms:
                kept = self._applications.setdefault(one.application, [])
                kept.append(one)
                del kept[:-MAX_KEPT]

    def _forget(self, record: Record, event: ApplicationsForgotten) -> None:
        for number in event.applications:
            self._wanted_applications.pop(number, None)
            self._applications.pop(number, None)


def _activity(
    event: ContainerAllocated | ContainerReserved, application: Application, now_ms: int
) -> Activity:
    return Activity(
        node=event.node,
        instant_ms=now_ms,
        application=event.application,
        queue=application.queue,
        application_priority=application.priority,
        priority=event.priority,
        request=event.request,
        resource=event.resource,
        reserved=isinstance(event, ContainerReserved),
        from_reservation=isinstance(event, ContainerAllocated) and event.reserved,
    )
