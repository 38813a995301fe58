"""Owns the gangs that are not complete: groups of tasks that start together, and the containers
that each of them holds meanwhile.

A part of the state; decides nothing. A gang is here from its first held container, or its first
pause, until all of its containers are launched or its attempt ends.
"""

from fairshare.core.model.events import ContainerHeld, GangPaused, GangResumed
from fairshare.core.model.identifiers import ApplicationId, ContainerId, application_of
from fairshare.core.model.machines import Machines
from fairshare.core.model.operations import Handlers
from fairshare.core.model.resources import ResourceTypes

GangId = tuple[ApplicationId, int]
"""An application, and the number of one of its groups."""


class Gang:
    """A gang that is not complete. `due_ms` is when it gives its containers back, or, while it is
    `paused`, when it asks again; None: it holds none yet. `pauses` counts how often it gave up;
    `most` is how many of its containers the empty cluster has room for, if these are too few."""

    __slots__ = ("due_ms", "held", "most", "paused", "pauses")

    def __init__(self) -> None:
        self.held: list[ContainerId] = []
        self.due_ms: int | None = None
        self.paused = False
        self.pauses = 0
        self.most: int | None = None


class Gangs(Machines):
    """The incomplete gangs, the oldest application's first if they are sorted by key."""

    def __init__(self, types: ResourceTypes) -> None:
        super().__init__(types)
        self.gangs: dict[GangId, Gang] = {}

    def event_handlers(self) -> Handlers:
        """Adds the handlers of events about gangs."""
        return {
            **super().event_handlers(),
            ContainerHeld: self._container_held,
            GangPaused: self._gang_paused,
            GangResumed: self._gang_resumed,
        }

    def _container_held(self, now_ms: int, event: ContainerHeld) -> None:
        gang = self.gangs.setdefault((application_of(event.container), event.group), Gang())
        gang.held.append(event.container)
        gang.due_ms = event.due_ms

    def _gang_paused(self, now_ms: int, event: GangPaused) -> None:
        gang = self.gangs.setdefault((event.application, event.group), Gang())
        gang.paused, gang.due_ms, gang.most = True, event.until_ms, event.most
        gang.pauses += 1

    def _gang_resumed(self, now_ms: int, event: GangResumed) -> None:
        gang = self.gangs[event.application, event.group]
        gang.paused, gang.due_ms, gang.most = False, None, None

    def _held_ended(self, container: ContainerId, group: int) -> None:
        """A container has ended; it may be one that was held."""
        gang = self.gangs.get((application_of(container), group))
        if gang is not None and container in gang.held:
            gang.held.remove(container)
            if not gang.held and not gang.paused:
                gang.due_ms = None

    def _held_launched(self, container: ContainerId, group: int) -> None:
        """A container was launched; the last one ends the wait of its gang."""
        key = application_of(container), group
        gang = self.gangs.get(key)
        if gang is not None:
            gang.held.remove(container)
            if not gang.held:
                del self.gangs[key]

    def _forget_gangs(self, application: ApplicationId) -> None:
        """The attempt of an application has ended."""
        for key in [key for key in self.gangs if key[0] == application]:
            del self.gangs[key]
