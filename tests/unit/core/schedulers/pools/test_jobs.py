"""Jobs and their pools: names, limits, caps, priorities, moves, weights, what is refused."""

import msgspec
import pytest
from tests.unit.core.schedulers.pools.conftest import (
    MAP,
    Cluster,
    arrival,
    maps,
    pools,
    reduces,
    refusal,
    settings,
    simulated,
)

from fairshare.core.model.inputs import (
    ContainerExited,
    MasterRegistered,
    MoveApplication,
    SetPriority,
    SubmitApplication,
)
from fairshare.core.model.resources import scale
from fairshare.core.model.work import Command, ContainerRequest
from fairshare.core.schedulers.pools.settings import FACTORS, PoolAllocation
from fairshare.core.schedulers.pools.weights import BOOSTER

NO_SLOW_START = {"mapred.reduce.slowstart.completed.maps": "0"}

# First come, first served: the job tracker's own scheduler.


def test_first_come_first_served_goes_by_priority_then_arrival() -> None:
    cluster = Cluster(settings("0.20", fifo=True), (9, 0))
    normal = [cluster.submit("p", maps(2)) for _ in range(2)]
    urgent = cluster.submit("p", maps(2), priority=4)
    served = [cluster.beat() for _ in range(6)]
    assert served == [[urgent]] * 2 + [[normal[0]]] * 2 + [[normal[1]]] * 2


def test_behind_a_large_job_a_small_one_gets_nothing_under_fifo_and_something_here() -> None:
    for fifo in (True, False):
        cluster = Cluster(settings("0.19", fifo=fifo), (2, 0))
        large = cluster.submit("p", maps(99))
        for _ in range(2):
            cluster.beat()
        small = cluster.submit("p", maps(2))
        cluster.update(after_ms=500)
        job = cluster.scheduler.state.applications[large]
        cluster.tell(ContainerExited(next(iter(job.containers)), 0))
        assert cluster.beat() == [large if fifo else small]


@pytest.mark.slow
def test_a_low_priority_job_starves_behind_a_stream_under_fifo_and_goes_on_here() -> None:
    stream = [arrival(10 * n, f"urgent-{n}", 8, 10, priority=4) for n in range(30)]
    low = arrival(1, "low", 60, 10, priority=2)
    done = {}
    for fifo in (True, False):
        report = simulated(settings("0.19", fifo=fifo), [*stream, low], 2, 4)
        (found,) = [app for app in report.applications if app.name == "low"]
        assert found.waiting_ms is not None
        done[fifo] = found.waiting_ms
    assert done[True] > 280_000
    assert done[False] < 60_000


# Names of pools.


@pytest.mark.parametrize(
    ("given", "wish", "pool"),
    [
        ({}, SubmitApplication("ann", "root.etl"), "etl"),
        ({}, SubmitApplication("ann", properties={"pool.name": " x "}), "x"),
        ({}, SubmitApplication("ann", tags=("pool.name=x",)), "x"),
        ({}, SubmitApplication("ann", properties={"mapred.fairscheduler.pool": "y"}), "y"),
        ({"defaults": {"pool.name": "${user.name}"}}, SubmitApplication("ann"), "ann"),
        ({"pool_property": "group.name"}, SubmitApplication("ann", groups=("eng",)), "eng"),
        ({}, SubmitApplication("ann"), "default"),
    ],
)
def test_the_pool_follows_from_the_jobs_properties(
    given: dict[str, object], wish: SubmitApplication, pool: str
) -> None:
    cluster = Cluster(settings("1.2", **given), (1, 0))
    cluster.tell(wish)
    assert cluster.view(1).queue == f"root.{pool}"


def test_an_undeclared_pool_is_refused_with_those_that_there_are() -> None:
    file = pools(PoolAllocation("b"), PoolAllocation("a"))
    cluster = Cluster(settings("1.2", allocations=file, allow_undeclared_pools=False), (1, 0))
    assert "pool etl is not declared in the pools file; declared are: a, b" in refusal(
        cluster.tell(SubmitApplication("ann", "etl"))
    )
    number = cluster.submit("a", maps(1))
    assert "not declared" in refusal(cluster.tell(MoveApplication(number, "etl")))


def test_a_pool_with_a_period_in_its_name_is_one_pool() -> None:
    cluster = Cluster(settings("1.2"), (4, 0))
    cluster.submit("john.doe", maps(4))
    assert cluster.pool("john.doe").parent == "root"


# Limits.


def test_a_pool_and_a_user_may_run_only_so_many_jobs(generation: str) -> None:
    file = pools(PoolAllocation("p", max_running_jobs=2), user_max_jobs={"bob": 1})
    cluster = Cluster(settings(generation, allocations=file), (9, 0))
    jobs = [cluster.submit("p", maps(1), user=user) for user in ("bob", "bob", "ann", "ann")]
    assert [cluster.view(number).runnable for number in jobs] == [True, False, True, False]
    assert cluster.view(jobs[1]).state == "PENDING"


def test_an_urgent_job_takes_the_place_of_one_that_runs_and_gives_it_back(generation: str) -> None:
    file = pools(PoolAllocation("p", max_running_jobs=1))
    cluster = Cluster(settings(generation, allocations=file), (1, 0))
    first = cluster.submit("p", maps(2))
    assert cluster.beat() == [first]
    urgent = cluster.submit("p", maps(1), priority=5)
    assert [cluster.view(number).runnable for number in (first, urgent)] == [False, True]
    assert cluster.maps_of(first).running == 1
    job = cluster.scheduler.state.applications[first]
    cluster.tell(ContainerExited(next(iter(job.containers)), 0))
    assert cluster.beat() == [urgent]
    job = cluster.scheduler.state.applications[urgent]
    cluster.tell(ContainerExited(next(iter(job.containers)), 0))
    cluster.update(after_ms=500)
    assert cluster.beat() == [first]


@pytest.mark.parametrize(
    "properties",
    [
        {"mapreduce.job.running.map.limit": "2"},
        {"mapred.jobtracker.taskScheduler.maxRunningTasksPerJob": "2"},
    ],
)
def test_a_job_never_runs_more_tasks_than_its_cap_though_slots_are_idle(
    generation: str, properties: dict[str, str]
) -> None:
    cluster = Cluster(settings(generation), (9, 0))
    capped = cluster.submit("p", maps(9), properties=properties)
    for _ in range(5):
        cluster.beat(after_ms=100)
        cluster.update(after_ms=500)
    assert cluster.maps_of(capped).running == 2


def test_a_pool_never_runs_more_tasks_than_its_maximum() -> None:
    file = pools(PoolAllocation("p", max_share=(2, 9)))
    cluster = Cluster(settings("1.2", allocations=file), (9, 0))
    for _ in range(2):
        cluster.submit("p", maps(9))
    assert len(cluster.beat()) == 2
    assert cluster.beat() == []
    other = cluster.submit("other", maps(9))
    assert cluster.beat() == [other] * 7


# Weights.


def test_a_job_in_a_pool_of_its_own_has_its_minimum_whatever_others_want(generation: str) -> None:
    file = pools(PoolAllocation("own", min_share=(3, 0)))
    cluster = Cluster(settings(generation, allocations=file), (4, 0))
    crowd = [cluster.submit("crowd", maps(99)) for _ in range(9)]
    own = cluster.submit("own", maps(99), priority=1)
    for _ in range(4):
        cluster.beat()
    assert cluster.maps_of(own).running == 3
    assert sum(cluster.maps_of(number).running for number in crowd) == 1


def test_priorities_are_weights(generation: str) -> None:
    cluster = Cluster(settings(generation), (31, 0))
    jobs = [cluster.submit("p", maps(99), priority=priority) for priority in (1, 2, 3, 4, 5)]
    shares = [cluster.maps_of(number).fair_share for number in jobs]
    assert shares == pytest.approx([1, 2, 4, 8, 16], abs=0.01)


def test_with_no_weight_for_the_lowest_priority_such_a_job_takes_only_what_is_idle() -> None:
    file = pools(PoolAllocation("back", min_share=(2, 0)))
    factors = (0.0, *FACTORS[1:])
    given = settings("0.19", allocations=file, priority_factors=factors)
    cluster = Cluster(given, (6, 0))
    front = cluster.submit("p", maps(3))
    back = cluster.submit("back", maps(99), priority=1)
    assert cluster.maps_of(back).fair_share == 2.0
    for _ in range(6):
        cluster.beat()
    assert cluster.maps_of(front).running == 3
    assert cluster.maps_of(back).running == 3  # its two, and the one that nobody wants
    cluster = Cluster(msgspec.structs.replace(given, priority_factors=FACTORS), (6, 0))
    back = cluster.submit("back", maps(99), priority=1)
    cluster.submit("p", maps(99))
    assert cluster.maps_of(back).fair_share == 2.0


def test_a_lowest_priority_job_runs_its_minimum_and_no_more_while_others_want() -> None:
    file = pools(PoolAllocation("back", min_share=(2, 0)))
    given = settings("0.19", allocations=file, priority_factors=(0.0, *FACTORS[1:]))
    cluster = Cluster(given, (6, 0))
    back, front = cluster.submit("back", maps(99), priority=1), cluster.submit("p", maps(99))
    for _ in range(6):
        cluster.update(after_ms=500)
        cluster.beat()
    assert [cluster.maps_of(number).running for number in (back, front)] == [2, 4]


def test_the_size_of_a_job_may_count(generation: str) -> None:
    cluster = Cluster(settings(generation, size_based_weight=True), (100, 0))
    small, large = cluster.submit("p", maps(1)), cluster.submit("p", maps(1023))
    assert cluster.maps_of(small).weight * 10 == pytest.approx(cluster.maps_of(large).weight)


def boosted(**fields: object) -> object:
    return settings("0.19", weight_adjuster=BOOSTER, **fields)


def test_a_new_job_weighs_three_times_as_much_for_five_minutes() -> None:
    for name, after in ((BOOSTER, 3.0), ("", 1.0)):
        cluster = Cluster(settings("0.19", weight_adjuster=name), (4, 0))
        number = cluster.submit("p", maps(9))
        assert cluster.maps_of(number).weight == after
        cluster.update(after_ms=299_999)
        assert cluster.maps_of(number).weight == after
        cluster.update(after_ms=1)
        assert cluster.maps_of(number).weight == 1.0


def test_the_boost_may_last_ten_minutes_and_count_from_the_first_task() -> None:
    given = settings(
        "0.19",
        weight_adjuster=BOOSTER,
        booster_duration_ms=600_000,
        boost_from="first-task",
    )
    cluster = Cluster(given, (4, 0))
    number = cluster.submit("p", maps(9))
    cluster.update(after_ms=900_000)
    assert cluster.maps_of(number).weight == 3.0
    cluster.beat()
    cluster.update(after_ms=599_999)
    assert cluster.maps_of(number).weight == 3.0
    cluster.update(after_ms=1)
    assert cluster.maps_of(number).weight == 1.0


@pytest.mark.slow
def test_with_the_boost_a_short_job_ends_earlier_and_long_ones_still_reach_their_minimum() -> None:
    file = pools(PoolAllocation("production", min_share=(2, 0)))
    jobs = [
        *(arrival(n / 10, f"long-{n}", 300, 7 + n / 3, pool="crowd") for n in range(6)),
        arrival(0.5, "guaranteed", 300, 8, pool="production"),
        arrival(600, "short", 24, 10, pool="crowd"),
    ]
    ends = {}
    for name in ("", BOOSTER):
        given = settings("0.19", allocations=file, weight_adjuster=name)
        report = simulated(given, jobs, 4, 2)
        (short,) = [app for app in report.applications if app.name == "short"]
        ends[name] = short.turnaround_ms
        assert all(app.state == "FINISHED" for app in report.applications)
    assert ends[BOOSTER] < ends[""]  # type: ignore[operator]
    cluster = Cluster(settings("0.19", allocations=file, weight_adjuster=BOOSTER), (8, 0))
    old = cluster.submit("production", maps(99))
    cluster.update(after_ms=300_000)
    for _ in range(4):
        cluster.submit("crowd", maps(99))
    assert cluster.maps_of(old).fair_share == 2.0


# Changes while a job runs.


def test_a_job_moves_with_what_it_runs(generation: str) -> None:
    cluster = Cluster(settings(generation), (4, 0))
    number = cluster.submit("a", maps(9))
    cluster.beat()
    running = cluster.maps_of(number).running
    cluster.tell(MoveApplication(number, "root.b"))
    cluster.update(after_ms=500)
    assert cluster.view(number).queue == "root.b"
    assert cluster.pool("b").used == scale(MAP, running)
    assert cluster.pool("a").used == scale(MAP, 0)
    assert cluster.pool("a").pool.jobs == 0  # type: ignore[union-attr]


def test_a_priority_changes_the_shares_at_the_next_update(generation: str) -> None:
    cluster = Cluster(settings(generation), (6, 0))
    one, two = (cluster.submit("p", maps(9)) for _ in range(2))
    cluster.tell(SetPriority(one, 4))
    cluster.update(after_ms=500)
    shares = [cluster.maps_of(number).fair_share for number in (one, two)]
    assert shares == pytest.approx([4, 2], abs=0.01)
    assert cluster.job(one).priority == "HIGH"
    cluster.tell(SetPriority(one, 0))
    assert cluster.job(one).priority == "NORMAL"


@pytest.mark.parametrize(
    ("wish", "reason"),
    [
        (SetPriority(1, 6), "there is no priority 6: there are 1 VERY_LOW"),
        (SubmitApplication("ann", priority=9), "there is no such priority"),
        (SubmitApplication("ann", properties={"mapred.job.priority": "SOON"}), "no such priority"),
        (
            SubmitApplication("ann", tasks=(maps(1, priority=1),), master=scale(MAP, 2)),
            "one of map",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_what_can(wish: object, reason: str) -> None:
    cluster = Cluster(settings("1.2"), (1, 0))
    cluster.submit("p", maps(1))
    assert reason in refusal(cluster.tell(wish))  # type: ignore[arg-type]


def test_the_priority_may_be_given_in_the_jobs_property() -> None:
    cluster = Cluster(settings("1.2"), (1, 0))
    number = cluster.submit("p", maps(1), properties={"mapred.job.priority": "VERY_HIGH"})
    assert (cluster.view(number).priority, cluster.job(number).priority) == (5, "VERY_HIGH")


# Applications that are no jobs of MapReduce.


def test_what_names_no_slots_takes_a_map_slot_and_a_driver_starts_with_one(generation: str) -> None:
    cluster = Cluster(settings(generation), (2, 0))
    cluster.tell(SubmitApplication("ann", master=(0, 0, 0, 0), driver=Command(("run",))))
    assert cluster.beat() == [1]
    cluster.tell(MasterRegistered(1))
    from fairshare.core.model.inputs import RequestContainers

    cluster.tell(RequestContainers(1, (ContainerRequest(1, (0, 0, 0, 0)),)))
    cluster.update(after_ms=500)
    assert cluster.beat() == [1]
    assert cluster.view(1).used == scale(MAP, 2)


def test_reduces_of_0_20_start_when_a_twentieth_of_the_maps_has_finished() -> None:
    cluster = Cluster(settings("0.20"), (1, 1))
    number = cluster.submit("p", maps(2), reduces(1))
    assert cluster.job(number).reduces.needed == 0
    cluster.beat()
    job = cluster.scheduler.state.applications[number]
    cluster.tell(ContainerExited(next(iter(job.containers)), 0))
    cluster.update(after_ms=500)
    assert cluster.job(number).reduces.needed == 1


@pytest.mark.parametrize(("strict", "needed"), [(False, 1), (True, 0)])
def test_a_job_without_maps_starts_its_reduces_unless_strict(strict: bool, needed: int) -> None:
    cluster = Cluster(settings("0.20", strict=strict), (1, 1))
    number = cluster.submit("p", reduces(1))
    assert cluster.job(number).reduces.needed == needed


# The pools file, while jobs run.


def test_a_cluster_can_be_divided_between_groups_by_their_minimums(generation: str) -> None:
    file = pools(PoolAllocation("a", min_share=(6, 2)), PoolAllocation("b", min_share=(4, 3)))
    cluster = Cluster(settings(generation, allocations=file, wait_for_maps=False), (5, 2), (5, 3))
    jobs = [cluster.submit(name, maps(99), reduces(99), properties=NO_SLOW_START) for name in "ab"]
    for _ in range(8):
        for node in ("n1", "n2"):
            cluster.beat(node)
    found = [(cluster.job(n).maps.running, cluster.job(n).reduces.running) for n in jobs]
    assert found == [(6, 2), (4, 3)]


def test_a_new_file_changes_shares_and_disturbs_no_running_task(generation: str) -> None:
    cluster = Cluster(settings(generation), (4, 0))
    one, two = (cluster.submit(name, maps(9)) for name in "ab")
    for _ in range(4):
        cluster.beat()
    running = [cluster.maps_of(number).running for number in (one, two)]
    file = pools(PoolAllocation("b", min_share=(3, 0)))
    cluster.load(msgspec.structs.replace(cluster.settings, allocations=file))
    assert [cluster.maps_of(number).running for number in (one, two)] == running
    cluster.update(after_ms=500)
    shares = [cluster.maps_of(number).fair_share for number in (one, two)]
    assert shares == pytest.approx([1, 3], abs=0.01)
    assert [cluster.maps_of(number).running for number in (one, two)] == running


def test_deficits_are_updated_twice_a_second_while_there_are_jobs() -> None:
    cluster = Cluster(settings("0.19"), (4, 0))
    cluster.update()
    assert cluster.scheduler.update_interval_ms() is None
    cluster.submit("p", maps(1))
    assert cluster.scheduler.update_interval_ms() == 500
    faster = msgspec.structs.replace(cluster.settings, update_interval_ms=250)
    cluster.load(faster)
    assert cluster.scheduler.update_interval_ms() == 250
