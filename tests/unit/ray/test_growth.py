"""Which containers that wait may make a Ray cluster grow: so many as its limit and those of their
queues admit."""

import pytest
from tests.unit.core.schedulers.waiting import Cluster, ask, capacity, fair

from fairshare.core.schedulers.capacity.settings import Percentage
from fairshare.ray import engine
from fairshare.ray.engine import waiting_room

ONE = (1024, 1)


def wanted(cluster, most, present=8):
    scheduler = cluster.manager.scheduler
    state = scheduler.state
    applications = state.applications.values()
    return waiting_room(scheduler.queue_views(), applications, state.types, present, most)


@pytest.fixture
def full():
    """A node of 8 vcores, for which 20 containers ask."""
    made = Cluster("fair", fair())
    made.submit(ask(20))
    made.run()
    return made


def test_what_waits_is_wanted_up_to_the_size_of_the_cluster(full):
    assert wanted(full, 100) == {ONE: 12}
    assert wanted(full, 12) == {ONE: 4}
    assert wanted(full, 8) == {}


def test_nothing_is_wanted_when_nothing_waits():
    idle = Cluster("fair", fair())
    assert wanted(idle, 100) == {}


def test_containers_count_with_their_vcores_and_are_wanted_by_their_size():
    made = Cluster("fair", fair())
    made.submit(ask(2, 8192, 8), queue="root.a")
    made.submit(ask(3, 1024, 3), queue="root.b")
    assert wanted(made, 100) == {(8192, 8): 2, (1024, 3): 3}
    assert wanted(made, 20) == {(8192, 8): 1, (1024, 3): 1}


def test_the_limit_of_a_queue_of_the_capacity_scheduler_is_a_part_of_the_cluster_as_it_may_be():
    made = Cluster("capacity", capacity(maximum_capacity=Percentage(50.0)))
    made.submit(ask(100))
    made.run()
    used = made.containers(1)
    assert wanted(made, 40) == {ONE: 20 - used}


def test_so_many_containers_at_once_and_no_more(full, monkeypatch):
    monkeypatch.setattr(engine, "MOST_BUNDLES", 5)
    assert wanted(full, 100) == {ONE: 5}
