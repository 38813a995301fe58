"""Weights and minimums: what capacities come of them, in each way of writing."""

import pytest
from tests.unit.lab.convert.fair_to_capacity.converted import converted, finding, written

from fairshare.lab.convert.fair_to_capacity.capacities import fitted, in_steps
from fairshare.lab.convert.fair_to_capacity.converting import NeedsCluster

TWO = "<queue name='a'><weight>3</weight></queue><queue name='b'/>"
MINIMUM = "<queue name='a'><minResources>90000 mb, 10 vcores</minResources></queue>"


def test_a_weight_stays_a_weight() -> None:
    properties = written(converted(TWO))
    assert properties["root.queues"] == "a,b"
    assert (properties["root.a.capacity"], properties["root.b.capacity"]) == ("3w", "1w")


def test_weights_become_percentages_that_sum_to_a_hundred_to_the_last_digit() -> None:
    properties = written(
        converted("<queue name='a'/><queue name='b'/><queue name='c'/>", "percentage")
    )
    shares = [properties[f"root.{name}.capacity"] for name in "abc"]
    assert shares == ["33.334", "33.333", "33.333"]


def test_amounts_are_the_steady_fair_shares_of_the_cluster() -> None:
    properties = written(converted(TWO, "absolute"))
    assert properties["root.a.capacity"] == "[memory=76800,vcores=75]"
    assert properties["root.b.capacity"] == "[memory=25600,vcores=25]"


def test_amounts_need_to_know_the_cluster() -> None:
    with pytest.raises(NeedsCluster, match="--cluster"):
        converted(TWO, "absolute", known=False)


def test_weights_beyond_the_largest_are_scaled_down_together() -> None:
    queues = (
        "<queue name='a'><weight>40000</weight></queue><queue name='b'><weight>4</weight></queue>"
    )
    properties = written(converted(queues))
    assert (properties["root.a.capacity"], properties["root.b.capacity"]) == ("10000w", "1w")


@pytest.mark.parametrize("mode", ["percentage", "absolute"])
def test_a_minimum_is_in_the_capacity_where_the_cluster_is_known(mode: str) -> None:
    conversion = converted(MINIMUM + "<queue name='b'/>", mode)  # type: ignore[arg-type]
    reported = finding(conversion, "minimum", "root.a")
    assert reported.outcome == "kept"
    assert conversion.guarantees["root.a"][0] >= 90_000


def test_a_minimum_above_the_share_by_weight_is_lost_and_the_reason_says_what_to_do() -> None:
    reported = finding(converted(MINIMUM + "<queue name='b'/>"), "minimum", "root.a")
    assert reported.outcome == "lost"
    assert "50 GB, 50 vcores" in reported.why
    assert "--mode percentage" in reported.why


def test_a_minimum_that_the_weight_covers_is_kept() -> None:
    queues = (
        "<queue name='a'><minResources>1024 mb, 1 vcores</minResources></queue><queue name='b'/>"
    )
    assert finding(converted(queues), "minimum", "root.a").outcome == "kept"


def test_a_minimum_is_lost_if_the_size_of_the_cluster_is_unknown() -> None:
    reported = finding(converted(MINIMUM, known=False), "minimum", "root.a")
    assert (reported.outcome, "--cluster" in reported.why) == ("lost", True)


def test_queues_without_weight_may_sum_to_nothing() -> None:
    queues = (
        "<queue name='p'><queue name='a'><weight>0</weight></queue></queue>"
        "<queue name='z'><weight>0</weight><queue name='x'/></queue>"
    )
    properties = written(converted(queues, "percentage"))
    assert properties["root.p.a.capacity"] == "0"
    assert properties["root.p.allow-zero-capacity-sum"] == "true"
    assert (properties["root.z.capacity"], properties["root.z.x.capacity"]) == ("0", "100")
    assert properties["root.z.allow-zero-capacity-sum"] == "true"
    assert finding(converted(queues), "weight", "root.z").outcome == "changed"
    assert finding(converted(queues), "weight", "root.p").outcome == "kept"


def test_children_never_sum_to_more_than_their_parent() -> None:
    queues = "<queue name='p'>" + "".join(f"<queue name='q{n}'/>" for n in range(7)) + "</queue>"
    conversion = converted(queues + "<queue name='r'><weight>2</weight></queue>", "absolute")
    below = [conversion.guarantees[f"root.p.q{n}"][0] for n in range(7)]
    assert sum(below) <= conversion.guarantees["root.p"][0]
    assert max(below) - min(below) <= 1


def test_parts_that_exceed_the_whole_give_way_above_their_least() -> None:
    assert fitted([90, 90], [1, 1], 100) == [50, 50]
    assert sum(fitted([3414, 3414, 3414], [1, 1, 1], 10_240)) == 10_240
    assert fitted([10, 20], [1, 1], 100) == [10, 20]


def test_steps_go_to_the_largest_rests() -> None:
    assert in_steps([2, 1], 100) == [67, 33]
    assert in_steps([], 100) == []


def test_a_name_with_a_comma_gets_another_one_and_the_finding_says_so() -> None:
    conversion = converted("<queue name='a,b'/><queue name='a_b'/>")
    assert conversion.names["root.a,b"] == "root.a_b"
    assert conversion.names["root.a_b"] == "root.a_b_"
    assert finding(conversion, "queue-name", "root.a,b").outcome == "changed"
