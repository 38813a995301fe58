"""Owns the expiry of containers in which a driver has launched nothing. Releases none itself.

A driver gets containers and launches a command in each. A forgotten container would be unavailable
to other applications for as long as the application lives.
"""

from collections import OrderedDict
from collections.abc import Sequence

from fairshare.model.events import ContainerAllocated, ContainerCompleted, Event, ExitCode
from fairshare.model.identifiers import ContainerId, application_of
from fairshare.model.inputs import ContainerExited
from fairshare.model.tasks import GROUP_REQUESTS
from fairshare.schedulers.protocol import State


class UnusedContainers:
    """Made for a state as it is, and kept in step with it by `note`, which must see all grants
    and ends of containers.

    `expiry_ms` is how long a container may stay unused, None: for ever. Containers of outside
    masters, which run elsewhere, are never launched and never expire; nor do those of task groups,
    which the manager launches (gangs have a timeout of their own).
    """

    def __init__(self, state: State, expiry_ms: int | None) -> None:
        self._state = state
        self.expiry_ms = expiry_ms
        # By container when it was granted, the oldest first; others read it only.
        self.granted: OrderedDict[ContainerId, int] = OrderedDict()
        if expiry_ms is not None:
            records = [
                record
                for application in state.applications.values()
                if application.submission.driver is not None
                for record in application.containers.values()
                if record.request < GROUP_REQUESTS
            ]
            for record in sorted(records, key=lambda one: (one.allocated_ms, one.container)):
                self.granted[record.container] = record.allocated_ms

    def note(self, events: Sequence[Event]) -> None:
        """Take note of containers that were granted to drivers, and of those that ended."""
        if self.expiry_ms is None:
            return
        for event in events:
            if type(event) is ContainerAllocated and event.request < GROUP_REQUESTS:
                application = self._state.applications[event.application]
                if application.submission.driver is not None:
                    self.granted[event.container] = event.allocated_ms
            elif type(event) is ContainerCompleted:
                self.granted.pop(event.container, None)

    def next_ms(self) -> int | None:
        """When the next container must be taken back; None if none has to."""
        granted = self.granted
        while granted:
            container, granted_ms = next(iter(granted.items()))
            if self._unused(container):
                return granted_ms + (self.expiry_ms or 0)
            del granted[container]
        return None

    def take(self, now_ms: int) -> list[ContainerExited]:
        """The ends of those whose time is over."""
        ends: list[ContainerExited] = []
        while (next_ms := self.next_ms()) is not None and next_ms <= now_ms:
            container, _ = self.granted.popitem(last=False)
            words = f"Container expired: nothing was launched in it for {self.expiry_ms} ms."
            ends.append(ContainerExited(container, ExitCode.ABORTED, words))
        return ends

    def _unused(self, container: ContainerId) -> bool:
        application = self._state.applications.get(application_of(container))
        if application is None or container not in application.containers:
            return False
        return (
            container not in application.attempt.launched and container not in self._state.running
        )
