"""What an application waits for, with the numbers of the dominant reason."""

import msgspec
import pytest

from fairshare.journal.memory import MemoryJournal
from fairshare.manager.resource_manager import ResourceManager
from fairshare.model.inputs import (
    KillApplication,
    LoadConfiguration,
    NodeJoined,
    SubmitApplication,
)
from fairshare.model.resources import ResourceTypes
from fairshare.model.work import TaskGroup
from fairshare.runtime.obstacles import Kind, Obstacle, obstacle_of
from fairshare.runtime.runtime import Runtime
from fairshare.schedulers.fair.settings import (
    AllocationSettings,
    Amount,
    FairSettings,
    QueueSettings,
)
from fairshare.schedulers.registry import SCHEDULERS

QUEUES = (
    QueueSettings("root.small", max_share=Amount(absolute=(2048, 99))),
    QueueSettings("root.one", max_running_applications=1),
)
SETTINGS = FairSettings(
    maximum_allocation=(8192, 64),
    allocations=AllocationSettings(queues={one.name: one for one in QUEUES}, from_file=True),
)


class Cluster:
    """Two nodes of 4096 MB and 4 vcores under the Fair Scheduler."""

    def __init__(self, engine, nodes: int = 2) -> None:
        self.manager = ResourceManager(SCHEDULERS["fair"](ResourceTypes()))
        self.runtime = Runtime(self.manager, MemoryJournal(), engine)
        self.runtime.feed(0, [LoadConfiguration(msgspec.json.encode(SETTINGS), 1)])
        self.runtime.feed(0, [NodeJoined(f"n{number}", (4096, 4)) for number in range(nodes)])

    def submit(self, size, count: int = 1, queue: str = "root.big", **more) -> int:
        number = self.manager.state.next_application
        tasks = (TaskGroup("t", count, size, **more),)
        self.runtime.turn(1_000, [SubmitApplication("ann", queue, tasks=tasks)])
        return number

    def obstacle(self, number: int) -> Obstacle | None:
        application = self.manager.state.applications[number]
        return obstacle_of(self.manager.state, self.manager.scheduler.queue_views(), application)


@pytest.fixture
def cluster(bench):
    return Cluster(bench.engine)


def test_who_has_all_he_wants_waits_for_nothing(cluster):
    assert cluster.obstacle(cluster.submit((1024, 1))) is None


def test_an_ask_that_fits_no_node_names_the_type_that_lacks_most(cluster):
    found = cluster.obstacle(cluster.submit((6144, 32), 3))
    assert found == Obstacle(Kind.TOO_LARGE, (6144, 32), 3, (4096, 4), None, "vcores")
    assert found.for_ever


def test_an_ask_that_only_one_rack_may_serve_is_measured_there(cluster):
    found = cluster.obstacle(cluster.submit((1024, 1), hosts=("elsewhere",), relax=False))
    assert (found.kind, found.for_ever) == (Kind.NO_NODE, True)


def test_without_nodes_there_is_nothing_to_have(bench):
    cluster = Cluster(bench.engine, nodes=0)
    assert cluster.obstacle(cluster.submit((1024, 1))).kind == Kind.NO_NODE


def test_a_full_cluster_says_how_much_is_free_on_a_node(cluster):
    cluster.submit((3072, 1), 2)
    found = cluster.obstacle(cluster.submit((2048, 1)))
    assert found == Obstacle(Kind.NO_ROOM, (2048, 1), 1, (1024, 3), None, "memory-mb")
    assert not found.for_ever


def test_a_queue_at_its_maximum_is_named_with_it(cluster):
    number = cluster.submit((2048, 1), 2, queue="root.small")
    found = cluster.obstacle(number)
    assert found == Obstacle(Kind.QUEUE_FULL, (2048, 1), 1, (2048, 99), "root.small", None)


def test_an_application_over_a_limit_is_held_back(cluster):
    cluster.submit((1024, 1), 1, queue="root.one")
    found = cluster.obstacle(cluster.submit((1024, 1), 1, queue="root.one"))
    assert (found.kind, found.queue) == (Kind.HELD_BACK, "root.one")


def test_of_several_asks_the_hardest_counts(cluster):
    number = cluster.manager.state.next_application
    tasks = (TaskGroup("a", 9, (1024, 1)), TaskGroup("b", 1, (8192, 1), priority=2))
    cluster.runtime.turn(1_000, [SubmitApplication("ann", "root.big", tasks=tasks)])
    assert cluster.obstacle(number).kind == Kind.TOO_LARGE


def test_what_is_over_waits_for_nothing(cluster):
    number = cluster.submit((6144, 32))
    cluster.runtime.turn(2_000, [KillApplication(number)])
    assert cluster.obstacle(number) is None
