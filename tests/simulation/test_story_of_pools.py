"""The proposal's own story (HADOOP-3746): a large job and small ones on one cluster.

Under first come, first served the small ones wait behind the large one; under this scheduler they
wait a tenth of that at most, and the large one ends at most a few percent later.
"""

from functools import cache
from statistics import fmean

import pytest
from tests.unit.core.schedulers.pools.conftest import (
    GENERATIONS,
    arrival,
    pools,
    settings,
    simulated,
)

from fairshare.core.schedulers.pools.settings import PoolAllocation, PoolsSettings
from fairshare.lab.simulate.report import Report
from fairshare.lab.simulate.workload import Arrival

NODES, SLOTS = 5, 4
LARGE_TASKS, LARGE_TASK_S = 1200, 20
SMALL_JOBS, SMALL_TASKS, SMALL_TASK_S = 12, 4, 10


@pytest.fixture(params=GENERATIONS)
def generation(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def story() -> list[Arrival]:
    """A large job that keeps 20 slots busy for 20 minutes, and a small one every 90 seconds."""
    small = [
        arrival(60 + 90 * number, f"small-{number}", SMALL_TASKS, SMALL_TASK_S)
        for number in range(SMALL_JOBS)
    ]
    # The starts of the large job's tasks are spread, as they are on any cluster in use.
    spread = [
        arrival(0, f"early-{number}", 1, LARGE_TASK_S * number / (NODES * SLOTS))
        for number in range(1, NODES * SLOTS)
    ]
    return [*spread, arrival(0.001, "large", LARGE_TASKS, LARGE_TASK_S), *small]


@cache
def shared_report(generation: str) -> Report:
    """What comes of the story with sharing; the tests of a release have it in common."""
    return simulated(settings(generation), story(), NODES, SLOTS)


def first_come(given: PoolsSettings) -> PoolsSettings:
    """The same release, serving jobs as they come."""
    import msgspec

    if given.deficits:
        return msgspec.structs.replace(given, fifo=True)
    allocations = msgspec.structs.replace(given.allocations, default_mode="fifo")
    return msgspec.structs.replace(given, allocations=allocations)


def waiting_s(report: Report) -> float:
    found = [app.waiting_ms for app in report.applications if app.name.startswith("small")]
    assert len(found) == SMALL_JOBS
    return fmean(time for time in found if time is not None) / 1000


def end_of(report: Report, name: str) -> float:
    (found,) = [app for app in report.applications if app.name == name]
    assert found.turnaround_ms is not None
    return (found.submitted_ms + found.turnaround_ms) / 1000


def test_small_jobs_wait_a_tenth_and_the_large_one_ends_a_few_percent_later(
    generation: str,
) -> None:
    fair = shared_report(generation)
    fifo = simulated(first_come(settings(generation)), story(), NODES, SLOTS)
    assert waiting_s(fifo) > 60
    assert waiting_s(fair) < waiting_s(fifo) / 10
    assert end_of(fair, "large") < end_of(fifo, "large") * 1.05
    assert fair.containers.preempted == 0


@pytest.mark.parametrize("timeout_s", [5, 30])
def test_a_production_pool_has_its_minimum_within_its_preemption_timeout(timeout_s: int) -> None:
    given = settings(
        "1.2",
        preemption=True,
        preemption_interval_ms=1000,
        allocations=pools(
            PoolAllocation("production", min_share=(8, 0), min_share_timeout_ms=timeout_s * 1000)
        ),
    )
    arrivals = [
        arrival(0, "adhoc", 20, 3600),
        arrival(100, "nightly", 40, 60, pool="production"),
    ]
    report = simulated(given, arrivals, NODES, SLOTS)
    assert report.containers.preempted == 8
    (nightly,) = [app for app in report.applications if app.name == "nightly"]
    # Its patience, the interval of the checks, and the pace of updates.
    assert nightly.waiting_ms is not None
    assert timeout_s * 1000 < nightly.waiting_ms <= timeout_s * 1000 + 2000
    assert nightly.turnaround_ms is not None
    assert nightly.turnaround_ms <= nightly.waiting_ms + 40 / 8 * 60_000


def test_without_preemption_the_minimum_comes_as_tasks_end(generation: str) -> None:
    given = settings(generation, allocations=pools(PoolAllocation("production", min_share=(8, 0))))
    arrivals = [
        *(arrival(0, f"adhoc-{number}", 100, 20 + number) for number in range(4)),
        arrival(100, "nightly", 8, 600, pool="production"),
    ]
    report = simulated(given, arrivals, NODES, SLOTS)
    assert report.containers.preempted == 0
    assert end_of(report, "nightly") <= 100 + 600 + 24


def test_pools_that_share_use_more_than_clusters_of_their_own(generation: str) -> None:
    """Group a has work in the first half, group b in the second."""
    work = {"a": (0, 400), "b": (500, 400)}

    def makespan_s(names: str, nodes: int) -> float:
        arrivals = [arrival(work[n][0], n, work[n][1], 10, pool=n) for n in names]
        return simulated(settings(generation), arrivals, nodes, SLOTS).makespan_ms / 1000

    together = simulated(
        settings(generation),
        [arrival(at, name, count, 10, pool=name) for name, (at, count) in work.items()],
        4,
        SLOTS,
    )
    shared = {app.name: app.turnaround_ms for app in together.applications}
    for name in work:
        alone_s = makespan_s(name, 2)
        assert shared[name] is not None
        assert shared[name] / 1000 < alone_s * 0.6  # type: ignore[operator]


def test_a_run_of_the_same_workload_has_the_same_report(generation: str) -> None:
    again = simulated(settings(generation), story(), NODES, SLOTS)
    assert again is not shared_report(generation)
    assert again == shared_report(generation)
