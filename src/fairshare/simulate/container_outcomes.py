"""Owns the durations and exit codes of simulated containers, from the workload's plans.

Learns the applications' numbers from the records: the manager handles submissions in the order in
which they were added, and each results in an application or a rejection; and where containers
were granted that run longer far from their hosts. Knows no time.
"""

from collections import deque

from fairshare.engines.protocol import LaunchOrder
from fairshare.engines.simulated import Fate
from fairshare.journal.record import Record
from fairshare.model.events import (
    ApplicationEnded,
    ApplicationSubmitted,
    ContainerAllocated,
    Locality,
)
from fairshare.model.identifiers import ApplicationId, ContainerId, application_of
from fairshare.model.inputs import SubmitApplication
from fairshare.simulate.workload import Arrival, GroupPlan


class ContainerOutcomes:
    """The plans of live applications."""

    def __init__(self) -> None:
        self._expected: deque[Arrival] = deque()
        self._arrivals: dict[ApplicationId, Arrival] = {}
        self._localities: dict[ApplicationId, dict[ContainerId, Locality]] = {}
        """Of live applications whose run times depend on it."""

    def expect(self, arrival: Arrival) -> None:
        """Announce the arrival whose submission will be handled next."""
        self._expected.append(arrival)

    def observe(self, record: Record) -> None:
        """Assign a new application's plans to its number, or drop those of an ended one."""
        submitted = type(record.input) is SubmitApplication
        arrival = self._expected.popleft() if submitted and self._expected else None
        for event in record.events:
            if type(event) is ContainerAllocated:
                if event.application in self._localities:
                    self._localities[event.application][event.container] = event.locality
            elif type(event) is ApplicationEnded:
                self._arrivals.pop(event.application, None)
                self._localities.pop(event.application, None)
            elif type(event) is ApplicationSubmitted and arrival is not None:
                self._arrivals[event.application] = arrival
                if any(plan.by_locality for plan in arrival.plans):
                    self._localities[event.application] = {}

    def __call__(self, order: LaunchOrder) -> Fate:
        """The fate of one container, by its task and its attempt; 0 ms without a plan."""
        environment = order.environment
        plan = self._plan(order.container, environment.get("FAIRSHARE_TASK_GROUP", ""))
        if plan is None:
            return Fate(0)
        task = int(environment["FAIRSHARE_TASK_INDEX"])
        attempt = int(environment["FAIRSHARE_TASK_ATTEMPT"])
        granted = self._localities.get(application_of(order.container), {})
        locality = granted.pop(order.container, Locality.NODE_LOCAL)
        return Fate(plan.duration_ms(task, locality), 1 if plan.fails(task, attempt) else 0)

    def _plan(self, container: ContainerId, name: str) -> GroupPlan | None:
        arrival = self._arrivals.get(application_of(container))
        if arrival is not None:
            for group, plan in zip(arrival.submission.tasks, arrival.plans, strict=True):
                if group.name == name:
                    return plan
        return None
