"""Owns one short line for each application and node: the fields that a list shows, sorts and
counts.

`Lines` caches them and replaces only changed ones: an update is O(n) in rows, one comparison each.
An unchanged line stays the same object, so that readers can compare by identity. A line excludes
shares and headroom, which change for all when one application moves. Knows nothing of HTTP and
changes nothing.
"""

from typing import TYPE_CHECKING, Any

from fairshare.api.pages import LineFields
from fairshare.model.applications import Application
from fairshare.model.events import ApplicationState
from fairshare.model.identifiers import ApplicationId
from fairshare.model.nodes import Node
from fairshare.model.resources import Resource, total
from fairshare.schedulers.protocol import State
from fairshare.server.views import NodeView, kind_of, node_view, progress_of
from fairshare.server.views import group_view as view_of_group

if TYPE_CHECKING:
    from fairshare.server.service import Service


class ApplicationRow(LineFields[ApplicationId, Resource], frozen=True):
    """One application as a list shows it. `id` is its number."""

    state: ApplicationState


class ListRows:
    """The lines of a running cluster, as of its present version."""

    def __init__(self, service: "Service") -> None:
        self._service = service
        self._applications: dict[ApplicationId, ApplicationRow] = {}
        self._looks: dict[ApplicationId, tuple[Any, ...]] = {}
        self._applications_version = -1
        self._nodes: dict[str, NodeView] = {}
        self._node_looks: dict[str, tuple[Any, ...]] = {}
        self._nodes_version = -1

    def applications(self) -> dict[ApplicationId, ApplicationRow]:
        """All known applications, the oldest first. Callers must not change the result."""
        if self._applications_version != self._service.version:
            self._applications = self._look_at_applications(self._service.state)
            self._applications_version = self._service.version
        return self._applications

    def nodes(self) -> dict[str, NodeView]:
        """All nodes in the order of registration. Callers must not change the result."""
        if self._nodes_version != self._service.version:
            self._nodes = self._look_at_nodes(self._service.state)
            self._nodes_version = self._service.version
        return self._nodes

    def _look_at_applications(self, state: State) -> dict[ApplicationId, ApplicationRow]:
        known, looks = self._applications, self._looks
        found: dict[ApplicationId, ApplicationRow] = {}
        for number, application in state.applications.items():
            line = known.get(number)
            if line is None or line.finished_ms is None or line.containers:
                look = _look(application)
                if line is None or looks.get(number) != look:
                    line = application_row(application, len(state.none))
                    looks[number] = look
            found[number] = line
        if len(looks) > len(found):
            self._looks = {number: look for number, look in looks.items() if number in found}
        return found

    def _look_at_nodes(self, state: State) -> dict[str, NodeView]:
        known, looks = self._nodes, self._node_looks
        drains = state.drains
        found: dict[str, NodeView] = {}
        for name, node in state.nodes.items():
            line = known.get(name)
            look = _look_at_node(node, drains.get(name), state.label_of(node))
            if line is None or looks.get(name) != look:
                line = node_view(state, node)
                looks[name] = look
            found[name] = line
        if len(looks) > len(found):
            self._node_looks = {name: look for name, look in looks.items() if name in found}
        return found


def _look(one: Application) -> tuple[Any, ...]:
    """The values from which a line is made, as far as they can change: equal values have equal
    lines.

    A task begins with a launch, and ends with a container.
    """
    return (
        one.state,
        one.queue,
        one.priority,
        one.attempt,
        one.attempt.runnable,
        one.attempt.started_ms,
        one.finished_ms,
        one.containers_allocated,
        len(one.containers),
        len(one.attempt.launched),
        one.attempt.asks.pending,
        one.preempted,
        tuple(one.attempt.reservations),
        len(one.tasks.groups),
    )


def _look_at_node(node: Node, drain: object, label: str) -> tuple[Any, ...]:
    return (node.total, node.available, len(node.containers), node.reservation, drain, label)


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
        finished_ms=application.finished_ms,
        containers=len(application.containers),
        used=application.used,
        reserved=total((r.resource for r in application.attempt.reservations.values()), types),
        pending=application.attempt.asks.pending,
        preempted=application.preempted,
        progress=progress_of(groups),
    )
