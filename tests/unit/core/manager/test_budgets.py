"""A used-up budget, and what is reserved for work that it stops."""

import msgspec
import pytest

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.inputs import (
    ContainerExited,
    LoadConfiguration,
    MoveApplication,
    NodeBeat,
    NodeJoined,
    RequestContainers,
    SubmitApplication,
    UpdateShares,
    UpdateUsage,
)
from fairshare.core.model.invariants import check
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.usage import Budget, Fairness
from fairshare.core.model.work import ContainerRequest
from fairshare.core.schedulers.capacity import settings as capacity
from fairshare.core.schedulers.fair.settings import AllocationSettings, FairSettings, QueueSettings
from fairshare.settings.registry import family_of

TYPES = ResourceTypes(("memory-mb", "vcores", "gpu"), ("Mi", "", ""))
QUEUES = ("root.a", "root.b")
FAIR = FairSettings(
    types=TYPES,
    minimum_allocation=(1024, 1, 0),
    increment_allocation=(1024, 1, 1),
    maximum_allocation=(8192, 8, 8),
    allocations=AllocationSettings(queues={name: QueueSettings(name) for name in QUEUES}),
)
CAPACITY = capacity.CapacitySettings(
    types=TYPES,
    queues={
        "root": capacity.QueueSettings(children=("a", "b"), capacity=capacity.Percentage(100.0)),
        **{
            name: capacity.QueueSettings(
                capacity=capacity.Percentage(50.0), maximum_capacity=capacity.Percentage(100.0)
            )
            for name in QUEUES
        },
    },
    minimum_allocation=(1024, 1, 0),
    maximum_allocation=(8192, 8, 8),
    user_limit_factor=100.0,
    maximum_master_share=1.0,
    dominant=True,
)
SMALL, LARGE = (1024, 1, 0), (2048, 1, 0)


class Cluster:
    """A node of which bob in root.b has so much that a large container does not fit, another one
    that is too small for it, and a budget of gpus or vcores of a queue that is used up."""

    def __init__(self, kind: str, queue: str) -> None:
        self.now_ms = 0
        self.manager = ResourceManager(family_of(kind).create(TYPES))
        budget = Budget("b", queue, "", 2 if queue == "root.a" else 1, 1, refuses=True)
        fairness = Fairness(half_life_ms=64_000, strength=0, budgets=(budget,))
        settings = msgspec.structs.replace(FAIR if kind == "fair" else CAPACITY, fairness=fairness)
        self.feed(LoadConfiguration(msgspec.json.encode(settings), 1))
        self.feed(NodeJoined("n1", (4096, 8, 1)))
        self.feed(NodeJoined("n2", (1024, 1, 0)))
        self.submit("bob", "root.b", 3, SMALL)
        gpu = self.submit("gus", "root.a", 1, (1024, 1, 1)) if queue == "root.a" else None
        self.beat(8)
        self.now_ms = 20_000
        self.feed(UpdateUsage())
        if gpu is not None:
            self.end(gpu)

    @property
    def state(self):
        return self.manager.scheduler.state

    def feed(self, given):
        events = self.manager.handle(self.now_ms, given)
        check(self.state)
        return events

    def submit(self, user, queue, count, size):
        self.feed(SubmitApplication(user, queue, requests=(ContainerRequest(count, size),)))
        return self.state.next_application - 1

    def beat(self, times=1):
        for _ in range(times):
            self.feed(UpdateShares())
            self.feed(NodeBeat("n1"))

    def end(self, application):
        for container in tuple(self.state.applications[application].containers):
            self.feed(ContainerExited(container, 0))


@pytest.mark.parametrize("kind", ["fair", "capacity"])
def test_what_is_reserved_is_given_back_when_work_moves_to_a_queue_whose_budget_is_used_up(kind):
    cluster = Cluster(kind, "root.b")
    large = cluster.submit("ann", "root.a", 1, LARGE)
    cluster.beat()
    assert cluster.state.nodes["n1"].reservation is not None
    cluster.feed(MoveApplication(large, "root.b"))
    assert cluster.state.nodes["n1"].reservation is None
    cluster.end(1)
    cluster.beat(3)
    assert not cluster.state.applications[large].containers


@pytest.mark.parametrize("kind", ["fair", "capacity"])
def test_what_is_reserved_is_given_back_when_work_asks_for_what_a_budget_withholds(kind):
    cluster = Cluster(kind, "root.a")
    large = cluster.submit("ann", "root.a", 1, LARGE)
    cluster.beat()
    assert cluster.state.nodes["n1"].reservation is not None
    cluster.feed(RequestContainers(large, (ContainerRequest(-1, LARGE),)))
    cluster.feed(RequestContainers(large, (ContainerRequest(1, (2048, 1, 1)),)))
    assert cluster.state.nodes["n1"].reservation is None
    cluster.end(1)
    cluster.beat(3)
    assert not cluster.state.applications[large].containers
