"""Owns what one step of a scenario has done, whichever runner ran it."""

from typing import Any, Protocol

import msgspec

from fairshare.scenarios.description import Description
from fairshare.scenarios.recorder import RecordedEvent
from fairshare.scenarios.steps import Step


class Comparison(msgspec.Struct, frozen=True):
    """What the step itself expected, and what was found."""

    where: str
    expected: Any
    found: Any
    same: bool


class Outcome(msgspec.Struct, frozen=True):
    """What one step did. `error` is why it was refused; None if it was not."""

    events: list[RecordedEvent]
    error: str | None
    comparisons: tuple[Comparison, ...] = ()


class ScenarioRunner(Protocol):
    """Runs the steps of one scenario, one after another."""

    @property
    def type_names(self) -> tuple[str, ...]:
        """The names of the resource types that checks may name."""

    def step(self, step: Step) -> Outcome:
        """Run one step; what it was refused for is in the answer."""

    def describe(self, *, why: bool = False) -> Description:
        """The cluster as it is; with `why` also the reason for which each application waits."""
