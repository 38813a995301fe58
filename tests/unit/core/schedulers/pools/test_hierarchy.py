"""Pools within pools, which the proposal announces and no release has."""

import pytest
from tests.unit.core.schedulers.pools.conftest import Cluster, maps, pools, refusal, settings

from fairshare.core.model.inputs import LoadConfiguration, SubmitApplication
from fairshare.core.schedulers.pools.settings import PoolAllocation, PoolsSettings
from fairshare.errors import ConfigurationError
from fairshare.settings.pools.file import read_pools_file

FILE = """
<allocations>
  <pool name="group"><minMaps>8</minMaps>
    <pool name="etl"><minMaps>5</minMaps></pool>
    <pool name="adhoc"/>
  </pool>
</allocations>
"""


def nested(generation: str) -> PoolsSettings:
    found, problems = read_pools_file(FILE, "pools.xml", generation, hierarchical=True)  # type: ignore[arg-type]
    assert problems == ()
    return settings(generation, allocations=found, hierarchical=True)


def test_a_nested_pool_is_named_with_periods_and_is_a_child_of_the_outer_one(
    generation: str,
) -> None:
    cluster = Cluster(nested(generation), (12, 0))
    assert cluster.pool("group").children == ("root.group.adhoc", "root.group.etl")
    assert cluster.pool("group.etl").parent == "root.group"
    cluster.submit("group.etl", maps(2))
    cluster.beat()
    assert cluster.pool("group").used == cluster.pool("group.etl").used != (0, 0, 0, 0)


def test_without_the_switch_a_nested_pool_is_reported_and_ignored() -> None:
    found, problems = read_pools_file(FILE, "pools.xml", "1.2")
    assert list(found.pools) == ["group"]
    assert [problem.rule for problem in problems] == ["nested-pool", "nested-pool"]
    assert [problem.line for problem in problems] == [4, 5]


def test_inner_pools_have_minimums_and_a_group_has_its_own_together(generation: str) -> None:
    cluster = Cluster(nested(generation), (12, 0))
    crowd = [cluster.submit(f"crowd-{number}", maps(99)) for number in range(30)]
    etl, adhoc = cluster.submit("group.etl", maps(99)), cluster.submit("group.adhoc", maps(99))
    shares = [cluster.maps_of(number).fair_share for number in (etl, adhoc)]
    assert shares[0] >= 5 - 0.01
    assert sum(shares) >= 8 - 0.01
    for _ in range(12):
        cluster.beat()
    running = [cluster.maps_of(number).running for number in (etl, adhoc)]
    assert running[0] >= 5
    assert sum(running) == 8
    assert sum(cluster.maps_of(number).running for number in crowd) == 4


def test_what_an_inner_pool_leaves_of_the_minimum_goes_to_its_siblings(generation: str) -> None:
    cluster = Cluster(nested(generation), (12, 0))
    for number in range(30):
        cluster.submit(f"crowd-{number}", maps(99))
    etl, adhoc = cluster.submit("group.etl", maps(1)), cluster.submit("group.adhoc", maps(99))
    for _ in range(12):
        cluster.beat()
    assert [cluster.maps_of(number).running for number in (etl, adhoc)] == [1, 7]


def test_a_limit_of_jobs_of_the_outer_pool_counts_those_inside(generation: str) -> None:
    file = pools(
        PoolAllocation("group", max_running_jobs=1), PoolAllocation("group.a", parent="group")
    )
    cluster = Cluster(settings(generation, allocations=file, hierarchical=True), (9, 0))
    jobs = [cluster.submit("group.a", maps(1)), cluster.submit("group.b", maps(1))]
    assert [cluster.view(number).runnable for number in jobs] == [True, False]


def test_names_without_a_part_are_refused() -> None:
    cluster = Cluster(settings("1.2", hierarchical=True), (9, 0))
    assert "part without a name" in refusal(cluster.tell(SubmitApplication("ann", "a..b")))
    with pytest.raises(ConfigurationError, match="needs a name without periods"):
        read_pools_file(FILE.replace("etl", "e.tl"), "pools.xml", "1.2", hierarchical=True)


def test_neither_the_nesting_nor_the_generation_changes_while_running() -> None:
    import msgspec

    cluster = Cluster(settings("1.2"), (9, 0))
    for other in (settings("1.2", hierarchical=True), settings("0.19")):
        events = cluster.tell(LoadConfiguration(msgspec.json.encode(other)))
        assert "cannot change while running" in refusal(events)
