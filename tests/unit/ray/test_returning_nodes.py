"""What follows when the agent of a Ray node answers again."""

import msgspec
import pytest
from tests.unit.core.schedulers.waiting import Cluster, ask, fair

from fairshare.core.model.inputs import (
    ContainerExited,
    ContainerStarted,
    LaunchContainer,
    NodeJoined,
    NodeResized,
)
from fairshare.core.model.work import Command
from fairshare.ray.engine import returned

SIZE = (8192, 8)
NODE = NodeJoined("n1", SIZE)


@pytest.fixture
def cluster():
    """One node with two containers, in the first of which something was launched."""
    made = Cluster("fair", fair())
    made.submit(ask(2))
    made.run()
    first, _ = containers(made)
    made.feed(LaunchContainer(1, first, Command(("true",))))
    return made


def containers(cluster):
    return sorted(cluster.manager.state.nodes["n1"].containers)


def test_a_new_node_joins(cluster):
    other = NodeJoined("n2", SIZE)
    assert returned(cluster.manager.state, other, (), ()).inputs == (other,)


def test_a_node_with_another_size_is_resized(cluster):
    smaller = msgspec.structs.replace(NODE, total=(4096, 4))
    first, _ = containers(cluster)
    found = returned(cluster.manager.state, smaller, (first,), ()).inputs
    assert NodeResized("n1", (4096, 4)) in found


def test_what_runs_there_runs_and_what_was_not_launched_yet_is_kept(cluster):
    first, _ = containers(cluster)
    found = returned(cluster.manager.state, NODE, (first,), ())
    assert found.inputs == (ContainerStarted(first, holds_room=True),)
    assert found.stops == ()


def test_an_order_that_was_lost_on_the_way_is_aborted(cluster):
    first, _ = containers(cluster)
    (given,) = returned(cluster.manager.state, NODE, (), ()).inputs
    assert (given.container, given.exit_code) == (first, -100)


def test_an_end_that_no_server_saw_counts(cluster):
    first, _ = containers(cluster)
    end = ContainerExited(first, 3, "exit code 3")
    assert returned(cluster.manager.state, NODE, (first,), (end,)).inputs == (end,)


def test_what_the_state_does_not_know_is_stopped(cluster):
    first, _ = containers(cluster)
    assert returned(cluster.manager.state, NODE, (first, 999), ()).stops == (999,)
