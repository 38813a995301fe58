"""Owns whether anything had to wait for room in a simulation: else settings could not matter.

Follows the records of one run. Decides nothing.
"""

import msgspec

from fairshare.journal.record import Record
from fairshare.model.events import ContainerAllocated, ContainerCompleted
from fairshare.model.identifiers import ApplicationId, ContainerId
from fairshare.model.resources import Resource, add, subtract
from fairshare.schedulers.protocol import State
from fairshare.simulate.comparison import FULL, WAITED_MS


class Competed(msgspec.Struct, frozen=True):
    """The largest part of the cluster that was in use, of the resource of which it was most; and
    the longest time in which an application with requests got no container."""

    used: float
    waited_ms: int

    @property
    def for_room(self) -> bool:
        """Whether anything competed for room."""
        return self.used >= FULL or self.waited_ms > WAITED_MS


class Competition:
    """The competition of one run; `state` is the scheduler's."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._sizes: dict[ContainerId, Resource] = {}
        self._used = state.none
        self._waiting_since: dict[ApplicationId, int] = {}
        self._most = 0.0
        self._waited_ms = 0
        for number, application in state.applications.items():
            for container, granted in application.containers.items():
                self._sizes[container] = granted.resource
                self._used = add(self._used, granted.resource)
            if not application.over and any(application.attempt.asks.pending):
                self._waiting_since[number] = application.submitted_ms

    def observe(self, record: Record) -> None:
        """Take notice of a record."""
        for event in record.events:
            if type(event) is ContainerAllocated:
                self._granted(event, record.now_ms)
            elif type(event) is ContainerCompleted:
                resource = self._sizes.pop(event.container, None)
                if resource is not None:
                    self._used = subtract(self._used, resource)

    def _granted(self, event: ContainerAllocated, now_ms: int) -> None:
        self._sizes[event.container] = event.resource
        self._used = add(self._used, event.resource)
        parts = [
            part / whole for part, whole in zip(self._used, self._state.total, strict=True) if whole
        ]
        self._most = max(self._most, *parts) if parts else self._most
        number = event.application
        application = self._state.applications.get(number)
        if application is None:
            return
        since_ms = self._waiting_since.pop(number, None)
        if since_ms is None and application.containers_allocated <= 1:
            since_ms = application.submitted_ms
        if since_ms is not None:
            self._waited_ms = max(self._waited_ms, now_ms - since_ms)
        if any(application.attempt.asks.pending):
            self._waiting_since[number] = now_ms

    def found(self, now_ms: int) -> Competed:
        """What competed up to an instant."""
        waited_ms = self._waited_ms
        for number, since_ms in self._waiting_since.items():
            application = self._state.applications.get(number)
            if (
                application is not None
                and not application.over
                and any(application.attempt.asks.pending)
            ):
                waited_ms = max(waited_ms, now_ms - since_ms)
        return Competed(round(self._most, 6), waited_ms)
