"""Owns the resource manager of one scenario, its clock, and who hears of its events.

Nothing happens here by itself: the runner of the scenario feeds inputs and moves the clock.
"""

from collections.abc import Callable
from typing import Final

from fairshare.errors import ConfigurationError, InputError
from fairshare.families.family import AnyFamily
from fairshare.manager.resource_manager import ResourceManager
from fairshare.model.events import ApplicationRejected, Event, RequestRefused
from fairshare.model.inputs import Input, LoadConfiguration
from fairshare.scenarios.configuration import LoadedSettings
from fairshare.schedulers.protocol import Scheduler, State

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
