"""The largest node is known without looking at all nodes, whatever becomes of them."""

import pytest
from tests.managed import SETTINGS, Managed

from fairshare.core.model.inputs import (
    DecommissionNode,
    DrainNode,
    NodeBeat,
    NodeJoined,
    NodeLost,
    NodeResized,
    UndrainNode,
)
from fairshare.core.model.invariants import check
from fairshare.runtime.snapshot import freeze, thaw

SMALL, TALL, WIDE = (4096, 4), (16384, 2), (8192, 32)


@pytest.fixture(params=sorted(SETTINGS))
def cluster(request) -> Managed:
    """Three small nodes, one with much memory and one with many cores."""
    cluster = Managed(request.param, SETTINGS[request.param], SMALL)
    for name, size in (("n2", SMALL), ("n3", SMALL), ("tall", TALL), ("wide", WIDE)):
        cluster.feed(NodeJoined(name, size))
    return cluster


def largest(cluster: Managed) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The largest node, and the largest total at the moment."""
    return cluster.state.largest_node(), cluster.state.largest_total()


def test_it_is_the_maximum_of_each_type(cluster):
    assert largest(cluster) == ((16384, 32), (16384, 32))


def test_it_follows_nodes_that_leave_come_and_change(cluster):
    cluster.feed(NodeLost("tall"))
    assert largest(cluster) == ((8192, 32), (8192, 32))
    cluster.feed(NodeResized("wide", SMALL))
    assert largest(cluster) == (SMALL, SMALL)
    cluster.feed(NodeJoined("tall", TALL))
    assert largest(cluster) == ((16384, 4), (16384, 4))
    for name in tuple(cluster.state.nodes):
        cluster.feed(NodeLost(name))
    assert largest(cluster) == ((0, 0), (0, 0))


def test_a_drained_node_counts_with_what_it_will_have_afterwards(cluster):
    cluster.feed(DrainNode("tall"))
    cluster.feed(NodeBeat("tall"))
    assert largest(cluster) == ((16384, 32), (8192, 32))
    cluster.feed(NodeResized("tall", (20480, 2)))
    assert largest(cluster) == ((20480, 32), (8192, 32))
    cluster.feed(UndrainNode("tall"))
    assert largest(cluster) == ((20480, 32), (20480, 32))


def test_a_decommissioned_node_counts_until_it_has_left(cluster):
    cluster.feed(DecommissionNode("wide", 0))
    assert largest(cluster)[0] == (16384, 32)
    cluster.feed(NodeBeat("wide"))
    cluster.feed(NodeLost("wide"))
    cluster.feed(UndrainNode("wide"))
    assert largest(cluster) == ((16384, 4), (16384, 4))


def test_a_snapshot_brings_it_back(cluster):
    cluster.feed(DrainNode("tall"))
    cluster.feed(NodeBeat("tall"))
    before = largest(cluster)
    manager = thaw(freeze(1, 1, {"manager": cluster.manager}))["manager"]
    check(manager.state)
    assert (manager.state.largest_node(), manager.state.largest_total()) == before
