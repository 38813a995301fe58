"""Rules of partitions that random runs on Hadoop showed together with all common features."""

import pytest
from tests.unit.core.schedulers.capacity.playground import (
    Playground,
    asks,
    beat,
    memory,
    node,
    submit,
)

ADD_X = {"labels": {"add": {"x": "exclusive"}}}
AMOUNTS = {
    "resource-calculator": "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
    "root.a.capacity": "[memory=4096,vcores=100]",
    "root.b.capacity": "[memory=4096,vcores=20]",
    "root.a.accessible-node-labels.x.capacity": "[memory=2048,vcores=2]",
}


def cluster(*steps, **properties) -> Playground:
    """n1 of the default partition and x1 of the partition x, of 10240 each."""
    return Playground([node("n1"), node("x1", label="x")], ADD_X, *steps, **properties)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({"label": "x", "am_label": ""}, "x1"),  # an empty one is none: the application's
        ({"label": "", "am_label": "x"}, "x1"),
        ({"label": "", "am_label": ""}, "n1"),
        ({"am_label": ""}, "n1"),
    ],
)
def test_an_empty_label_of_a_master_counts_as_none(labels, expected):
    app = submit("app", "a", am=memory(1024), **labels)
    assert cluster(app, beat("n1", 2), beat("x1", 2)).on("app") == {expected: 1}


def test_the_default_for_masters_comes_before_the_label_of_an_application():
    """Without a default the master would go to n1, where the application asks to run."""
    game = cluster(
        submit("app", "a", am=memory(1024), label=""),
        beat("n1"),
        beat("x1"),
        **{"yarn.resourcemanager.node-labels.am.default-node-label-expression": "x"},
    )
    assert game.on("app") == {"x1": 1}


def test_which_type_dominates_in_an_amount_is_found_in_the_whole_cluster():
    """Of the default partition a has 8192 of 10240 MB, and 10 of 100 vcores. The cluster has 112640
    MB and 200 vcores: of these a has 7.27 % of the memory, and root on the partition half of the
    vcores. By the partition alone it would be 80 %."""
    game = Playground(
        [node("n1"), node("x1", mb=102_400, label="x")],
        ADD_X,
        **{
            **AMOUNTS,
            "root.a.capacity": "[memory=8192,vcores=10]",
            "root.b.capacity": "[memory=2048,vcores=20]",
        },
    )
    shown = game.seen["queues"]["root.a"]["capacity"]
    assert shown == pytest.approx(100 * (8192 / 112_640) / (100 / 200), abs=0.01)


def test_a_fraction_is_known_where_no_node_is_in_the_partition():
    """The default partition has no nodes any more: of its parent's amount a has what it asked
    for."""
    game = cluster(
        {"labels": {"nodes": {"n1": "x"}}},
        **{
            **AMOUNTS,
            "root.a.queues": "one,two",
            "root.a.capacity": "[memory=4096,vcores=40]",
            "root.a.one.capacity": "[memory=3072,vcores=30]",
            "root.a.two.capacity": "[memory=1024,vcores=10]",
        },
    )
    assert game.seen["queues"]["root.a.one"]["capacity"] == pytest.approx(75)


@pytest.mark.parametrize(
    ("capacity", "label_capacity"),
    [("50", "[memory=2048,vcores=2]"), (AMOUNTS["root.a.capacity"], "100")],
)
def test_a_queue_has_amounts_for_all_partitions_or_for_none(capacity, label_capacity):
    game = cluster()
    given = {
        "root.a.capacity": capacity,
        "root.a.accessible-node-labels.x.capacity": label_capacity,
    }
    refused = game.refusal({"reload": {"properties": game.named(given)}})
    assert refused is not None
    assert "Queue root.a should use either percentages and weights or absolute amounts" in refused


def test_assigning_a_node_to_its_own_partition_changes_nothing():
    """No heartbeat has considered the application, so its headroom is 0. It gets one as soon as the
    cluster is recomputed, since a node's partition has changed."""
    game = cluster(submit("app", "a", asks(1)))
    game.do({"labels": {"nodes": {"n1": "", "x1": "x"}}})
    assert game.seen["apps"]["app"]["headroom"] == memory(0)
    game.do({"labels": {"nodes": {"x1": ""}}})
    assert game.seen["apps"]["app"]["headroom"]["memory-mb"] > 0


@pytest.mark.parametrize(
    ("template", "on_x"),
    [
        ({}, 0),
        ({"root.a.auto-queue-creation-v2.template.accessible-node-labels.x.capacity": "1w"}, 1),
    ],
)
def test_a_queue_made_on_demand_has_nothing_of_a_partition_that_its_template_does_not_name(
    template, on_x
):
    """It has a weight there, so that its sibling has half of the partition; but it has no
    capacity."""
    game = cluster(
        submit("app", "root.a.new", asks(1, "x")),
        beat("x1"),
        **{
            "root.a.capacity": "1w",
            "root.b.capacity": "1w",
            "root.a.accessible-node-labels.x.capacity": "1w",
            "root.a.queues": "one",
            "root.a.one.capacity": "1w",
            "root.a.one.accessible-node-labels.x.capacity": "1w",
            "root.a.auto-queue-creation-v2.enabled": "true",
            **template,
        },
    )
    assert game.on("app") == ({"x1": 1} if on_x else {})
    assert game.part("root.a.one", "x")["effective_min"]["memory-mb"] == 5120
    assert game.part("root.a.new", "x")["effective_max"]["memory-mb"] == 10_240 * on_x


def test_a_move_forgets_that_the_default_partition_was_asked_for_until_it_is_again():
    """Its headroom is that of x alone from then on, of which it may have all; before the move,
    and after it has asked again, it is that of the default partition too: half of 10240."""
    game = cluster(
        submit("app", "a", asks(1, "x"), asks(1, "", priority=2)),
        beat("n1"),
        beat("x1"),
        **{"root.b.accessible-node-labels": "x"},
    )

    def headroom() -> int:
        found: int = game.seen["apps"]["app"]["headroom"]["memory-mb"]
        return found

    assert headroom() == 10_240 - 1024 + 5120 - 1024
    game.do({"move": {"app": "app", "queue": "root.a"}}, beat("n1"), beat("x1"))
    assert headroom() == 10_240 - 1024
    game.do({"ask": {"app": "app", "asks": [asks(1, "", priority=3)]}})
    assert headroom() == 10_240 - 1024 + 5120 - 1024
