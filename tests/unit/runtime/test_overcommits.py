"""Nodes that become smaller than what runs there, and how long that may last."""

import pytest

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import ContainerCompleted, ExitCode
from fairshare.core.model.inputs import DrainNode, NodeLost, NodeResized
from fairshare.core.model.resources import ResourceTypes
from fairshare.runtime.recovery import replay
from fairshare.settings.registry import family_of


@pytest.fixture
def full(make_bench, submit):
    """A node of 4 GB with four containers of 1 GB, begun one after the other."""
    bench = make_bench()
    bench.join("n1")
    bench.runtime.settle(10_000)
    for second in range(11, 15):
        bench.runtime.turn(second * 1_000, [submit(1, 1024)])
    assert len(on(bench)) == 4
    return bench


def on(bench):
    return list(bench.state.nodes["n1"].containers)


def taken(bench):
    return [
        event.container
        for record in bench.records
        for event in record.events
        if isinstance(event, ContainerCompleted) and event.exit_code == ExitCode.PREEMPTED
    ]


def test_without_a_timeout_what_runs_goes_on(full):
    full.runtime.turn(20_000, [NodeResized("n1", (2048, 4))])
    full.runtime.settle(500_000)
    assert len(on(full)) == 4
    assert full.state.nodes["n1"].available == (-2048, 0)


def test_with_a_timeout_the_newest_containers_are_taken_when_it_is_over(full):
    before = on(full)
    full.runtime.turn(20_000, [NodeResized("n1", (2048, 4), 30_000)])
    assert full.runtime.next_deadline_ms() <= 50_000
    full.runtime.settle(49_999)
    assert taken(full) == []
    full.runtime.settle(50_000)
    assert sorted(taken(full)) == sorted(before[2:])
    assert full.state.nodes["n1"].available == (0, 2)
    assert full.state.overcommits == {}
    assert sorted(full.engine.stopped) == sorted(before[2:])


def test_with_a_timeout_of_nothing_they_are_taken_at_once(full):
    before = on(full)
    full.runtime.turn(20_000, [NodeResized("n1", (3072, 4), 0)])
    assert taken(full) == before[3:]


def test_only_so_many_are_taken_as_are_too_many_by_then(full):
    full.runtime.turn(20_000, [NodeResized("n1", (2048, 4), 30_000)])
    full.runtime.turn(25_000, [NodeResized("n1", (4096, 4))])
    assert full.state.overcommits == {}
    full.runtime.turn(30_000, [NodeResized("n1", (3072, 4), 5_000)])
    full.runtime.settle(35_000)
    assert len(taken(full)) == 1


def test_a_node_that_is_drained_or_gone_has_no_time_any_more(full):
    full.runtime.turn(20_000, [NodeResized("n1", (2048, 4), 30_000)])
    full.runtime.turn(21_000, [DrainNode("n1")])
    assert full.state.overcommits == {}
    full.join("n2", now_ms=22_000)
    full.runtime.turn(23_000, [NodeResized("n2", (0, 0), 30_000)])
    full.runtime.turn(24_000, [NodeLost("n2")])
    assert full.state.overcommits == {}


def test_a_restart_keeps_the_time_and_a_replay_decides_the_same(full):
    full.runtime.turn(20_000, [NodeResized("n1", (2048, 4), 30_000)])
    full.restart()
    assert full.state.overcommits == {"n1": 50_000}
    full.runtime.settle(50_000)
    assert len(on(full)) == 2
    fresh = ResourceManager(family_of("fair").create(ResourceTypes()))
    assert replay(full.records, fresh) is None
    assert list(fresh.state.nodes["n1"].containers) == on(full)
