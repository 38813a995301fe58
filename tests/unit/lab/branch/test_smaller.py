"""With what smaller tasks an application that waits would start now."""

import pytest
from tests.unit.core.schedulers.waiting import Cluster, capacity, fair
from tests.unit.server.insight.test_situations import limited

from fairshare.api.applications import Eta, Spread
from fairshare.core.model.work import TaskGroup
from fairshare.core.schedulers.fair.settings import QueueSettings
from fairshare.core.schedulers.fifo import FifoSettings
from fairshare.lab.branch.history import origin_of
from fairshare.lab.branch.smaller import with_smaller
from fairshare.runtime.recovery import Position

LATER = Spread(60_000, 90_000)


def submitted(cluster, *sizes, **more):
    groups = tuple(TaskGroup(f"g{at}", 1, size) for at, size in enumerate(sizes))
    application = cluster.submit(tasks=groups, **more)
    cluster.run()
    return application


def sizes(cluster, application, start=LATER):
    """Of each answer the resources of its groups."""
    origin = origin_of(cluster.manager, Position(1, 0))
    found = with_smaller(origin, application, Eta(0, start=start)).smaller
    return [list(one.resources.values()) for one in found]


@pytest.fixture(params=["fair", "fifo"])
def cluster(request):
    settings = {"fair": fair((QueueSettings("root.a"),)), "fifo": FifoSettings()}
    return Cluster(request.param, settings[request.param])


def size(memory_mb, vcores):
    return {"memory-mb": memory_mb, "vcores": vcores}


def test_the_largest_half_that_fits_is_found_for_what_is_scarce(cluster):
    submitted(cluster, (1024, 5))
    waits = submitted(cluster, (4096, 8))
    fifo = cluster.manager.scheduler.name == "fifo"  # whose comparison leaves out vcores
    assert sizes(cluster, waits) == [[size(4096, 4 if fifo else 2)]]


def test_less_memory_is_asked_for_where_memory_is_scarce(cluster):
    submitted(cluster, (5000, 1))
    waits = submitted(cluster, (8000, 2))
    assert sizes(cluster, waits) == [[size(2000, 2)]]


def test_both_are_halved_where_neither_suffices_alone():
    cluster = Cluster("fair", fair((QueueSettings("root.a"),)))
    submitted(cluster, (5000, 5))
    waits = submitted(cluster, (8000, 8))
    assert sizes(cluster, waits) == [[size(2000, 2)]]


def test_a_size_that_fits_is_not_named_where_a_limit_of_the_queue_holds_the_application():
    cluster = Cluster("fair", fair((QueueSettings("root.a", max_running_applications=1),)))
    submitted(cluster, (1024, 1))
    waits = submitted(cluster, (4096, 4))
    assert sizes(cluster, waits) == []


def test_the_limit_for_masters_holds_an_application_of_any_size():
    cluster = Cluster("capacity", capacity())
    submitted(cluster, (5000, 1))
    waits = submitted(cluster, (8000, 1))
    assert "masters" in cluster.why(waits)[0].cause
    assert sizes(cluster, waits) == []


def test_a_limit_of_the_queue_counts_as_the_room_of_nodes_does():
    cluster = Cluster("fair", limited(3072))
    submitted(cluster, (1024, 1))
    waits = submitted(cluster, (4096, 1))
    assert sizes(cluster, waits) == [[size(2048, 1)]]


def test_tasks_of_all_groups_are_halved():
    cluster = Cluster("fair", fair((QueueSettings("root.a"),)))
    submitted(cluster, (6000, 1))
    waits = submitted(cluster, (8000, 1), (4000, 1))
    assert sizes(cluster, waits) == [[size(2000, 1), size(1000, 1)]]


def test_what_starts_soon_and_what_has_started_need_no_smaller_tasks(cluster):
    runs = submitted(cluster, (5000, 1))
    waits = submitted(cluster, (8000, 2))
    assert sizes(cluster, waits, start=Spread(1_000, 90_000)) == []
    assert sizes(cluster, runs) == []


def test_the_search_changes_nothing(cluster):
    submitted(cluster, (5000, 1))
    waits = submitted(cluster, (8000, 2))
    sizes(cluster, waits)
    assert not cluster.manager.state.applications[waits].over
    assert len(cluster.manager.state.applications) == 2
