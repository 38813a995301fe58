"""1.2: shares by filling, the order of pools, delay scheduling, preemption."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.schedulers.pools.conftest import Cluster, maps, pools, reduces, settings

from fairshare.core.model.events import ContainerCompleted, OffersCounted, SharesUpdated
from fairshare.core.model.inputs import NodeBeat, NodeJoined, PreemptContainers, UpdateShares
from fairshare.core.schedulers.pools.service_orders import fair_rank
from fairshare.core.schedulers.pools.settings import PoolAllocation
from fairshare.core.schedulers.pools.sharing import Claim, fill, scaled

CLAIMS = st.lists(
    st.builds(
        Claim,
        demand=st.integers(0, 60),
        min_share=st.integers(0, 20),
        weight=st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0, 4.0]),
    ),
    max_size=8,
)


@given(st.integers(0, 100), CLAIMS)
def test_a_share_is_between_minimum_and_demand_and_all_slots_are_used(
    total: int, claims: list[Claim]
) -> None:
    shares = fill(total, claims)
    for share, claim in zip(shares, claims, strict=True):
        assert min(claim.min_share, claim.demand) <= share <= claim.demand
    rising = [claim for claim in claims if claim.weight > 0.0]
    least = sum(min(claim.min_share, claim.demand) for claim in claims)
    if rising and least <= total:
        still = sum(min(c.min_share, c.demand) for c in claims if not c.weight)
        most = sum(claim.demand for claim in rising) + still
        assert sum(shares) == pytest.approx(min(total, most), abs=0.01)


@given(st.integers(0, 100), CLAIMS)
def test_more_slots_lower_nobodys_share(total: int, claims: list[Claim]) -> None:
    fewer, more = fill(total, claims), fill(total + 5, claims)
    assert all(b >= a - 0.01 for a, b in zip(fewer, more, strict=True))


@given(st.integers(0, 100), CLAIMS)
def test_scaled_minimums_fit(total: int, claims: list[Claim]) -> None:
    assert sum(min(c.min_share, c.demand) for c in scaled(total, claims)) <= total


RANKS = st.builds(
    fair_rank,
    running=st.integers(0, 20),
    demand=st.integers(0, 20),
    least=st.integers(0, 20),
    weight=st.sampled_from([0.0, 0.5, 1.0, 2.0]),
    start_ms=st.integers(0, 3),
    name=st.sampled_from("ab"),
)


@given(st.lists(RANKS))
def test_the_fair_order_is_a_total_one(ranks: list[object]) -> None:
    backwards, ordered = ranks[::-1], sorted(ranks)  # type: ignore[type-var]
    assert sorted(backwards) == ordered  # type: ignore[type-var]


def test_shares_are_divided_between_pools_then_jobs() -> None:
    file = pools(PoolAllocation("a", weight=2.0), PoolAllocation("b"))
    cluster = Cluster(settings("1.2", allocations=file), (12, 0))
    jobs = [cluster.submit("a", maps(99)), *(cluster.submit("b", maps(99)) for _ in range(2))]
    assert cluster.pool("a").pool.maps.fair_share == pytest.approx(8, abs=0.01)  # type: ignore[union-attr]
    shares = [cluster.maps_of(number).fair_share for number in jobs]
    assert shares == pytest.approx([8, 2, 2], abs=0.01)


def test_a_node_is_filled_in_one_heartbeat_with_both_kinds_in_turn() -> None:
    cluster = Cluster(settings("1.2"), (2, 2))
    number = cluster.submit("p", maps(2), reduces(2), properties={
        "mapred.reduce.slowstart.completed.maps": "0"})  # fmt: skip
    assert cluster.beat() == [number] * 4
    assert cluster.view(number).used == (0, 0, 2, 2)


def test_reduces_wait_for_their_part_of_the_maps() -> None:
    cluster = Cluster(settings("1.2"), (2, 2))
    number = cluster.submit("p", maps(2), reduces(2))
    assert cluster.beat() == [number] * 2
    assert cluster.job(number).reduces.demand == 0


def test_a_job_waits_for_its_node_and_the_wait_is_in_the_record() -> None:
    given = settings("1.2", locality_delay_node_ms=5000, locality_delay_rack_ms=5000)
    cluster = Cluster(given, (1, 0))
    cluster.tell(NodeJoined("far", cluster.scheduler.state.total, "/r2"))
    number = cluster.submit("p", maps(1, hosts=("n1",)))
    events = cluster.tell(NodeBeat("far"), 1000)
    assert [type(event) for event in events] == [OffersCounted]
    assert cluster.tell(NodeBeat("far")) == ()  # nothing more at the same instant
    assert cluster.beat("far", after_ms=4000) == []
    assert cluster.job(number).waited_ms == 4000
    assert cluster.beat("far", after_ms=5000) == []
    assert cluster.beat("far", after_ms=1000) == [number]
    assert cluster.job(number).level == "any"


def test_the_newest_tasks_of_pools_above_their_share_are_killed_after_the_timeout() -> None:
    file = pools(PoolAllocation("a", min_share=(1, 0), min_share_timeout_ms=10_000))
    cluster = Cluster(settings("1.2", preemption=True, allocations=file), (2, 0))
    hog = cluster.submit("hog", maps(9))
    cluster.tell(NodeBeat("n1"))
    cluster.update(after_ms=500)
    newest = max(cluster.scheduler.state.applications[hog].containers)
    cluster.submit("a", maps(9))
    cluster.update(after_ms=500)
    assert cluster.tell(PreemptContainers(), 9000) == ()  # the last check is too young
    events = cluster.tell(PreemptContainers(), 6000)
    killed = [event for event in events if isinstance(event, ContainerCompleted)]
    assert [(event.container, event.exit_code) for event in killed] == [(newest, -102)]
    assert cluster.scheduler.state.applications[hog].over is False


def test_preemption_that_only_logs_kills_nothing() -> None:
    file = pools(PoolAllocation("a", min_share=(1, 0), min_share_timeout_ms=1000))
    given = settings("1.2", preemption=True, preemption_only_log=True, allocations=file)
    cluster = Cluster(given, (2, 0))
    hog = cluster.submit("hog", maps(9))
    cluster.tell(NodeBeat("n1"))
    cluster.submit("a", maps(9))
    cluster.update(after_ms=500)
    cluster.tell(PreemptContainers(), 20_000)
    assert cluster.maps_of(hog).running == 2


def test_scaled_minimums_share_a_cluster_that_is_too_small() -> None:
    file = pools(PoolAllocation("a", min_share=(6, 0)), PoolAllocation("b", min_share=(6, 0)))
    for scale, share in ((False, 6.0), (True, 3.0)):
        cluster = Cluster(settings("1.2", allocations=file, scale_min_shares=scale), (6, 0))
        for name in "ab":
            cluster.submit(name, maps(9))
        found = cluster.pool("a").pool
        assert found is not None
        assert found.maps.fair_share == pytest.approx(share, abs=0.01)


def test_an_update_that_could_change_nothing_emits_no_event() -> None:
    cluster = Cluster(settings("1.2"), (2, 0))
    cluster.submit("p", maps(1))
    assert cluster.tell(UpdateShares(), 500) == ()
    cluster = Cluster(settings("0.19"), (2, 0))
    cluster.update()
    assert cluster.tell(UpdateShares(), 500) == ()
    cluster.submit("p", maps(1))
    assert cluster.tell(UpdateShares(), 500) == (SharesUpdated(),)
