"""What one step of a scenario has done, whichever runner ran it: the events of a record, in the
record's order and words.

One look covers one node update or pass, with the masters' heartbeats after it. Its order:
reservations given up, allocations, completions, reservations made, containers chosen for
preemption, states of applications.
"""

from typing import Any, Protocol

import msgspec

from fairshare.core.model.events import (
    ApplicationState,
    ContainerAllocated,
    ContainerCompleted,
    ContainerMarked,
    ContainerSpared,
    Event,
    ExitCode,
)
from fairshare.core.model.identifiers import ApplicationId, ContainerId, application_of, number_of
from fairshare.core.model.nodes import Reservation
from fairshare.lab.scenarios.cluster import Applications, Cluster
from fairshare.lab.scenarios.description import Description, describe_container
from fairshare.lab.scenarios.steps import Step

RecordedEvent = dict[str, Any]


class Recorder:
    """Hears the manager's events; `look` turns them into the record's, `take` hands them over."""

    def __init__(self, cluster: Cluster, applications: Applications) -> None:
        self._cluster = cluster
        self._applications = applications
        self._heard: list[Event] = []
        self._recorded: list[RecordedEvent] = []
        self._reservations: dict[str, Reservation] = {}
        self._containers: dict[ContainerId, RecordedEvent] = {}  # that live, as they were described
        self._marked: set[ContainerId] = set()
        self._states: dict[ApplicationId, str] = {}
        cluster.listeners.append(self._heard.extend)

    def refused(self, application: ApplicationId, reason: str) -> None:
        """Record asks that were refused when they became live."""
        name = self._applications.names.get(application)
        self._recorded.append({"event": "error", "app": name, "message": reason})

    def look(self) -> None:
        """Record what happened since the last look."""
        if not self._heard:
            return
        fulfilled = {
            event.node
            for event in self._heard
            if isinstance(event, ContainerAllocated) and event.reserved
        }
        before = self._reservations
        nodes = self._cluster.state.nodes.values()
        self._reservations = {
            node.name: node.reservation for node in nodes if node.reservation is not None
        }
        for node, reservation in before.items():
            if node not in fulfilled and self._reservations.get(node) is not reservation:
                self._recorded.append(self._reservation("unreserved", reservation))
        self._record_allocations()
        self._record_completions()
        for node, reservation in self._reservations.items():
            if before.get(node) is not reservation:
                self._recorded.append(self._reservation("reserved", reservation))
        self._record_applications()
        self._heard.clear()

    def take(self) -> list[RecordedEvent]:
        """The events recorded since the last call."""
        taken, self._recorded = self._recorded, []
        return taken

    def _reservation(self, word: str, reservation: Reservation) -> RecordedEvent:
        return {
            "event": word,
            "app": self._applications.names.get(reservation.application),
            "node": reservation.node,
            "resource": self._cluster.state.types.mapping(reservation.resource),
            "priority": reservation.priority,
        }

    def _record_allocations(self) -> None:
        state = self._cluster.state
        for event in self._heard:
            if not isinstance(event, ContainerAllocated):
                continue
            application = state.applications[event.application]
            described = describe_container(state.types, event, application)
            described["app"] = self._applications.names.get(event.application)
            self._containers[event.container] = described
            recorded = {**described, "event": "allocated"}
            if event.reserved:
                recorded["reserved"] = True
            self._recorded.append(recorded)

    def _record_completions(self) -> None:
        """Preempted containers by their numbers (which comes first is chance in Hadoop)."""
        completed = [event for event in self._heard if isinstance(event, ContainerCompleted)]
        preempted = iter(
            sorted(
                (event for event in completed if event.exit_code == ExitCode.PREEMPTED),
                key=lambda event: event.container,
            )
        )
        for event in completed:
            if event.exit_code == ExitCode.PREEMPTED:
                event = next(preempted)
            self._marked.discard(event.container)
            described = self._containers.pop(event.container)
            described.pop("am", None)
            described |= {"event": "completed", "exit": event.exit_code, "why": event.diagnostics}
            self._recorded.append(described)

    def _record_applications(self) -> None:
        """Each application's containers that were chosen and still live, then its new state."""
        chosen = {
            event.container
            for event in self._heard
            if isinstance(event, ContainerMarked) and event.container in self._containers
        }
        for event in self._heard:
            if isinstance(event, ContainerSpared):
                self._marked.discard(event.container)
        new = sorted(chosen - self._marked)
        self._marked |= chosen
        for number, name in self._applications.names.items():
            for container in new:
                if application_of(container) == number:
                    marked = {"event": "marked", "app": name, "container": number_of(container)}
                    self._recorded.append(marked)
            application = self._cluster.state.applications[number]
            state = str(self._applications.state_of(application))
            if state != self._states.get(number):
                self._states[number] = state
                recorded: RecordedEvent = {"event": "app", "app": name, "state": state}
                if state == ApplicationState.REJECTED:
                    recorded["why"] = application.diagnostics
                self._recorded.append(recorded)


class Comparison(msgspec.Struct, frozen=True):
    """What the step itself expected, and what was found."""

    where: str
    expected: Any
    found: Any
    same: bool


class Outcome(msgspec.Struct, frozen=True):
    """What one step did. `error` is why it was refused; None if it was not."""

    events: list[RecordedEvent]
    error: str | None
    comparisons: tuple[Comparison, ...] = ()


class ScenarioRunner(Protocol):
    """Runs the steps of one scenario, one after another."""

    @property
    def type_names(self) -> tuple[str, ...]:
        """The names of the resource types that checks may name."""

    def step(self, step: Step) -> Outcome:
        """Run one step; what it was refused for is in the answer."""

    def describe(self, *, why: bool = False) -> Description:
        """The cluster as it is; with `why` also the reason for which each application waits."""
