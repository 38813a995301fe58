"""Partitions (node labels): which asks are served where, and a queue's capacity on a partition.

Derived from Hadoop's formulas by hand; `python -m conformance --generator wide --features labels`
compares the same rules with Hadoop. All sizes are MB, the smallest container is 1024.
"""

import pytest
from tests.unit.core.schedulers.capacity.playground import (
    Playground,
    asks,
    beat,
    memory,
    node,
    submit,
)

from fairshare.core.schedulers.capacity import assignment
from fairshare.core.schedulers.capacity.heartbeat import MOST_REFUSED
from fairshare.errors import ConfigurationError

ADD_X = {"labels": {"add": {"x": "exclusive"}}}
SHARE_X = {"labels": {"add": {"x": "shared"}}}


def cluster(*steps, shared=False, **properties) -> Playground:
    """n1 of the default partition and x1 of the partition x, of 10240 each."""
    add = SHARE_X if shared else ADD_X
    return Playground([node("n1"), node("x1", label="x")], add, *steps, **properties)


def test_an_exclusive_partition_serves_only_asks_for_it():
    """x1 belongs to x: `plain` never gets a container there, after any number of heartbeats, and
    `picky`, which asks for x, gets none on n1."""
    game = cluster(
        submit("plain", "a", asks(2)),
        submit("picky", "a", asks(2, "x")),
        beat("x1", 5),
        beat("n1", 5),
    )
    assert game.on("plain") == {"n1": 2}
    assert game.on("picky") == {"x1": 2}


def test_an_application_may_ask_for_several_partitions():
    """Each ask has its own: the one of priority 1 for x, the one of priority 2 for the default."""
    game = cluster(
        submit("both", "a", asks(1, "x", priority=1), asks(2, "", priority=2)),
        beat("n1", 3),
        beat("x1", 3),
    )
    assert game.on("both") == {"n1": 2, "x1": 1}
    assert game.part("root.a", "x")["used"] == memory(1024)
    assert game.part("root.a", "")["used"] == memory(2048)


def test_capacities_are_those_of_the_partition():
    """Of the 10240 of x, 40 % are 4096 and at most 60 % are 6144; of the default partition's 10240
    a has 50 %, 5120, and at most all."""
    game = cluster(
        **{
            "root.a.accessible-node-labels.x.capacity": "40",
            "root.a.accessible-node-labels.x.maximum-capacity": "60",
            "root.b.accessible-node-labels": "x",
            "root.b.accessible-node-labels.x.capacity": "60",
        }
    )
    on_x, plain = game.part("root.a", "x"), game.part("root.a", "")
    assert on_x["effective_min"]["memory-mb"] == 4096
    assert on_x["effective_max"]["memory-mb"] == 6144
    assert plain["effective_min"]["memory-mb"] == 5120
    assert plain["effective_max"]["memory-mb"] == 10240
    assert game.part("root", "x")["effective_min"]["memory-mb"] == 10240


def test_a_queue_never_passes_its_maximum_of_a_partition():
    """At most 60 % of 10240 is 6144: six containers, while the user limit would allow 10 x 4096."""
    game = cluster(
        submit("greedy", "a", asks(10, "x")),
        beat("x1", 10),
        **{
            "root.a.accessible-node-labels.x.capacity": "40",
            "root.a.accessible-node-labels.x.maximum-capacity": "60",
            "root.b.accessible-node-labels": "x",
            "root.b.accessible-node-labels.x.capacity": "60",
        },
    )
    assert game.on("greedy") == {"x1": 6}


def test_user_limits_are_those_of_the_partition():
    """The guarantee of x is 4096 and the factor 1, so the limit is 4096: a user at its limit gets
    one more, the fifth. On the default partition the guarantee is 5120: six."""
    game = cluster(
        submit("greedy", "a", asks(10, "x"), asks(10, "", priority=2)),
        beat("x1", 10),
        beat("n1", 10),
        **{
            "root.a.user-limit-factor": "1",
            "root.a.accessible-node-labels.x.capacity": "40",
            "root.b.accessible-node-labels": "x",
            "root.b.accessible-node-labels.x.capacity": "60",
        },
    )
    assert game.on("greedy") == {"n1": 6, "x1": 5}


def test_masters_have_a_limit_on_each_partition():
    """Half of the guarantee of x is 0.5 * 4096 = 2048: two masters of 1024 are admitted, the third
    waits. On the default partition the reachable 10240 count: 0.2 of it, 2048, admits two more."""
    masters = [submit(f"x{n}", "a", am=memory(1024), am_label="x", label="x") for n in range(3)] + [
        submit(f"d{n}", "a", am=memory(1024)) for n in range(3)
    ]
    game = cluster(
        *masters,
        beat("x1", 5),
        beat("n1", 5),
        **{
            "maximum-am-resource-percent": "0.2",
            "root.a.accessible-node-labels.x.maximum-am-resource-percent": "0.5",
            "root.a.accessible-node-labels.x.capacity": "40",
            "root.b.accessible-node-labels": "x",
            "root.b.accessible-node-labels.x.capacity": "60",
        },
    )
    apps = game.seen["apps"]
    assert [name for name, app in apps.items() if app["containers"]] == ["x0", "x1", "d0", "d1"]
    on_x = game.part("root.a", "x")
    assert on_x["am_limit"]["memory-mb"] == 2048
    assert on_x["am_used"]["memory-mb"] == 2048
    assert game.part("root.a", "")["am_used"]["memory-mb"] == 2048


def test_idle_resources_are_lent_after_as_many_opportunities_as_there_are_nodes():
    """x is shared and idle. With 2 nodes an ask for the default partition needs 2 opportunities:
    the first heartbeat of x1 grants nothing, the second serves it, and so does each further one."""
    game = cluster(submit("plain", "b", asks(9)), beat("x1"), shared=True)
    assert game.on("plain") == {}
    assert game.do(beat("x1")).on("plain") == {"x1": 1}
    assert game.do(beat("x1")).on("plain") == {"x1": 2}


def test_opportunities_on_the_own_partition_count_and_a_grant_there_resets_them():
    """A heartbeat of n1 that grants resets the count of opportunities to 0; so x1 lends at its
    second heartbeat after it, not at its first."""
    game = cluster(submit("plain", "b", asks(9)), beat("n1"), beat("x1"), shared=True)
    assert game.on("plain") == {"n1": 1}
    assert game.do(beat("x1")).on("plain") == {"n1": 1, "x1": 1}
    assert game.do(beat("n1"), beat("x1")).on("plain") == {"n1": 2, "x1": 1}


def test_lent_room_knows_no_maximum_of_the_queue():
    """b has no part of x, and its user's only limit there is the whole partition: it borrows all 10
    containers that x1 has room for."""
    game = cluster(submit("plain", "b", asks(20)), beat("x1", 20), shared=True)
    assert game.on("plain") == {"x1": 10}


def test_asks_for_a_shared_partition_come_first():
    """Both have asks; a has asked for x, so the default asks of b find nothing idle there."""
    game = cluster(
        submit("plain", "b", asks(20)),
        submit("picky", "a", asks(10, "x")),
        beat("x1", 20),
        shared=True,
    )
    assert game.on("picky") == {"x1": 10}
    assert game.on("plain") == {}


def test_a_master_borrows_nothing_unless_it_is_allowed():
    master = submit("plain", "b", am=memory(1024))
    game = cluster(master, beat("x1", 5), shared=True)
    assert game.on("plain") == {}
    allowed = "yarn.resourcemanager.node-labels.am.allow-non-exclusive-allocation"
    game = cluster(master, beat("x1", 5), shared=True, **{allowed: "true"})
    assert game.on("plain") == {"x1": 1}


def test_asks_without_a_label_take_that_of_their_queue():
    """default-node-label-expression is x: the ask without a label is for x, the one for "" is
    not."""
    game = cluster(
        submit("silent", "a", asks(1)),
        submit("plain", "a", asks(1, "")),
        beat("x1", 3),
        beat("n1", 3),
        **{"root.a.default-node-label-expression": "x"},
    )
    assert game.on("silent") == {"x1": 1}
    assert game.on("plain") == {"n1": 1}


def test_the_label_of_an_application_holds_for_asks_that_name_none():
    game = cluster(submit("app", "a", asks(1), label="x"), beat("n1", 2), beat("x1", 2))
    assert game.on("app") == {"x1": 1}


def test_a_master_may_have_a_default_of_its_own():
    """The cluster's default for masters is x; the tasks still go to the default partition."""
    name = "yarn.resourcemanager.node-labels.am.default-node-label-expression"
    game = cluster(
        submit("app", "a", asks(1), am=memory(1024)),
        beat("n1", 2),
        beat("x1", 2),
        beat("n1", 2),
        **{name: "x"},
    )
    assert game.on("app") == {"x1": 1, "n1": 1}


@pytest.mark.parametrize(("accessible", "inherits"), [("x", False), (None, True), ("*", True)])
def test_a_queue_inherits_the_default_label_if_it_may_use_all_that_its_parent_may(
    accessible, inherits
):
    """Root may use all (`*`); a that lists only x may not, and does not inherit root's default."""
    game = cluster(
        submit("silent", "a", asks(1)),
        beat("n1", 2),
        beat("x1", 2),
        **{"root.default-node-label-expression": "x", "root.a.accessible-node-labels": accessible},
    )
    assert game.on("silent") == ({"x1": 1} if inherits else {"n1": 1})


@pytest.mark.parametrize(
    ("queue", "label", "reason"),
    [
        ("b", "x", "doesn't have permission to access all labels"),
        ("a", "nowhere", "cluster do not contain , label= nowhere"),
        ("a", "x&&y", "more than one node label"),
    ],
)
def test_an_application_with_an_invalid_label_is_refused(queue, label, reason):
    game = cluster()
    found = game.refusal(submit("app", queue, am=memory(1024), label=label))
    assert reason in (found or "")
    assert game.seen["apps"]["app"]["state"] == "REJECTED"
    assert reason in (game.refusal(submit("two", queue, am=memory(1024), am_label=label)) or "")


@pytest.mark.parametrize("more", [{}, {"am": memory(1024), "am_label": ""}])
def test_only_asks_are_refused_where_no_master_waits_for_their_label(more):
    """b may not use x: the application runs, its master is notified, and asks again."""
    game = cluster(submit("app", "b", asks(2, "x"), **more), beat("n1"))
    assert game.seen["apps"]["app"]["state"] == "RUNNING"
    game.do({"ask": {"app": "app", "asks": [asks(2)]}}, beat("n1", 2))
    assert game.on("app") == {"n1": 3 if more else 2}


def test_a_later_ask_with_an_invalid_label_is_refused_as_a_whole():
    game = cluster(submit("app", "b", asks(1)))
    found = game.refusal({"ask": {"app": "app", "asks": [asks(3), asks(2, "x", priority=2)]}})
    assert "permission" in (found or "")
    assert game.seen["apps"]["app"]["pending"]["memory-mb"] == 1024


def test_an_application_does_not_move_where_its_labels_are_unknown():
    game = cluster(submit("app", "a", asks(2, "x")), beat("x1"))
    found = game.refusal({"move": {"app": "app", "queue": "root.b"}})
    assert "can't satisfy following apps label expressions =[x]" in (found or "")
    assert game.seen["apps"]["app"]["queue"] == "root.a"


def test_a_moved_application_takes_its_partitions_along():
    """b may use x as well: app's use and asks there count for b afterwards."""
    game = cluster(
        submit("app", "a", asks(3, "x"), am=memory(1024), am_label="x"),
        beat("x1", 2),
        {"move": {"app": "app", "queue": "root.b"}},
        **{
            "root.b.accessible-node-labels": "x",
            "root.b.accessible-node-labels.x.capacity": "50",
            "root.a.accessible-node-labels.x.capacity": "50",
        },
    )
    before, after = game.part("root.a", "x"), game.part("root.b", "x")
    assert [before[key]["memory-mb"] for key in ("used", "pending", "am_used")] == [0, 0, 0]
    assert [after[key]["memory-mb"] for key in ("used", "pending", "am_used")] == [2048, 2048, 1024]
    assert game.do(beat("x1", 2)).on("app") == {"x1": 4}


def test_headroom_is_summed_over_the_partitions_that_were_asked_for():
    """On the default partition the user's limit is a's guarantee, 5120, of which 1024 are used:
    4096. On x it is 10240, less 1024: 9216. Together 13312."""
    game = cluster(
        submit("both", "a", asks(1, "x"), asks(1, "", priority=2)), beat("n1"), beat("x1")
    )
    assert game.seen["apps"]["both"]["headroom"]["memory-mb"] == 13312


def test_children_are_served_by_their_use_of_the_partition():
    """b uses 4096 of the default partition and nothing of x, a uses 1024 of x: on x b comes first,
    though a uses less of the default partition."""
    both = {
        "root.b.accessible-node-labels": "x",
        "root.b.accessible-node-labels.x.capacity": "50",
        "root.a.accessible-node-labels.x.capacity": "50",
    }
    game = cluster(
        submit("full", "b", asks(4, "")),
        beat("n1", 4),
        submit("one", "a", asks(9, "x")),
        beat("x1"),
        submit("two", "b", asks(9, "x")),
        beat("x1"),
        **both,
    )
    assert game.on("two") == {"x1": 1}


def test_nodes_join_a_partition_by_report_or_by_assignment():
    """x1 reports x. An administrator's assignment takes precedence; a node may also be named before
    it joins."""
    game = cluster({"labels": {"nodes": {"x1": "", "late": "x"}}})
    assert game.part("root", "x")["effective_min"]["memory-mb"] == 0
    game.do({"node": {"add": node("late", 4096)}})
    assert game.part("root", "x")["effective_min"]["memory-mb"] == 4096
    assert game.part("root", "")["effective_min"]["memory-mb"] == 20480


def test_a_node_of_an_unknown_partition_is_of_the_default_one():
    game = Playground([node("n1", label="typo")])
    assert game.seen["queues"]["root"]["effective_min"]["memory-mb"] == 10240


def test_a_node_that_changes_its_partition_takes_its_containers_along():
    """A master and two containers run on n1, which moves to x: their 3072 count for x from then on,
    and the master towards the masters' limit there."""
    game = cluster(submit("app", "a", asks(2), am=memory(1024)), beat("n1", 3))
    assert game.part("root.a", "")["used"]["memory-mb"] == 3072
    game.do({"labels": {"nodes": {"n1": "x"}}})
    on_x, plain = game.part("root.a", "x"), game.part("root.a", "")
    assert [on_x[key]["memory-mb"] for key in ("used", "am_used")] == [3072, 1024]
    assert [plain[key]["memory-mb"] for key in ("used", "am_used")] == [0, 0]
    game.do({"finish": "app"})
    on_x = game.part("root.a", "x")
    assert [on_x[key]["memory-mb"] for key in ("used", "am_used")] == [0, 0]


def test_a_reservation_is_dropped_when_its_node_changes_its_partition():
    game = Playground(
        [node("n1", 4096), node("n2", 4096)],
        ADD_X,
        submit("small", "b", asks(4, mb=1024)),
        beat("n1", 3),
        submit("big", "a", asks(1, mb=4096)),
        beat("n1"),
    )
    assert game.seen["nodes"]["n1"]["reserved_for"] == "big"
    game.do({"labels": {"nodes": {"n1": "x"}}})
    assert game.seen["nodes"]["n1"]["reserved_for"] is None
    assert game.part("root.a", "")["reserved"]["memory-mb"] == 0
    assert game.part("root.a", "x")["used"]["memory-mb"] == 0


def test_a_removed_partition_gives_its_nodes_back():
    game = Playground([node("n1"), node("z1")], {"labels": {"add": {"z": "exclusive"}}})
    game.do({"labels": {"nodes": {"z1": "z"}}})
    assert game.part("root", "")["effective_min"]["memory-mb"] == 10240
    game.do({"labels": {"remove": ["z"]}})
    assert game.part("root", "")["effective_min"]["memory-mb"] == 20480
    game.do({"labels": {"add": {"z": "exclusive"}}})
    assert game.part("root", "")["effective_min"]["memory-mb"] == 20480


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"add": {"x": "shared"}}, "Exclusivity cannot be modified for an existing label"),
        ({"add": {"a b": "exclusive"}}, "label name should only contains"),
        ({"add": {"_a": "exclusive"}}, "label name should only contains"),
        ({"nodes": {"n1": "q"}}, "contained by known label collections"),
        ({"remove": ["x"]}, "Cannot remove label=x, because queue=root.a is using this label"),
        ({"remove": ["q"]}, "Node label=q to be removed doesn't existed"),
    ],
)
def test_changes_of_labels_are_refused_in_hadoops_words(change, reason):
    """The texts are those of the samples 031, 032, 036, 057 and 058 of a real ResourceManager."""
    game = cluster()
    assert reason in (game.refusal({"labels": change}) or "")


def test_without_node_labels_there_are_none_to_change_or_to_ask_for():
    game = Playground([node("n1")], **{"yarn.node-labels.enabled": None})
    assert "yarn.node-labels.enabled" in (game.refusal(ADD_X) or "")
    found = game.refusal(submit("app", "a", am=memory(1024), label="x"))
    assert "node label not enabled" in (found or "")


def test_only_distributed_nodes_report_their_partitions():
    game = cluster(**{"yarn.node-labels.configuration-type": "distributed"})
    found = game.refusal({"labels": {"nodes": {"n1": "x"}}})
    assert "centralized node label configuration is not enabled" in (found or "")
    assert game.part("root", "x")["effective_min"]["memory-mb"] == 10240


def test_children_must_have_all_of_a_partition_or_nothing():
    """60 % of x for all children of root, which has 100 %: neither 0 nor 1."""
    with pytest.raises(ConfigurationError, match=r"Illegal capacity sum of 0\.6 .* label=x"):
        cluster(**{"root.a.accessible-node-labels.x.capacity": "60"})


def test_a_partition_that_no_queue_names_belongs_to_no_queue():
    """If no queue has a capacity on x, asks for x find no room; the answer 054 of a real
    ResourceManager shows the label y so: capacity, maximum and both resources 0."""
    game = cluster(
        submit("app", "a", asks(1, "x")),
        beat("x1", 3),
        **{
            "root.accessible-node-labels.x.capacity": None,
            "root.a.accessible-node-labels.x.capacity": None,
        },
    )
    part = game.part("root", "x")
    assert part["capacity"] == part["absolute_max_capacity"] == 0.0
    assert part["effective_max"]["memory-mb"] == 0
    assert game.on("app") == {}


def test_root_has_all_of_a_partition_that_any_queue_names():
    """The example of Hadoop's own page on node labels does not mention root, and works."""
    game = cluster(
        submit("app", "a", asks(1, "x")),
        beat("x1", 3),
        **{"root.accessible-node-labels.x.capacity": None},
    )
    assert game.part("root", "x")["effective_max"]["memory-mb"] == 10240
    assert game.on("app") == {"x1": 1}


def test_a_parent_with_amounts_may_have_nothing_of_a_partition():
    """Amounts on the default partition alone make a and its children absolute, on x too."""
    amount = "[memory=2048,vcores=2]"
    game = cluster(
        **{
            "root.a.capacity": amount,
            "root.b.capacity": amount,
            "root.a.accessible-node-labels": " ",
            "root.a.accessible-node-labels.x.capacity": None,
            "root.a.queues": "c",
            "root.a.c.capacity": amount,
            "root.b.accessible-node-labels": "x",
            "root.b.accessible-node-labels.x.capacity": amount,
        }
    )
    assert game.part("root.b", "x")["effective_min"]["memory-mb"] == 2048
    assert game.part("root.a.c", "x")["effective_min"]["memory-mb"] == 0


def test_a_headroom_stays_that_of_all_partitions_that_were_ever_asked_for():
    """The ask for x is served; the rest of x still counts: 9216, and 4096 of a's 5120."""
    game = cluster(submit("app", "a", asks(1, "x"), asks(1, priority=2)), beat("x1"), beat("n1"))
    assert game.seen["apps"]["app"]["pending"]["memory-mb"] == 0
    assert game.seen["apps"]["app"]["headroom"]["memory-mb"] == 9216 + 4096


def test_a_scenario_shows_the_use_of_queues_on_the_default_partition():
    game = cluster(submit("app", "a", asks(2, "x"), asks(1, priority=2)), beat("x1", 2), beat("n1"))
    seen = game.seen
    assert seen["queues"]["root.a"]["used"]["memory-mb"] == 1024
    assert seen["queues"]["root.a"]["partitions"]["x"]["used"]["memory-mb"] == 2048
    assert seen["apps"]["app"]["used"]["memory-mb"] == 3072


@pytest.mark.parametrize("most", ["-1", "100"])
def test_a_user_above_the_limit_on_a_labelled_node_has_no_reservation_to_release(most):
    """a has 5 % of x, so that the second container would exceed the user's limit. As in Hadoop the
    user must release a reservation first, labelled or not; the heartbeat ends."""
    near = {**asks(8, "x", mb=1536), "hosts": ["x1"]}
    game = cluster(
        submit("app", "a", near),
        beat("x1"),
        **{
            "per-node-heartbeat.maximum-container-assignments": most,
            "root.a.user-limit-factor": "1",
            "root.b.accessible-node-labels": "x",
            "root.a.accessible-node-labels.x.capacity": "5",
            "root.b.accessible-node-labels.x.capacity": "95",
        },
    )
    assert game.on("app") == {"x1": 1}


def test_attempts_that_a_limit_forbids_again_and_again_come_to_an_end(monkeypatch):
    """Whichever limit refuses: without a maximum of assignments the heartbeat ends all the same."""
    refused = []
    monkeypatch.setattr(assignment, "_accepted", lambda *given: bool(refused.append(given)))
    near = {**asks(8), "hosts": ["n1"]}
    cluster(
        submit("app", "b", near),
        beat("n1"),
        **{"per-node-heartbeat.maximum-container-assignments": "-1"},
    )
    assert len(refused) == MOST_REFUSED


def test_fifo_with_partitions_keeps_enforced_partitions_to_their_own_applications():
    """x is enforced and shared: `plain` borrows nothing on x1, which its leaf would allow with
    plain fifo."""
    wishes = [submit("plain", "a", asks(3)), beat("x1", 5)]
    assert cluster(*wishes, shared=True).on("plain") == {"x1": 3}
    game = cluster(
        *wishes,
        shared=True,
        **{
            "root.a.ordering-policy": "fifo-with-partitions",
            "root.a.ordering-policy.exclusive-enforced-partitions": "x",
        },
    )
    assert game.on("plain") == {}
