"""Both configurations on one workload: what is measured, and what is said of it."""

import msgspec
import pytest
from tests.unit.lab.convert.fair_to_capacity.converted import converted, read_fair_text

from fairshare.core.model.inputs import NodeJoined, SubmitApplication
from fairshare.core.model.work import TaskGroup
from fairshare.lab.convert.comparison import (
    Comparison,
    QueueComparison,
    QueueMetrics,
    compare,
    sentence,
    verdict,
)
from fairshare.lab.convert.fair_to_capacity.capacities import entitlements
from fairshare.lab.convert.fair_to_capacity.converting import convert
from fairshare.lab.convert.fair_to_capacity.draft import Draft, Finding, Options
from fairshare.lab.convert.fair_to_capacity.source import Source
from fairshare.lab.convert.fair_to_capacity.tree import Tree
from fairshare.lab.convert.generation import (
    generate,
    known_cluster,
    known_count,
    nodes_for,
    total_of,
)
from fairshare.lab.simulate.workload import Arrival, GroupPlan, Workload

NODES = tuple(NodeJoined(f"n{number}", (8192, 8)) for number in range(2))
PLAIN = "<queue name='ml'/><queue name='etl'/>"
MINIMUM = (
    "<queue name='ml'><minResources>12288 mb, 12 vcores</minResources></queue><queue name='etl'/>"
)


def source_of(queues: str) -> Source:
    return read_fair_text(f"<allocations>{queues}</allocations>".encode())


def arrival(at_ms: int, queue: str, count: int, duration_ms: int = 10_000) -> Arrival:
    submission = SubmitApplication(
        user="ann",
        queue=queue,
        tasks=(TaskGroup(name="tasks", count=count, resource=(1024, 1)),),
    )
    return Arrival(at_ms, submission, (GroupPlan(duration_ms),))


def compared(queues: str, *arrivals: Arrival, mode: str = "weights") -> Comparison:
    source = source_of(queues)
    given = Options(mode=mode, cluster=total_of(NODES), nodes=2)  # type: ignore[arg-type]
    conversion = convert(source, given)
    return compare(source, conversion, Workload(NODES, arrivals), NODES)


def queue(comparison: Comparison, name: str) -> QueueComparison:
    return next(one for one in comparison.queues if one.name == name)


def test_a_queue_that_is_alone_fares_alike() -> None:
    comparison = compared(PLAIN, arrival(0, "root.ml", 16), arrival(5_000, "root.ml", 16))
    ml = queue(comparison, "root.ml")
    assert ml.before is not None
    assert ml.after is not None
    assert (ml.before.containers, ml.after.containers) == (32, 32)
    assert ml.before.resource_seconds == {"memory-mb": 32 * 1024 * 10, "vcores": 320}
    assert ml.after.resource_seconds == ml.before.resource_seconds
    assert sentence(queue(comparison, "root.etl"), ()) == (
        "root.etl has no applications in this workload."
    )


def test_a_minimum_that_is_lost_is_seen_in_the_share_and_named_in_the_sentence() -> None:
    arrivals = (arrival(0, "root.ml", 400), arrival(0, "root.etl", 400))
    comparison = compared(MINIMUM, *arrivals)
    ml = queue(comparison, "root.ml")
    assert ml.before is not None
    assert ml.after is not None
    assert ml.before.shares[0] == pytest.approx(0.75, abs=0.02)  # 12 of 16 GB
    assert ml.after.shares[0] == pytest.approx(0.5, abs=0.02)
    lost = [one for one in converted(MINIMUM, known=False).findings if one.rule == "minimum"]
    assert "its minimum of 12 GB, 12 vcores is not guaranteed there" in sentence(ml, lost)
    kept = queue(compared(MINIMUM, *arrivals, mode="percentage"), "root.ml")
    assert kept.after is not None
    assert kept.after.shares[0] == pytest.approx(ml.before.shares[0], abs=0.03)


def test_waiting_for_room_for_masters_is_measured_by_taking_the_limit_away() -> None:
    arrivals = [arrival(number * 100, "root.ml", 16) for number in range(6)]
    arrivals += [arrival(0, "root.etl", 64)]
    queues = PLAIN + "<queueMaxAMShareDefault>0.1</queueMaxAMShareDefault>"
    ml = queue(compared(queues, *sorted(arrivals, key=lambda one: one.at_ms)), "root.ml")
    assert ml.unlimited is not None
    assert "maximum-am-resource-percent" in sentence(ml, ())


def test_a_renamed_queue_gets_the_applications_of_the_old_name() -> None:
    comparison = compared("<queue name='a,b'/><queue name='c'/>", arrival(0, "root.a,b", 4))
    one = queue(comparison, "root.a,b")
    assert (one.path, one.elsewhere) == ("root.a_b", 0)
    assert one.after is not None
    assert one.after.containers == 4


def test_newly_refused_applications_are_reported() -> None:
    queues = (
        "<queue name='a'><maxResources>0 mb, 0 vcores</maxResources><queue name='x'/></queue>"
        "<queue name='b'/>"
    )
    comparison = compared(queues, arrival(0, "root.a.x", 4), arrival(0, "root.b", 4))
    reported = sentence(queue(comparison, "root.a.x"), ())
    assert "has 1 application refused that were not" in reported


def test_a_comparison_says_the_same_every_time() -> None:
    source = source_of(MINIMUM)
    conversion = convert(source, Options(cluster=total_of(NODES), nodes=2))
    workload = generate(source, NODES, 7)
    first = compare(source, conversion, workload, NODES, 120_000)
    assert compare(source, conversion, generate(source, NODES, 7), NODES, 120_000) == first


def test_the_least_time_follows_the_chain_of_groups() -> None:
    groups = (
        TaskGroup(name="map", count=2, resource=(1024, 1)),
        TaskGroup(name="reduce", count=1, resource=(1024, 1), after=("map",)),
        TaskGroup(name="early", count=1, resource=(1024, 1), after=("map",), slow_start=0.1),
    )
    plans = (GroupPlan((30, 10)), GroupPlan(5), GroupPlan(20))
    one = Arrival(0, SubmitApplication(user="ann", tasks=groups), plans)
    assert one.least_ms == 35


# A workload made up.


def test_a_made_up_workload_loads_every_leaf_and_is_the_same_for_the_same_seed() -> None:
    source = source_of("<queue name='a'><queue name='b'/></queue><queue name='c'/>")
    workload = generate(source, NODES, 3)
    assert {one.submission.queue for one in workload.arrivals} == {"root.a.b", "root.c"}
    assert workload == generate(source, NODES, 3)
    assert workload != generate(source, NODES, 4)
    assert [one.at_ms for one in workload.arrivals] == sorted(
        one.at_ms for one in workload.arrivals
    )


def test_a_generated_container_is_within_the_limits_of_its_queue() -> None:
    queues = (
        "<queue name='a'><maxContainerAllocation>2048 mb, 1 vcores</maxContainerAllocation></queue>"
    )
    nodes = (NodeJoined("n", (819_200, 100)),)
    workload = generate(source_of(queues + "<queue name='b'/>"), nodes, 1)
    sizes = {one.submission.queue: one.submission.tasks[0].resource[0] for one in workload.arrivals}
    assert sizes == {"root.a": 2048, "root.b": 8192}


def test_without_queues_the_default_one_is_loaded() -> None:
    assert {one.submission.queue for one in generate(source_of(""), NODES, 1).arrivals} == {
        "root.default"
    }


@pytest.mark.slow
def test_a_made_up_workload_makes_every_queue_wait_also_on_a_large_cluster() -> None:
    six = "".join(f"<queue name='q{number}'/>" for number in range(6))
    source = source_of(six)
    nodes = nodes_for(source, (1_600_000, 400), 4, ())
    conversion = convert(source, Options(cluster=total_of(nodes), nodes=4))
    comparison = compare(source, conversion, generate(source, nodes, 1), nodes)
    assert comparison.used > 0.9
    assert verdict(comparison) == ""
    shares = entitlements(source, Tree(source, Draft()), total_of(nodes))
    first: dict[str, TaskGroup] = {}
    for one in generate(source, nodes, 1).arrivals:
        first.setdefault(one.submission.queue, one.submission.tasks[0])
    for name, group in first.items():
        assert group.count * group.resource[0] > shares[name][0]


def test_a_workload_that_fills_nothing_compares_nothing_and_says_so() -> None:
    comparison = compared(PLAIN, arrival(0, "root.ml", 2), arrival(0, "root.etl", 2))
    assert comparison.used == pytest.approx(0.25, abs=0.1)
    assert "this compares nothing" in verdict(comparison)
    assert f"{comparison.used:.0%} of the cluster" in verdict(comparison)
    reported = sentence(queue(comparison, "root.ml"), ())
    assert "fares alike" not in reported
    assert reported.startswith("root.ml had room for all that it wanted, in both")


def test_a_queue_at_its_own_maximum_is_compared_though_the_cluster_is_not_full() -> None:
    bounded = "<queue name='ml'><maxResources>4096 mb, 4 vcores</maxResources></queue>"
    comparison = compared(bounded + "<queue name='etl'/>", arrival(0, "root.ml", 40, 20_000))
    assert comparison.used < 0.5
    assert queue(comparison, "root.ml").contended
    assert verdict(comparison) == ""


# Which cluster.


def test_the_cluster_is_what_is_said_else_what_the_workload_has() -> None:
    source = source_of(PLAIN)
    assert known_cluster(source, {"memory-mb": 10, "vcores": 2}, NODES) == (10, 2)
    assert known_cluster(source, None, NODES) == (16_384, 16)
    assert known_cluster(source, None, ()) is None
    assert (known_count(source, None, False, NODES), known_count(source, 5, True, ())) == (2, 5)
    assert known_count(source, None, True, NODES) is None


def test_nodes_are_so_many_that_the_largest_container_still_fits() -> None:
    source = source_of(PLAIN)
    assert len(nodes_for(source, (40_960, 40), None, ())) == 5
    assert len(nodes_for(source, (819_200, 400), None, ())) == 10
    assert nodes_for(source, (16_384, 16), None, NODES) == NODES
    assert [node.total for node in nodes_for(source, (100, 10), 2, ())] == [(50, 5), (50, 5)]


# Sentences.


def metrics(waiting_ms: int | None, share: float = 0.5, **more: int) -> QueueMetrics:
    return QueueMetrics(
        applications=4,
        refused=0,
        unfinished=more.get("unfinished", 0),
        containers=10,
        preempted=0,
        resource_seconds={},
        waiting_mean_ms=waiting_ms,
        waiting_p95_ms=waiting_ms,
        slowdown=2.0,
        share=share,
        shares=(share,) * 4,
    )


def said(before: QueueMetrics | None, after: QueueMetrics | None, *findings: Finding) -> str:
    return sentence(QueueComparison("root.ml", "root.ml", before, after, 0), findings)


def lost(rule: str, value: str, name: str = "root.ml") -> Finding:
    return Finding(name, rule, "", value, "lost", "", "", "", 0)


def test_a_longer_wait_is_said_with_its_factor_and_what_was_lost() -> None:
    assert said(metrics(20_000), metrics(42_000), lost("minimum", "40 GB")) == (
        "root.ml waits 2.1 times as long (42 s on average, before 20 s):"
        " its minimum of 40 GB is not guaranteed there."
    )


def test_what_was_lost_above_a_queue_counts_and_what_was_lost_beside_it_does_not() -> None:
    above = said(metrics(20_000), metrics(42_000), lost("minimum", "40 GB", "root"))
    assert "in root above it, its minimum of 40 GB" in above
    for name in ("root.ml2", "root.m"):
        beside = said(metrics(20_000), metrics(42_000), lost("minimum", "40 GB", name))
        assert "nothing that was lost would explain it" in beside


def test_what_another_queue_lost_explains_what_this_one_gains_or_pays() -> None:
    gained = said(metrics(42_000), metrics(20_000), lost("minimum", "40 GB", "root.etl"))
    assert gained.endswith(": the minimum of root.etl is not guaranteed there (40 GB).")
    paid = said(metrics(20_000), metrics(42_000), lost("maximum", "40 GB", "root.etl"))
    assert paid.endswith(": the maximum of root.etl does not hold there (40 GB).")


def test_a_shorter_wait_is_not_explained_by_a_minimum_that_helped() -> None:
    reported = said(metrics(42_000), metrics(20_000), lost("maximum", "10 GB"))
    assert reported == (
        "root.ml waits 48% of the time (20 s on average, before 42 s):"
        " its maximum of 10 GB does not hold there."
    )


def test_a_negligible_difference_is_not_reported() -> None:
    assert said(metrics(20_000), metrics(21_000)) == (
        "root.ml fares alike: waits 21 s, uses 50% of the cluster."
    )
    assert "fares alike" in said(metrics(10), metrics(900))


def test_unfinished_applications_and_missing_queues_are_reported() -> None:
    assert "leaves 3 of 4 applications unfinished, before 0" in said(
        metrics(10), metrics(10, unfinished=3)
    )
    assert said(metrics(10), None) == "root.ml has no applications any more: 4 applications before."
    assert said(None, metrics(10)) == "root.ml has 4 applications now, and had none."


def test_a_share_is_compared_in_the_first_part_of_the_time_where_it_differs() -> None:
    before, after = metrics(10, share=0.5), metrics(10, share=0.5)
    after = msgspec.structs.replace(after, shares=(0.5, 0.3, 0.6, 0.5))
    assert said(before, after).startswith(
        "root.ml uses 30% of the cluster in the second quarter, before 50%"
    )
