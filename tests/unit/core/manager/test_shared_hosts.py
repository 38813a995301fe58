"""Requests and blacklists name hosts, of which each may have several nodes."""

import pytest
from tests.managed import SETTINGS, Managed

from fairshare.core.model.events import Locality
from fairshare.core.model.inputs import (
    ChangeBlacklist,
    MasterRegistered,
    NodeJoined,
    NodeLost,
    RequestContainers,
    SubmitApplication,
)
from fairshare.core.model.work import ContainerRequest

SIZE = (1024, 1)
NODES = (("here:1", "here"), ("here:2", "here"), ("there:1", "there"))


class Cluster(Managed):
    """An application with a master on `there:1`, and two nodes on the host `here` of rack /a."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind, SETTINGS[kind])
        self.feed(NodeJoined("there:1", (8192, 8), "/b", host="there"))
        self.feed(SubmitApplication("ann", "root.default", master=SIZE))
        self.beat("there:1")
        self.feed(MasterRegistered(1))
        for name in ("here:1", "here:2"):
            self.feed(NodeJoined(name, (8192, 8), "/a", host="here"))

    def placed(self) -> list[tuple[str, Locality]]:
        return [(one.node, one.locality) for one in self.application.containers.values()][1:]


@pytest.fixture(params=("fair", "capacity", "fifo"))
def cluster(request):
    return Cluster(request.param)


def test_each_node_of_a_host_is_local_to_a_request_for_the_host(cluster):
    cluster.feed(RequestContainers(1, (ContainerRequest(1, SIZE, hosts=("here",), relax=False),)))
    cluster.beat("there:1")
    assert cluster.placed() == []
    cluster.beat("here:2")
    assert cluster.placed() == [("here:2", Locality.NODE_LOCAL)]
    asks = cluster.application.attempt.asks
    assert not any(key.pending or key.places for key in asks.keys.values())


def test_the_rack_of_a_host_is_requested_with_it(cluster):
    cluster.feed(RequestContainers(1, (ContainerRequest(1, SIZE, hosts=("here",)),)))
    assert set(cluster.application.attempt.asks.keys[1, 0].places) == {"here", "/a"}


def test_a_blacklisted_host_refuses_all_its_nodes(cluster):
    cluster.feed(ChangeBlacklist(1, ("here",)))
    cluster.feed(RequestContainers(1, (ContainerRequest(3, SIZE),)))
    cluster.beat("here:1", "here:2")
    assert cluster.placed() == []
    cluster.feed(ChangeBlacklist(1, (), ("here",)))
    cluster.beat("here:1", "here:2")
    assert {node for node, _ in cluster.placed()} <= {"here:1", "here:2"}
    assert cluster.placed()


def test_a_host_is_forgotten_with_its_last_node(cluster):
    state = cluster.manager.state
    cluster.feed(NodeLost("here:1"))
    assert state.node_on("here").name == "here:2"
    cluster.feed(NodeLost("here:2"))
    assert state.node_on("here") is None
    assert state.node_on("there:1") is None, "a node's name is not a host"


def test_a_blacklist_that_comes_again_changes_nothing(cluster):
    cluster.feed(ChangeBlacklist(1, ("here",)))
    again = ChangeBlacklist(1, ("here", "both"), ("both", "not-there"))
    assert cluster.feed(again) == ()
    assert list(cluster.application.attempt.blacklist) == ["here"]
