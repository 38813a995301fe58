"""maxResources and its relatives: percentages, amounts, amounts by type, closed queues."""

import pytest
from tests.unit.lab.convert.fair_to_capacity.converted import CLUSTER, converted, finding, written

from fairshare.lab.convert.fair_to_capacity.draft import Mode, Options

HALF = "<queue name='a'><maxResources>50%</maxResources></queue><queue name='b'/>"
AMOUNT = "<queue name='a'><maxResources>20480 mb, 20 vcores</maxResources></queue><queue name='b'/>"
MIXED = "<queue name='a'><maxResources>50% memory, 25% cpu</maxResources></queue>"
DRF = "<defaultQueueSchedulingPolicy>drf</defaultQueueSchedulingPolicy>"


@pytest.mark.parametrize("known", [True, False])
def test_a_percentage_stays_one(known: bool) -> None:
    conversion = converted(HALF, known=known)
    assert written(conversion)["root.a.maximum-capacity"] == "50"
    assert "root.b.maximum-capacity" not in written(conversion)
    assert finding(conversion, "maximum", "root.a").outcome == "kept"


def test_a_percentage_counts_from_the_maximum_of_the_queue_above() -> None:
    queues = (
        "<queue name='p'><maxResources>60%</maxResources>"
        "<queue name='a'><maxResources>30%</maxResources></queue>"
        "<queue name='b'><maxResources>80%</maxResources></queue></queue>"
    )
    conversion = converted(queues)
    properties = written(conversion)
    assert properties["root.p.maximum-capacity"] == "60"
    assert properties["root.p.a.maximum-capacity"] == "50"
    assert "root.p.b.maximum-capacity" not in properties  # 80 % cannot be reached below 60 %


def test_an_amount_is_a_part_of_the_known_cluster() -> None:
    conversion = converted(AMOUNT)
    assert written(conversion)["root.a.maximum-capacity"] == "20"
    assert finding(conversion, "maximum", "root.a").outcome == "changed"


def test_an_amount_is_lost_without_the_cluster_and_the_reason_names_both_ways_out() -> None:
    conversion = converted(AMOUNT, known=False)
    reported = finding(conversion, "maximum", "root.a")
    assert "root.a.maximum-capacity" not in written(conversion)
    assert reported.outcome == "lost"
    assert "--cluster" in reported.why
    assert "--mode vectors" in reported.why


def test_of_two_percentages_memory_counts_or_the_larger_where_all_types_do() -> None:
    assert written(converted(MIXED))["root.a.maximum-capacity"] == "50"
    assert finding(converted(MIXED), "maximum", "root.a").outcome == "changed"
    other = MIXED.replace("50% memory, 25% cpu", "25% memory, 50% cpu")
    assert written(converted(other))["root.a.maximum-capacity"] == "25"
    assert written(converted(other + DRF))["root.a.maximum-capacity"] == "50"


@pytest.mark.parametrize("mode", ["absolute", "vectors"])
def test_amounts_for_each_type_are_kept_where_they_can_be_written(mode: Mode) -> None:
    conversion = converted(AMOUNT, mode)
    if mode == "absolute":  # its share is half of the cluster, and a maximum cannot be below it
        assert written(conversion)["root.a.maximum-capacity"] == "[memory=20480,vcores=20]"
    else:
        assert written(conversion)["root.a.maximum-capacity"] == "[memory=20480,vcores=20]"
        assert written(conversion)["legacy-queue-mode.enabled"] == "false"
    assert finding(conversion, "maximum", "root.a").outcome == "kept"


def test_percentages_for_each_type_are_kept_as_vectors() -> None:
    conversion = converted(MIXED, "vectors", known=False)
    assert written(conversion)["root.a.maximum-capacity"] == "[memory=50%,vcores=25%]"
    assert finding(conversion, "maximum", "root.a").outcome == "kept"


def test_a_type_without_bound_has_all_of_the_queue_above_in_a_vector() -> None:
    queues = "<queue name='a'><maxResources>vcores=4</maxResources></queue>"
    properties = written(converted(queues, "vectors"))
    assert properties["root.a.maximum-capacity"] == "[memory=100%,vcores=4]"


def test_a_minimum_above_the_maximum_wins_as_it_does_there() -> None:
    queues = (
        "<queue name='a'><minResources>40960 mb, 40 vcores</minResources>"
        "<maxResources>20480 mb, 20 vcores</maxResources></queue><queue name='b'/>"
    )
    assert written(converted(queues))["root.a.maximum-capacity"] == "40"


def test_the_maximum_for_all_queues_bounds_those_that_say_nothing() -> None:
    conversion = converted(
        HALF + "<queueMaxResourcesDefault>80%</queueMaxResourcesDefault>", known=False
    )
    properties = written(conversion)
    assert properties["root.b.maximum-capacity"] == "80"
    assert finding(conversion, "maximum", "root.b").element == "queueMaxResourcesDefault"


def test_roots_maximum_bounds_each_queue_below_it() -> None:
    queues = f"<queue name='root'><maxResources>60%</maxResources>{HALF}</queue>"
    conversion = converted(queues)
    properties = written(conversion)
    assert "root.maximum-capacity" not in properties
    assert (properties["root.a.maximum-capacity"], properties["root.b.maximum-capacity"]) == (
        "50",
        "60",
    )
    reported = finding(conversion, "maximum", "root")
    assert (reported.outcome, "not their sum" in reported.why) == ("changed", True)


@pytest.mark.parametrize("mode", ["weights", "percentage", "absolute", "vectors"])
@pytest.mark.parametrize("most", ["0 mb, 0 vcores", "8192 mb, 0 vcores"])
def test_a_queue_in_which_nothing_can_run_is_stopped(mode: Mode, most: str) -> None:
    queues = f"<queue name='a'><maxResources>{most}</maxResources></queue><queue name='b'/>"
    conversion = converted(queues, mode)
    assert written(conversion)["root.a.state"] == "STOPPED"
    assert finding(conversion, "maximum", "root.a").outcome == "changed"


def test_a_maximum_above_the_cluster_has_no_effect() -> None:
    queues = "<queue name='a'><maxResources>204800 mb, 200 vcores</maxResources></queue>"
    conversion = converted(queues)
    assert "root.a.maximum-capacity" not in written(conversion)
    assert finding(conversion, "maximum", "root.a").outcome == "kept"


def test_the_calculator_that_is_chosen_decides_what_a_maximum_counts() -> None:
    given = Options(cluster=CLUSTER, calculator="dominant")
    other = MIXED.replace("50% memory, 25% cpu", "25% memory, 50% cpu")
    assert written(converted(other, given=given))["root.a.maximum-capacity"] == "50"


def test_no_amount_is_above_that_of_the_queue_above_which_would_be_refused() -> None:
    queues = (
        "<queue name='p'><maxResources>10240 mb, 10 vcores</maxResources>"
        "<queue name='a'><maxResources>20480 mb, 5 vcores</maxResources></queue></queue>"
    )
    properties = written(converted(queues, "vectors"))
    assert properties["root.p.a.maximum-capacity"] == "[memory=10240,vcores=5]"
