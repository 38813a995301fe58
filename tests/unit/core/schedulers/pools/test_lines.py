"""Lines of jobs: a task that is handed out moves its own job, and looks at nobody else's place."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.core.schedulers.pools.conftest import GENERATIONS, REDUCE, Cluster, maps, settings

from fairshare.core.model.applications import Application
from fairshare.core.model.events import ApplicationSubmitted
from fairshare.core.model.inputs import (
    ContainerExited,
    RequestContainers,
    SetPriority,
    SubmitApplication,
)
from fairshare.core.model.work import ContainerRequest
from fairshare.core.schedulers.pools import service_orders
from fairshare.core.schedulers.pools.jobs import Job
from fairshare.core.schedulers.pools.weights import BOOSTER, steady_until_ms

JOBS = 200


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Grows by one for each place in a line that is worked out."""
    found: list[object] = []
    fair_rank, most_owed = service_orders.fair_rank, service_orders.most_owed

    def counted_rank(*given: Any) -> service_orders.Rank:
        found.append(given)
        return fair_rank(*given)

    def counted_key(place: int, kind: int) -> Callable[[Job], tuple[int, ...]]:
        key = most_owed(place, kind)

        def counted(job: Job) -> tuple[int, ...]:
            found.append(job)
            return key(job)

        return counted

    monkeypatch.setattr(service_orders, "fair_rank", counted_rank)
    monkeypatch.setattr(service_orders, "most_owed", counted_key)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_grant_looks_at_one_job_of_two_hundred(generation: str, looked_at: list[object]) -> None:
    cluster = Cluster(settings(generation), (50, 0))
    for number in range(JOBS):
        cluster.submit(f"pool{number % 4}", maps(3))
    cluster.beat("n1")  # makes the lines
    assert len(looked_at) > JOBS

    container = next(iter(cluster.manager.state.nodes["n1"].containers))
    cluster.tell(ContainerExited(container, 1))
    del looked_at[:]
    granted = cluster.beat("n1")

    assert len(granted) == 1
    assert len(looked_at) <= 3  # the job, its pool, and perhaps who had nothing for the node


def wanting(cluster: Cluster, *requests: ContainerRequest) -> int:
    """A job whose master asks by itself."""
    events = cluster.tell(SubmitApplication("ann", "a", requests=requests))
    return next(e.application for e in events if isinstance(e, ApplicationSubmitted))


def test_a_job_without_reduces_to_start_leaves_the_line_until_it_wants_some() -> None:
    cluster = Cluster(settings("1.2"), (0, 3))
    idle = wanting(cluster, ContainerRequest(1, REDUCE))
    elsewhere = ContainerRequest(1, REDUCE, hosts=("n9",), relax=False)
    strict = wanting(cluster, elsewhere)  # so that heartbeats look for somebody at all
    cluster.update()
    assert cluster.beat() == [idle]
    kept = cluster.scheduler.state.lines
    assert isinstance(kept, service_orders.ShareOrders)
    line = kept.line(cluster.scheduler.state.queues["root.a"], 1)

    assert cluster.beat() == []
    assert standing(line) == [strict]

    cluster.tell(RequestContainers(idle, (ContainerRequest(1, REDUCE),)))
    assert cluster.scheduler.state.lines is kept
    assert standing(line) == [idle, strict]
    assert cluster.beat() == [idle]


def standing(line: service_orders.Line) -> list[int]:
    return [
        entrant.member.id
        for entrant in line.members
        if entrant is not None and entrant.entry is not None and isinstance(entrant.member, Job)
    ]


def first_in_line(cluster: Cluster, pool: str = "root.a") -> int:
    kept = cluster.scheduler.state.lines
    assert kept is not None
    queue = cluster.scheduler.state.queues[pool]
    line = kept.line(queue, 0) if isinstance(kept, service_orders.ShareOrders) else kept.of_kind[0]
    first = line.first()
    assert first is not None
    assert isinstance(first.member, Job)
    return first.member.id


def test_a_job_whose_task_has_ended_moves_forward_before_any_update() -> None:
    cluster = Cluster(settings("1.2"), (4, 0))
    for _ in range(2):
        cluster.submit("a", maps(9))
    assert cluster.beat() == [1, 2, 1, 2]
    assert first_in_line(cluster) == 1
    kept = cluster.scheduler.state.lines

    (container, *_) = cluster.manager.state.applications[2].containers
    cluster.tell(ContainerExited(container, 0))
    assert first_in_line(cluster) == 2
    assert cluster.scheduler.state.lines is kept


def test_an_urgent_job_moves_forward_before_any_update() -> None:
    cluster = Cluster(settings("0.20", fifo=True), (1, 0))
    for _ in range(2):
        cluster.submit("a", maps(9))
    assert cluster.beat() == [1]
    assert first_in_line(cluster) == 1
    cluster.tell(SetPriority(2, 5))
    assert first_in_line(cluster) == 2


def test_lines_hold_until_the_first_weight_may_be_another_one() -> None:
    file = settings("1.2", weight_adjuster=BOOSTER, booster_duration_ms=1000)
    cluster = Cluster(file, (4, 0))
    cluster.submit("a", maps(9))
    cluster.now_ms = 400
    cluster.submit("a", maps(9))
    cluster.beat()
    kept = cluster.scheduler.state.lines
    assert isinstance(kept, service_orders.ShareOrders)
    assert kept.until_ms == 1000
    assert kept.hold(999)
    assert not kept.hold(1000)
    cluster.beat(after_ms=600)
    assert cluster.scheduler.state.lines is not kept


def test_the_weight_of_a_custom_adjuster_is_not_steady() -> None:
    application = Application(1, SubmitApplication("ann", "a"), "root.a", 3, 0, 4)
    job = Job(application, 1, 4)
    assert steady_until_ms(settings(weight_adjuster="theirs"), job, 700) == 701
    assert steady_until_ms(settings(), job, 700) is None
