"""What every engine keeps to, as the runtime sees it: orders, reports, and what is running.

`CHECKS` need an engine in this process (`tests/engine_contract.py` sees engines through a server).
`tests/unit/engines/test_orders.py` runs them for the simulated engine and the one of tests,
`tests/e2e/local_engine/test_orders.py` for the local one.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from fairshare.core.model.identifiers import container_id
from fairshare.core.model.inputs import ContainerExited, ContainerStarted, Input
from fairshare.engines.protocol import Engine, LaunchOrder

FIRST, SECOND, UNKNOWN = (container_id(1, 1, number) for number in (1, 2, 77))


class Subject(Protocol):
    """An engine that has been started."""

    @property
    def engine(self) -> Engine:
        """The engine."""

    @property
    def reports(self) -> Sequence[Input]:
        """What it has reported."""

    def order(self, container: int) -> LaunchOrder:
        """An order for a container that runs until `finish`."""

    def finish(self, container: int) -> None:
        """Let a container end by itself, with exit code 3."""

    def wait(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition holds."""


def _of(subject: Subject, container: int) -> list[Input]:
    return [one for one in subject.reports if getattr(one, "container", None) == container]


def a_container_is_reported_as_started_and_then_as_exited(subject: Subject) -> None:
    """With its exit code; the same order, given again, changes nothing."""
    for _ in range(2):
        subject.engine.launch(subject.order(FIRST))
    subject.wait(lambda: len(_of(subject, FIRST)) == 1)
    subject.finish(FIRST)
    subject.wait(lambda: len(_of(subject, FIRST)) > 1)
    started, exited = _of(subject, FIRST)
    assert isinstance(started, ContainerStarted)
    assert isinstance(exited, ContainerExited)
    assert exited.exit_code == 3


def running_names_each_container_until_its_end(subject: Subject) -> None:
    """And no others."""
    assert subject.engine.running() == frozenset()
    for container in (FIRST, SECOND):
        subject.engine.launch(subject.order(container))
    subject.wait(lambda: len(subject.reports) == 2)
    assert subject.engine.running() == {FIRST, SECOND}
    subject.finish(FIRST)
    subject.wait(lambda: subject.engine.running() == {SECOND})


def a_stopped_container_runs_no_longer(subject: Subject) -> None:
    """It is not reported as one that ended by itself with 0; a second stop changes nothing."""
    subject.engine.launch(subject.order(FIRST))
    subject.wait(lambda: bool(_of(subject, FIRST)))
    subject.engine.stop(FIRST)
    subject.engine.stop(FIRST)
    subject.wait(lambda: subject.engine.running() == frozenset())
    ends = [one for one in subject.reports if isinstance(one, ContainerExited)]
    assert len(ends) <= 1
    assert all(one.exit_code != 0 for one in ends)


def a_stop_of_an_unknown_container_is_ignored(subject: Subject) -> None:
    """Others go on, and nothing is reported of it."""
    subject.engine.launch(subject.order(FIRST))
    subject.wait(lambda: bool(_of(subject, FIRST)))
    subject.engine.stop(UNKNOWN)
    subject.finish(FIRST)
    subject.wait(lambda: len(_of(subject, FIRST)) == 2)
    assert _of(subject, UNKNOWN) == []


CHECKS: tuple[Callable[[Subject], None], ...] = (
    a_container_is_reported_as_started_and_then_as_exited,
    running_names_each_container_until_its_end,
    a_stopped_container_runs_no_longer,
    a_stop_of_an_unknown_container_is_ignored,
)
