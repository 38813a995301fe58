"""The engine that runs nothing."""

import pytest

from fairshare.core.model.inputs import ContainerExited, ContainerStarted
from fairshare.core.model.work import Command
from fairshare.engines.protocol import LaunchOrder, NodeOffer
from fairshare.engines.simulated import TIME_LIMIT_EXIT, Outcome, SimulatedEngine


class Timers:
    def __init__(self):
        self.entries = {}

    def after(self, delay_ms, given):
        number = len(self.entries) + 1
        self.entries[number] = (delay_ms, given)
        return number

    def cancel(self, timer):
        del self.entries[timer]


@pytest.fixture
def timers():
    return Timers()


def order(container=1, time_limit_ms=None):
    return LaunchOrder(
        container, "c", "a", "n1", "ann", 1024, 1, Command(), time_limit_ms=time_limit_ms
    )


def engine(timers, outcome, **options):
    made = SimulatedEngine(timers, lambda order: outcome, **options)
    reported = []
    made.start(reported.append)
    return made, reported


def test_a_container_starts_at_once_and_exits_when_its_time_is_over(timers):
    one, reported = engine(timers, Outcome(700, 3))
    one.launch(order())
    assert reported == [ContainerStarted(1)]
    assert list(timers.entries.values()) == [(700, ContainerExited(1, 3))]
    assert one.running() == {1}
    one.ended(1)
    assert one.running() == frozenset()


def test_the_same_order_twice_is_done_once(timers):
    one, reported = engine(timers, Outcome(700))
    one.launch(order())
    one.launch(order())
    assert len(reported) == len(timers.entries) == 1


def test_a_start_may_take_its_time(timers):
    one, reported = engine(timers, Outcome(700), start_delay_ms=50)
    one.launch(order())
    assert reported == []
    assert list(timers.entries.values()) == [
        (50, ContainerStarted(1)),
        (750, ContainerExited(1, 0)),
    ]


def test_a_container_that_is_stopped_does_not_exit(timers):
    one, _ = engine(timers, Outcome(700))
    one.launch(order())
    one.stop(1)
    one.stop(1)
    one.stop(99)
    assert timers.entries == {}
    assert one.running() == frozenset()


def test_a_container_is_ended_at_its_time_limit(timers):
    one, _ = engine(timers, Outcome(700))
    one.launch(order(time_limit_ms=500))
    one.launch(order(2, time_limit_ms=700))
    (delay_ms, limited), (_, in_time) = timers.entries.values()
    assert (delay_ms, limited.exit_code) == (500, TIME_LIMIT_EXIT)
    assert "time limit of 500 ms" in limited.diagnostics
    assert in_time == ContainerExited(2, 0)


def test_closing_stops_containers_only_when_asked(timers):
    one, _ = engine(timers, Outcome(700), offers=(NodeOffer("n1", "/r", {}, {}),))
    one.launch(order())
    one.close(stop_containers=False)
    assert one.running() == {1}
    assert [offer.node for offer in one.nodes()] == ["n1"]
    one.close(stop_containers=True)
    assert one.running() == frozenset()
    with pytest.raises(RuntimeError, match="closed"):
        one.launch(order(2))
