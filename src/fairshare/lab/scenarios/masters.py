"""The applications' masters as a scenario has them, which beat after every event, and which of an
application's containers are its oldest.

A master registers as soon as it has its container, launches what it was given, and knows how long
its containers run in a `run` step. As in Hadoop a container is as old as its reservation: it was
named when a node was reserved for it, and containers that were granted elsewhere in the meantime
are younger.
"""

from collections.abc import Iterable
from itertools import count
from typing import Final

from fairshare.core.model.applications import Application
from fairshare.core.model.events import (
    AttemptEnded,
    AttemptStarted,
    ContainerAllocated,
    ContainerCompleted,
    ContainerReserved,
    Event,
    NodeRemoved,
    NodeTotalChanged,
    RequestRefused,
    ReservationDropped,
)
from fairshare.core.model.identifiers import ApplicationId, ContainerId
from fairshare.core.model.inputs import LaunchContainer, MasterRegistered
from fairshare.core.model.work import Command
from fairshare.lab.scenarios.cluster import Cluster
from fairshare.lab.scenarios.steps import Ask

_Request = tuple[ApplicationId, int, int]
"""Application, priority and request id."""


class Ages:
    """Hears of all containers; `by_age` puts them in order."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._births = count()
        self._born: dict[ContainerId, int] = {}
        self._reserved: dict[str, tuple[_Request, int]] = {}  # by node
        cluster.listeners.append(self._hear)

    def by_age(self, containers: Iterable[ContainerId]) -> list[ContainerId]:
        """Live containers, the oldest first."""
        return sorted(containers, key=self._born.__getitem__)

    def _hear(self, events: tuple[Event, ...]) -> None:
        for event in events:
            match event:
                case ContainerReserved():
                    ask = (event.application, event.priority, event.request)
                    if event.node not in self._reserved or self._reserved[event.node][0] != ask:
                        self._reserved[event.node] = (ask, next(self._births))
                case ReservationDropped() | NodeRemoved():
                    self._reserved.pop(event.node, None)
                case NodeTotalChanged() if not self._is_reserved(event.node):
                    self._reserved.pop(event.node, None)
                case AttemptEnded():
                    nodes = [
                        node
                        for node, (ask, _) in self._reserved.items()
                        if ask[0] == event.application
                    ]
                    for node in nodes:
                        del self._reserved[node]
                case ContainerAllocated():
                    reserved = self._reserved.pop(event.node, None) if event.reserved else None
                    born = next(self._births) if reserved is None else reserved[1]
                    self._born[event.container] = born
                case ContainerCompleted():
                    del self._born[event.container]
                case _:
                    pass

    def _is_reserved(self, node: str) -> bool:
        """Some schedulers drop the reservation of a node that gets another size."""
        found = self._cluster.state.nodes.get(node)
        return found is not None and found.reservation is not None


Key = tuple[ApplicationId, int, int]
"""Application, priority and request id: what a container was asked for under."""

_NOTHING: Final = Command()


class Masters:
    """All masters. `ends_ms` says when a container has run its time."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._granted: dict[ApplicationId, list[ContainerId]] = {}  # not looked at yet
        self._submitted: dict[ApplicationId, tuple[Ask, ...]] = {}
        self._durations_ms: dict[Key, int] = {}
        self.ends_ms: dict[ContainerId, int] = {}
        cluster.listeners.append(self._hear)

    def _hear(self, events: tuple[Event, ...]) -> None:
        for event in events:
            if isinstance(event, ContainerAllocated):
                self._granted.setdefault(event.application, []).append(event.container)
            elif isinstance(event, AttemptStarted):
                self._granted[event.application] = []
            elif isinstance(event, ContainerCompleted):
                self.ends_ms.pop(event.container, None)

    def submitted(self, application: ApplicationId, asks: tuple[Ask, ...]) -> None:
        """Remember what an application asks for whenever its master starts."""
        self._submitted[application] = asks
        self.asked(application, asks)

    def asked(self, application: ApplicationId, asks: Iterable[Ask]) -> None:
        """Remember how long the containers of these asks run; the last word on a key counts."""
        for ask in asks:
            if ask.duration_ms is not None:
                self._durations_ms[application, ask.priority, ask.request] = ask.duration_ms

    def beat(self) -> list[tuple[ApplicationId, str]]:
        """One heartbeat of every master that has something to do, in the order of submission.

        The answer names the asks that were refused when they became live: application and reason.
        """
        refused: list[tuple[ApplicationId, str]] = []
        for number in sorted(self._granted):
            application = self._cluster.state.applications[number]
            if (
                application.attempt.active
                and not application.attempt.registered
                # It can register once it has its container, or comes back after a restart.
                and (application.attempt.master is not None or application.attempt.comes_back)
            ):
                self.asked(number, self._submitted.get(number, ()))
                refused += refusals(self._cluster.feed(MasterRegistered(number)))
            if application.attempt.registered:
                for container in self._granted[number]:
                    self._launch(application, container)
        self._granted.clear()
        return refused

    def _launch(self, application: Application, container: ContainerId) -> None:
        record = application.containers.get(container)
        if record is None or container == application.attempt.master:
            return
        if container not in application.attempt.launched:
            self._cluster.call(LaunchContainer(application.id, container, _NOTHING))
        key = (application.id, record.priority, record.request)
        if key in self._durations_ms:
            self.ends_ms[container] = self._cluster.now_ms + self._durations_ms[key]


def refusals(events: Iterable[Event]) -> list[tuple[ApplicationId, str]]:
    """The refused requests among events: application and reason."""
    return [
        (event.application, event.reason) for event in events if isinstance(event, RequestRefused)
    ]
