"""The deficit schedulers, 0.19 and 0.20: credits, guarantees, and who is served."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.schedulers.pools.conftest import Cluster, maps, pools, reduces, settings

from fairshare.core.schedulers.pools.deficits import divide, split
from fairshare.core.schedulers.pools.jobs import Slots
from fairshare.core.schedulers.pools.settings import PoolAllocation


@pytest.fixture(params=["0.19", "0.20"])
def old(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_n_jobs_are_due_an_nth_of_the_slots_of_each_kind(old: str) -> None:
    cluster = Cluster(settings(old, wait_for_maps=False), (6, 4), (6, 2))
    jobs = [cluster.submit("p", maps(9), reduces(9)) for _ in range(3)]
    for number in jobs:
        job = cluster.job(number)
        assert (job.maps.fair_share, job.reduces.fair_share) == (4.0, 2.0)


def test_a_job_alone_gets_every_slot(old: str) -> None:
    cluster = Cluster(settings(old), (3, 0), (3, 0))
    number = cluster.submit("p", maps(9))
    granted = [cluster.beat(node) for node in ("n1", "n2") for _ in range(3)]
    assert granted == [[number]] * 6
    assert cluster.maps_of(number).running == 6


def test_a_deficit_grows_by_what_a_job_should_have_had_minus_what_it_had(old: str) -> None:
    cluster = Cluster(settings(old), (4, 0))
    first = cluster.submit("p", maps(9))
    for _ in range(4):
        cluster.beat()
    second = cluster.submit("p", maps(9))
    cluster.update(after_ms=500)
    assert cluster.maps_of(first).deficit == -1000
    assert cluster.maps_of(second).deficit == 1000


def test_a_later_job_is_owed_nothing_for_the_time_before(old: str) -> None:
    cluster = Cluster(settings(old), (4, 0))
    first = cluster.submit("p", maps(9))
    cluster.update(after_ms=10_000)
    second = cluster.submit("p", maps(9))
    assert cluster.maps_of(first).deficit == 40_000
    assert cluster.maps_of(second).deficit == 0


def test_a_free_slot_goes_to_the_largest_deficit_and_then_to_the_earlier_job(old: str) -> None:
    cluster = Cluster(settings(old), (9, 0))
    first = cluster.submit("p", maps(9))
    second = cluster.submit("p", maps(9))
    assert cluster.beat() == [first]
    cluster.update(after_ms=500)
    assert cluster.maps_of(second).deficit > cluster.maps_of(first).deficit
    assert cluster.beat() == [second]


def test_a_job_below_its_guarantee_precedes_a_larger_deficit(old: str) -> None:
    file = pools(PoolAllocation("production", min_share=(2, 0)))
    cluster = Cluster(settings(old, allocations=file), (9, 0))
    other = cluster.submit("p", maps(9))
    cluster.update(after_ms=10_000)
    guaranteed = cluster.submit("production", maps(9))
    assert cluster.maps_of(guaranteed).min_share == 2
    assert [cluster.beat() for _ in range(3)] == [[guaranteed], [guaranteed], [other]]


def test_among_the_needy_the_larger_deficit_goes_first(old: str) -> None:
    file = pools(*(PoolAllocation(name, min_share=(2, 0)) for name in "ab"))
    cluster = Cluster(settings(old, allocations=file), (9, 0))
    early = cluster.submit("a", maps(9))
    cluster.update(after_ms=1000)
    late = cluster.submit("b", maps(9))
    cluster.update(after_ms=500)
    assert [cluster.beat() for _ in range(4)] == [[early], [early], [late], [late]]


def test_an_unneeded_minimum_is_used_by_the_others(old: str) -> None:
    file = pools(PoolAllocation("production", min_share=(6, 0)))
    cluster = Cluster(settings(old, allocations=file), (6, 0))
    number = cluster.submit("p", maps(9))
    assert cluster.maps_of(number).fair_share == 6.0
    assert [cluster.beat() for _ in range(6)] == [[number]] * 6


def test_what_guarantees_leave_is_shared_between_jobs_in_0_19_and_pools_in_0_20(old: str) -> None:
    file = pools(PoolAllocation("a"), PoolAllocation("b"))
    cluster = Cluster(settings(old, allocations=file), (12, 0))
    jobs = [cluster.submit("a", maps(99)), *(cluster.submit("b", maps(99)) for _ in range(2))]
    shares = [cluster.maps_of(number).fair_share for number in jobs]
    assert shares == pytest.approx([4.0, 4.0, 4.0] if old == "0.19" else [6.0, 3.0, 3.0])


@pytest.mark.slow
def test_jobs_with_long_tasks_get_as_much_time_as_those_with_short_ones(old: str) -> None:
    """Over a long run, whatever their tasks take (P-MR-010)."""
    from tests.unit.core.schedulers.pools.conftest import arrival, simulated

    jobs = [arrival(0, "short", 4000, 2), arrival(0, "long", 400, 20)]
    report = simulated(settings(old), jobs, 4, 2)
    ends = [app.turnaround_ms for app in report.applications]
    assert None not in ends
    # Both have 8000 s of work for 8 slots: with equal time both end near the end of all.
    assert min(e for e in ends if e is not None) > 0.93 * report.makespan_ms


def test_the_newcomer_gets_what_becomes_free_and_no_task_is_killed(old: str) -> None:
    cluster = Cluster(settings(old), (4, 0))
    first = cluster.submit("p", maps(99))
    for _ in range(4):
        cluster.beat()
    cluster.update(after_ms=500)
    second = cluster.submit("p", maps(99))
    cluster.update(after_ms=500)
    job = cluster.scheduler.state.applications[first]
    for container in list(job.containers)[:2]:
        from fairshare.core.model.inputs import ContainerExited

        cluster.tell(ContainerExited(container, 0))
        assert cluster.beat() == [second]
    assert job.preempted == 0


CLAIMS = st.lists(
    st.tuples(st.integers(1, 40), st.sampled_from([0.25, 0.5, 1.0, 2.0, 4.0]), st.integers(-9, 9)),
    min_size=1,
    max_size=8,
)


def slots_of(claims: list[tuple[int, float, int]]) -> list[Slots]:
    found = []
    for tasks, weight, deficit in claims:
        slots = Slots()
        slots.needed, slots.weight, slots.deficit = tasks, weight, deficit
        found.append(slots)
    return found


@given(st.integers(0, 60), CLAIMS)
def test_a_guarantee_is_given_out_as_far_as_anybody_wants_it(
    guarantee: int, claims: list[tuple[int, float, int]]
) -> None:
    jobs = slots_of(claims)
    split(guarantee, jobs, again=True)
    assert all(0 <= slots.min <= slots.wanted for slots in jobs)
    assert sum(slots.min for slots in jobs) == min(guarantee, sum(s.wanted for s in jobs))


@given(st.integers(1, 60), CLAIMS)
def test_fair_shares_use_all_slots_and_each_job_has_its_guarantee(
    total: int, claims: list[tuple[int, float, int]]
) -> None:
    jobs = slots_of(claims)
    split(total // 2, jobs)
    divide(total, jobs)
    assert sum(slots.fair_share for slots in jobs) == pytest.approx(total)
    assert all(slots.fair_share >= slots.min - 1e-9 for slots in jobs)
