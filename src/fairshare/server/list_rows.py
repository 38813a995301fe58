"""One short line for each application and node: the fields that a list shows, sorts and counts.

A line is made again only when its application or node has changed. It excludes shares and headroom,
which change for all when one application moves.
"""

from typing import TYPE_CHECKING

from fairshare.api.pages import LineFields
from fairshare.core.model.applications import Application
from fairshare.core.model.events import ApplicationState
from fairshare.core.model.identifiers import ApplicationId
from fairshare.core.model.nodes import Node
from fairshare.core.model.resources import Resource, total
from fairshare.core.schedulers.protocol import State
from fairshare.server.row_cache import ComparedRows, Row
from fairshare.server.views import NodeView, kind_of, node_view, progress_of
from fairshare.server.views import group_view as view_of_group

if TYPE_CHECKING:
    from fairshare.server.service import Service


class ApplicationRow(LineFields[ApplicationId, Resource], frozen=True):
    """One application as a list shows it. `id` is its number."""

    state: ApplicationState


class _ApplicationLines(ComparedRows[ApplicationId, Application, ApplicationRow]):
    def __init__(self, state: State) -> None:
        super().__init__()
        self._state = state

    def things(self) -> dict[ApplicationId, Application]:
        return self._state.applications

    def key(self, item: Application) -> ApplicationId:
        return item.id

    def make(self, item: Application) -> ApplicationRow:
        return application_row(item, len(self._state.none))

    def fingerprint(self, item: Application) -> tuple[object, ...]:
        """The values from which a line is made, as far as they can change.

        A task begins with a launch, and ends with a container.
        """
        if item.finished_ms is not None and not item.containers:
            return ()  # it has ended, and stays as it is
        return (
            item.state,
            item.queue,
            item.priority,
            item.attempt.number,
            item.attempt.runnable,
            item.attempt.started_ms,
            item.began_ms,
            item.finished_ms,
            item.containers_allocated,
            len(item.containers),
            len(item.attempt.launched),
            item.attempt.asks.pending,
            item.preempted,
            tuple(item.attempt.reservations),
            len(item.tasks.groups),
        )


class NodeLines(ComparedRows[str, Node, Row]):
    """Whatever is made of a node's view for each node."""

    def __init__(self, state: State) -> None:
        super().__init__()
        self._state = state

    def things(self) -> dict[str, Node]:
        """All nodes."""
        return self._state.nodes

    def key(self, item: Node) -> str:
        """Its name."""
        return item.name

    def fingerprint(self, item: Node) -> tuple[object, ...]:
        """All values that `node_view` reads."""
        return (
            item.available,
            item.total,
            len(item.containers),
            item.occupants,
            item.reservation,
            item.rack,
            item.attributes,
            self._state.drains.get(item.name),
            self._state.failing.get(item.name),
            self._state.label_of(item),
        )


class _NodeViews(NodeLines[NodeView]):
    def make(self, item: Node) -> NodeView:
        return node_view(self._state, item)


class ListRows:
    """The lines of a running cluster, as of its present version."""

    def __init__(self, service: "Service") -> None:
        self._service = service
        self._lines = _ApplicationLines(service.state)
        self._views = _NodeViews(service.state)
        self._applications: tuple[int, dict[ApplicationId, ApplicationRow]] = (-1, {})
        self._nodes: tuple[int, dict[str, NodeView]] = (-1, {})

    def applications(self) -> dict[ApplicationId, ApplicationRow]:
        """All known applications, the oldest first. Callers must not change the result."""
        version = self._service.version
        if self._applications[0] != version:
            self._applications = version, self._lines.all()
        return self._applications[1]

    def nodes(self) -> dict[str, NodeView]:
        """All nodes in the order of registration. Callers must not change the result."""
        version = self._service.version
        if self._nodes[0] != version:
            self._nodes = version, self._views.all()
        return self._nodes[1]


def application_row(application: Application, types: int) -> ApplicationRow:
    """The line of one application."""
    groups = tuple(view_of_group(progress) for progress in application.tasks.groups)
    return ApplicationRow(
        id=application.id,
        name=application.submission.name,
        user=application.user,
        queue=application.queue,
        kind=kind_of(application),
        state=application.shown_state,
        priority=application.priority,
        attempt=application.attempt.number,
        runnable=application.attempt.runnable,
        submitted_ms=application.submitted_ms,
        started_ms=application.attempt.started_ms,
        began_ms=application.began_ms,
        finished_ms=application.finished_ms,
        containers=len(application.containers),
        used=application.used,
        reserved=total((r.resource for r in application.attempt.reservations.values()), types),
        pending=application.attempt.asks.pending,
        preempted=application.preempted,
        progress=progress_of(groups),
    )
