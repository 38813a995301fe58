"""Owns the last operations of a scheduler: allocations, releases, preemptions, reservations.

Derived from records alone, for monitoring. Decides nothing.
"""

from typing import Self

import msgspec

from fairshare.core.model.applications import Application
from fairshare.core.model.events import (
    ContainerAllocated,
    ContainerCompleted,
    ContainerReserved,
    ExitCode,
)
from fairshare.core.model.identifiers import ApplicationId, ContainerId, application_of
from fairshare.core.model.inputs import NodeBeat
from fairshare.core.model.resources import Resource, ResourceTypes, add
from fairshare.core.record import Record
from fairshare.core.schedulers.protocol import Scheduler
from fairshare.runtime.projections.projection import Projection


class Operation(msgspec.Struct, frozen=True):
    """An operation on a node; `container` is None where it has none."""

    node: str
    container: ContainerId | None
    queue: str


class Run(msgspec.Struct):
    """The result of one node update: counts and amounts."""

    resources: Resource
    count: int = 0

    def more(self, amounts: Resource) -> None:
        """Count one more."""
        self.count += 1
        self.resources = add(self.resources, amounts)


class SchedulerHealth(Projection):
    """The last operation of each kind, and the last node update. None: there was none yet."""

    def __init__(self, types: ResourceTypes) -> None:
        self._none = types.none
        self._live: dict[ContainerId, ContainerAllocated] = {}
        self.last_run_ms = 0
        self.allocation: Operation | None = None
        self.release: Operation | None = None
        self.preemption: Operation | None = None
        self.reservation: Operation | None = None
        self.allocations = Run(self._none)
        self.releases = Run(self._none)
        self.reservations = Run(self._none)

    @classmethod
    def empty(cls, types: ResourceTypes) -> Self:
        """As for any projection."""
        return cls(types)

    def observe(self, record: Record, scheduler: Scheduler) -> None:
        """Apply one record; records come in the order of the journal."""
        applications = scheduler.state.applications
        if isinstance(record.input, NodeBeat):
            self.last_run_ms = record.now_ms
            self.allocations, self.reservations = Run(self._none), Run(self._none)
            self.releases = Run(self._none)
        for event in record.events:
            match event:
                case ContainerAllocated(application=number, container=container):
                    self._live[container] = event
                    queue = _queue(applications, number)
                    self.allocation = Operation(event.node, container, queue)
                    self.allocations.more(event.resource)
                case ContainerReserved(application=number):
                    queue = _queue(applications, number)
                    self.reservation = Operation(event.node, None, queue)
                    self.reservations.more(event.resource)
                case ContainerCompleted(container=container):
                    grant = self._live.pop(container, None)
                    if grant is None:
                        continue
                    queue = _queue(applications, application_of(container))
                    done = Operation(grant.node, container, queue)
                    self.release = done
                    self.releases.more(grant.resource)
                    if event.exit_code == ExitCode.PREEMPTED:
                        self.preemption = done
                case _:
                    pass


def _queue(applications: dict[ApplicationId, Application], number: ApplicationId) -> str:
    found = applications.get(number)
    return "N/A" if found is None else found.queue
