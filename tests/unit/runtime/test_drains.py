"""Nodes that are drained or decommissioned, and safe mode, as the runtime drives them."""

import pytest

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import NodeRemoved, RequestRefused
from fairshare.core.model.inputs import (
    ContainerExited,
    ContainerStarted,
    DecommissionNode,
    DrainNode,
    KillApplication,
    NodeJoined,
    NodeLost,
    NodeResized,
    SetSafeMode,
    UndrainNode,
)
from fairshare.core.model.invariants import check
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.schedulers.capacity.settings import CapacitySettings, Percentage, QueueSettings
from fairshare.core.schedulers.fair.settings import FairSettings
from fairshare.core.schedulers.fifo import FifoSettings
from fairshare.runtime.recovery import replay
from fairshare.settings.registry import family_of


@pytest.fixture
def busy(make_bench, submit):
    """Two nodes of 4 GB, each with a container of 3 GB; a third container waits. Only boss may
    administer."""
    bench = make_bench(FairSettings(acl_enabled=True, administrators="boss"))
    bench.join("n1", "n2")
    bench.runtime.settle(10_000)  # queues are tidied up after the start
    bench.runtime.turn(11_000, [submit(3, 3072)])
    assert [len(node.containers) for node in bench.state.nodes.values()] == [1, 1]
    return bench


def on(bench, name):
    return next(iter(bench.state.nodes[name].containers))


def test_a_drained_node_finishes_what_it_has_and_takes_nothing_new(busy):
    busy.runtime.turn(12_000, [DrainNode("n1")])
    assert busy.state.nodes["n1"].total == (3072, 1)
    assert not busy.engine.stopped
    busy.runtime.turn(13_000, [ContainerExited(on(busy, "n1"), 0)])
    assert busy.state.nodes["n1"].containers == {}
    assert busy.state.nodes["n1"].total == (0, 0)
    assert busy.state.total == (4096, 4)


def test_undrained_it_offers_at_once_what_it_has_by_then(busy):
    busy.runtime.turn(12_000, [DrainNode("n1")])
    busy.runtime.turn(13_000, [ContainerExited(on(busy, "n1"), 0)])
    busy.runtime.turn(14_000, [NodeResized("n1", (8192, 8))])
    assert busy.state.nodes["n1"].total == (0, 0)
    busy.runtime.turn(15_000, [UndrainNode("n1")])
    assert busy.state.nodes["n1"].total == (8192, 8)
    assert len(busy.state.nodes["n1"].containers) == 1


def test_a_drained_node_that_comes_back_is_still_drained(busy):
    busy.runtime.turn(12_000, [DrainNode("n1"), NodeLost("n1")])
    busy.runtime.turn(13_000, [NodeJoined("n1", (4096, 4))])
    assert busy.state.nodes["n1"].containers == {}
    assert busy.state.nodes["n1"].total == (0, 0)


def test_a_decommissioned_node_leaves_when_it_is_empty(busy):
    busy.runtime.turn(12_000, [DecommissionNode("n1", 60_000)])
    assert "n1" in busy.state.nodes
    busy.runtime.turn(13_000, [ContainerExited(on(busy, "n1"), 0)])
    assert "n1" not in busy.state.nodes
    lost = NodeLost("n1", "DECOMMISSIONED", "decommissioned: it was empty")
    assert lost in [record.input for record in busy.records]


def test_when_its_time_is_over_its_containers_end_and_their_tasks_wait_again(busy):
    container = on(busy, "n1")
    busy.runtime.turn(12_000, [DecommissionNode("n1", 60_000)])
    assert busy.runtime.next_deadline_ms() == 72_000
    busy.runtime.settle(71_999)
    assert "n1" in busy.state.nodes
    busy.runtime.settle(72_000)
    assert "n1" not in busy.state.nodes
    assert busy.engine.stopped == [container]
    assert busy.state.applications[1].tasks.groups[0].waiting


def test_a_decommissioned_node_waits_for_the_end_of_what_was_killed(busy):
    container = on(busy, "n1")
    busy.runtime.turn(12_000, [ContainerStarted(container, True), DecommissionNode("n1", 60_000)])
    busy.runtime.turn(13_000, [KillApplication(1)])
    assert busy.state.nodes["n1"].total == (3072, 1)
    busy.runtime.turn(14_000, [ContainerExited(container, 143)])
    assert "n1" not in busy.state.nodes


def test_a_decommissioned_node_does_not_come_back_by_itself(busy):
    busy.runtime.turn(12_000, [DecommissionNode("n1", 0)])
    busy.runtime.turn(13_000, [NodeJoined("n1", (4096, 4))])
    assert "n1" not in busy.state.nodes
    busy.runtime.turn(14_000, [UndrainNode("n1"), NodeJoined("n1", (4096, 4))])
    assert len(busy.state.nodes["n1"].containers) == 1


def test_a_drain_can_become_a_decommission_and_be_taken_back(busy):
    busy.runtime.turn(12_000, [DrainNode("n1"), DecommissionNode("n1", 1_000), DrainNode("n1")])
    busy.runtime.settle(60_000)
    assert "n1" in busy.state.nodes


def test_a_reservation_of_a_drained_node_is_dropped(make_bench, submit):
    bench = make_bench()
    bench.join("n1")
    bench.runtime.turn(1_000, [submit(1, 3072), submit(1, 3072)])
    assert bench.state.nodes["n1"].reservation is not None
    bench.runtime.turn(12_000, [DrainNode("n1")])
    assert bench.state.nodes["n1"].reservation is None
    check(bench.state)


def test_unknown_nodes_and_unprivileged_users_are_refused(busy):
    for order in (DrainNode("n9"), DecommissionNode("n9", 1), UndrainNode("n9")):
        ((_, (event,)),) = busy.runtime.feed(12_000, [order])
        assert isinstance(event, RequestRefused)
        assert event.code == "unknown-node"
    for order in (DrainNode("n1", "eve"), UndrainNode("n1", "eve"), SetSafeMode(True, "eve")):
        ((_, (event,)),) = busy.runtime.feed(12_000, [order])
        assert (type(event), event.code) == (RequestRefused, "access-denied")


def test_orders_that_change_nothing_are_not_recorded(busy):
    busy.runtime.feed(12_000, [DrainNode("n1")])
    before = len(busy.records)
    busy.runtime.feed(13_000, [DrainNode("n1"), UndrainNode("n2"), SetSafeMode(False)])
    assert len(busy.records) == before


def test_in_safe_mode_what_runs_goes_on_and_nothing_is_admitted_or_granted(busy, submit):
    busy.runtime.turn(12_000, [SetSafeMode(True)])
    ((_, (event,)),) = busy.runtime.feed(13_000, [submit()])
    assert event.code == "safe-mode"
    assert len(busy.state.applications) == 1
    busy.runtime.turn(14_000, [ContainerExited(on(busy, "n1"), 0)])
    busy.runtime.settle(100_000)
    assert busy.state.nodes["n1"].containers == {}
    assert busy.runtime.next_deadline_ms() is None  # it does not keep the machine busy
    assert len(busy.state.nodes["n2"].containers) == 1
    busy.runtime.turn(101_000, [SetSafeMode(False)])
    assert len(busy.state.nodes["n1"].containers) == 1


def test_a_node_leaves_in_safe_mode_too(busy):
    busy.runtime.turn(12_000, [SetSafeMode(True), DecommissionNode("n1", 1_000)])
    assert busy.runtime.next_deadline_ms() == 13_000
    busy.runtime.settle(13_000)
    assert "n1" not in busy.state.nodes


def test_a_restart_forgets_no_order_and_a_replay_decides_the_same(busy):
    busy.runtime.turn(12_000, [DecommissionNode("n1", 60_000), SetSafeMode(True)])
    drains = busy.state.drains
    busy.restart()
    assert busy.state.drains == drains
    assert busy.state.safe_mode
    assert busy.runtime.next_deadline_ms() == 72_000
    busy.runtime.settle(72_000)
    assert any(type(e) is NodeRemoved for e in busy.records[-1].events)
    assert replay(busy.records, ResourceManager(family_of("fair").create(ResourceTypes()))) is None


ROOT_ONLY = {
    "root": QueueSettings(children=("a",), capacity=Percentage(100.0)),
    "root.a": QueueSettings(capacity=Percentage(100.0)),
}
SETTINGS = {
    "fair": FairSettings(),
    "fifo": FifoSettings(),
    "capacity": CapacitySettings(queues=ROOT_ONLY),
}
