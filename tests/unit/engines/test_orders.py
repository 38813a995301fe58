"""Engines that start no process keep to what all engines keep to (`tests/engine_orders.py`)."""

from collections.abc import Callable

import pytest
from tests.engine_orders import CHECKS
from tests.manual_engine import ManualEngine

from fairshare.core.model.inputs import ContainerExited, Input
from fairshare.core.model.work import Command
from fairshare.engines.protocol import Engine, LaunchOrder
from fairshare.engines.simulated import Outcome, SimulatedEngine


class Subject:
    """An engine whose containers end when a test lets them."""

    engine: Engine

    def __init__(self) -> None:
        self.reports: list[Input] = []
        self.engine.start(self.reports.append)

    def order(self, container: int) -> LaunchOrder:
        return LaunchOrder(container, "c", "a", "n1", "ann", 1024, 1, Command())

    def wait(self, condition: Callable[[], bool]) -> None:
        assert condition()


class Manual(Subject):
    def __init__(self) -> None:
        self.engine = self.manual = ManualEngine()
        super().__init__()

    def finish(self, container: int) -> None:
        self.manual.end(container, 3)


class Simulated(Subject):
    """Its own timers: they expire when a test lets them."""

    def __init__(self) -> None:
        self.engine = self.simulated = SimulatedEngine(self, lambda order: Outcome(1_000, 3))
        self.timers: dict[int, Input] = {}
        super().__init__()

    def after(self, delay_ms: int, given: Input) -> int:
        number = len(self.timers) + 1
        self.timers[number] = given
        return number

    def cancel(self, timer: int) -> None:
        del self.timers[timer]

    def finish(self, container: int) -> None:
        for timer, given in list(self.timers.items()):
            if isinstance(given, ContainerExited) and given.container == container:
                del self.timers[timer]
                self.simulated.ended(container)
                self.reports.append(given)


@pytest.mark.parametrize("subject", [Manual, Simulated])
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_an_engine_without_processes_keeps_to_the_contract(check, subject):
    check(subject())
