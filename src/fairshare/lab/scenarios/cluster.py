"""Owns the resource manager of one scenario, its clock, who hears of its events, and the names of
its applications.

Nothing happens here by itself: the runner of the scenario feeds inputs and moves the clock.
"""

from collections.abc import Callable
from typing import Final

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.applications import Application
from fairshare.core.model.events import ApplicationRejected, ApplicationState, Event, RequestRefused
from fairshare.core.model.identifiers import ApplicationId
from fairshare.core.model.inputs import Input, LoadConfiguration
from fairshare.core.schedulers.protocol import Scheduler, State
from fairshare.errors import ConfigurationError, InputError
from fairshare.lab.scenarios.configuration import LoadedSettings
from fairshare.settings.family import AnyFamily


class Applications:
    """Applications by the names that the file gives them, in the order of their submission.

    `withdrawn` are those that their client ended before their master ran: they count as finished.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self.names: dict[ApplicationId, str] = {}
        self.withdrawn: set[ApplicationId] = set()
        self._numbers: dict[str, ApplicationId] = {}

    def add(self, name: str, number: ApplicationId) -> None:
        """Remember a submission, refused ones too."""
        self.names[number] = name
        self._numbers[name] = number

    def __contains__(self, name: str) -> bool:
        return name in self._numbers

    def number(self, name: str) -> ApplicationId:
        """The number of an application; raises InputError for one that was never submitted."""
        if name not in self._numbers:
            raise InputError("unknown-application", f"no application {name}")
        return self._numbers[name]

    def get(self, name: str) -> Application:
        """An application; raises InputError for one that was never submitted."""
        return self._state.applications[self.number(name)]

    def state_of(self, application: Application) -> ApplicationState:
        """The state as a scenario names it.

        An application that is not over is RUNNING when no limit holds it back and it has its
        master's container, or needs none; otherwise it is PENDING.
        """
        if application.over:
            if application.id in self.withdrawn:
                return ApplicationState.FINISHED
            return application.state
        has_master = not application.managed or application.attempt.master is not None
        if application.attempt.runnable and has_master:
            return ApplicationState.RUNNING
        return ApplicationState.PENDING


EPOCH_MS: Final = 1_000_000_000_000
"""The instant of a scenario's start. Not 0, which a real clock never shows either."""


class Cluster:
    """One resource manager. `now_ms` is its clock; `elapsed_ms` counts from the start."""

    def __init__(self, family: AnyFamily, loaded: LoadedSettings) -> None:
        self.now_ms = EPOCH_MS
        self.listeners: list[Callable[[tuple[Event, ...]], None]] = []
        self.manager = ResourceManager(family.create(loaded.types))
        try:
            self.call(LoadConfiguration(loaded.encoded, EPOCH_MS))
        except InputError as refusal:  # what is wrong with the settings as a whole
            raise ConfigurationError([str(refusal)]) from refusal

    @property
    def state(self) -> State:
        """Everything that the manager knows."""
        return self.manager.scheduler.state

    @property
    def scheduler(self) -> Scheduler:
        """The scheduler under test."""
        return self.manager.scheduler

    @property
    def elapsed_ms(self) -> int:
        """How long the scenario has been running, in its own time."""
        return self.now_ms - EPOCH_MS

    def feed(self, given: Input) -> tuple[Event, ...]:
        """Tell the manager something; a refusal is among the events."""
        events = self.manager.handle(self.now_ms, given)
        for listener in self.listeners:
            listener(events)
        return events

    def call(self, given: Input) -> tuple[Event, ...]:
        """As `feed`; raises InputError if it was refused."""
        events = self.feed(given)
        for event in events:
            if isinstance(event, RequestRefused | ApplicationRejected):
                raise InputError(event.code, event.reason)
        return events
