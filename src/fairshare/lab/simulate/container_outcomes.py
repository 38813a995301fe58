"""Owns the durations and exit codes of simulated containers, from the workload's plans.

Learns the applications' numbers from the records: the manager handles submissions in the order in
which they were added, and each results in an application or a rejection; and where containers
were granted that run longer far from their hosts. Knows no time.
"""

from collections import deque
from collections.abc import Iterable, Sequence

from fairshare.core.model.events import (
    ApplicationEnded,
    ApplicationSubmitted,
    ContainerAllocated,
    Event,
    Locality,
)
from fairshare.core.model.identifiers import ApplicationId, ContainerId, application_of
from fairshare.core.model.inputs import SubmitApplication
from fairshare.core.record import Record
from fairshare.engines.protocol import TaskLaunch
from fairshare.engines.simulated import Outcome
from fairshare.lab.simulate.workload import Arrival

_AT_ONCE = Outcome(0)


class ContainerOutcomes:
    """The plans of the applications that are not forgotten."""

    def __init__(self) -> None:
        self._expected: deque[Arrival] = deque()
        self._arrivals: dict[ApplicationId, Arrival] = {}
        self._localities: dict[ApplicationId, dict[ContainerId, Locality]] = {}
        """Of live applications whose run times depend on it."""

    def expect(self, arrival: Arrival) -> None:
        """Announce the arrival whose submission will be handled next."""
        self._expected.append(arrival)

    def observe(self, record: Record) -> None:
        """Assign a new application's plans to its number."""
        if type(record.input) is SubmitApplication and self._expected:
            self._submitted(self._expected.popleft(), record.events)
        if not self._localities:
            return
        for event in record.events:
            if type(event) is ContainerAllocated and event.application in self._localities:
                self._localities[event.application][event.container] = event.locality
            elif type(event) is ApplicationEnded:
                self._localities.pop(event.application, None)

    def forget(self, applications: Iterable[ApplicationId]) -> None:
        """Drop the plans of applications that are over."""
        for number in applications:
            self._arrivals.pop(number, None)

    def _submitted(self, arrival: Arrival, events: Sequence[Event]) -> None:
        for event in events:
            if type(event) is ApplicationSubmitted:
                self._arrivals[event.application] = arrival
                if any(plan.by_locality for plan in arrival.plans):
                    self._localities[event.application] = {}
                return

    def __call__(self, launch: TaskLaunch) -> Outcome:
        """The outcome of one container, by its task and its attempt; 0 ms without a plan."""
        number = application_of(launch.container)
        arrival = self._arrivals.get(number)
        if arrival is None or not 0 <= launch.group < len(arrival.plans):
            return _AT_ONCE
        plan = arrival.plans[launch.group]
        locality = Locality.NODE_LOCAL
        if self._localities:
            locality = self._localities.get(number, {}).pop(launch.container, locality)
        fails = plan.fails(launch.task, launch.attempt)
        return Outcome(plan.duration_ms(launch.task, locality), 1 if fails else 0)
