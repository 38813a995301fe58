"""Owns the applications' masters as a scenario has them: they beat after every event.

A master registers as soon as it has its container, launches what it was given, and knows how long
its containers run in a `run` step. Decides nothing about containers.
"""

from collections.abc import Iterable
from typing import Final

from fairshare.model.applications import Application
from fairshare.model.events import (
    AttemptStarted,
    ContainerAllocated,
    ContainerCompleted,
    Event,
    RequestRefused,
)
from fairshare.model.identifiers import ApplicationId, ContainerId
from fairshare.model.inputs import LaunchContainer, MasterRegistered
from fairshare.model.work import Command
from fairshare.scenarios.cluster import Cluster
from fairshare.scenarios.steps import Ask

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
                and _has_started(application)
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


def _has_started(application: Application) -> bool:
    """Whether the master can register: it has its container, or it comes back after a restart."""
    return application.attempt.master is not None or application.attempt.comes_back


def refusals(events: Iterable[Event]) -> list[tuple[ApplicationId, str]]:
    """The refused requests among events: application and reason."""
    return [
        (event.application, event.reason) for event in events if isinstance(event, RequestRefused)
    ]
