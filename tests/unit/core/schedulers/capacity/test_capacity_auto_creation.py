"""Queues created on demand, by the older auto-creation (Hadoop: ManagedParentQueue) and by the
newer one (Hadoop: CapacitySchedulerQueueManager, AutoCreatedQueueDeletionPolicy).

Numbers are derived from Hadoop's formulas by hand; sizes are MB, the smallest container is 1024.
"""

import pytest
from tests.unit.core.schedulers.capacity.playground import (
    CAPACITY,
    Playground,
    asks,
    beat,
    memory,
    node,
    submit,
)

POLICIES = "yarn.resourcemanager.scheduler.monitor.policies"
MONITOR = "yarn.resourcemanager.scheduler.monitor.enable"
SCHEDULER = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity."
OLDER = {
    MONITOR: "true",
    POLICIES: SCHEDULER + "QueueManagementDynamicEditPolicy",
    CAPACITY + "maximum-am-resource-percent": "1.0",
    CAPACITY + "root.queues": "made,default",
    CAPACITY + "root.default.capacity": "50",
    CAPACITY + "root.made.capacity": "50",
    CAPACITY + "root.made.auto-create-child-queue.enabled": "true",
    CAPACITY + "root.made.leaf-queue-template.capacity": "50",
    CAPACITY + "root.made.leaf-queue-template.maximum-capacity": "80",
    CAPACITY + "root.made.leaf-queue-template.user-limit-factor": "3",
    CAPACITY + "queue-mappings": "u:%user:root.made.%user",
}
"""Below made, which has half of the cluster, each user gets a leaf with half of that."""

NEWER = {
    CAPACITY + "root.queues": "teams,default",
    CAPACITY + "root.teams.capacity": "3w",
    CAPACITY + "root.default.capacity": "1w",
    CAPACITY + "root.teams.auto-queue-creation-v2.enabled": "true",
}


def by(user: str, *wanted, queue: str = "default", **more):
    return submit(user, queue, *wanted, user=user, **more)


def capacity(game: Playground, queue: str) -> int:
    found: int = game.seen["queues"][queue]["effective_min"]["memory-mb"]
    return found


def leaves(game: Playground, *users: str) -> list[int]:
    return [capacity(game, f"root.made.{user}") for user in users]


def older(*steps, **properties) -> Playground:
    return Playground([node("n1", 20_480)], *steps, base=OLDER, **properties)


def test_an_older_leaf_has_its_templates_capacity_while_the_parent_has_enough_left():
    """made has 0.5 * 20480 = 10240, each leaf half of it, 5120; at most 0.8 * 10240 = 8192. Nothing
    is left for the third leaf, which has no capacity; its maximum is the same."""
    game = older(by("ann", asks(1)), by("bob", asks(1)), by("eve", asks(1)))
    assert leaves(game, "ann", "bob", "eve") == [5120, 5120, 0]
    eve = game.seen["queues"]["root.made.eve"]
    assert eve["effective_max"]["memory-mb"] == 16384
    assert eve["user_limit_factor"] == 3.0


def test_a_round_takes_capacity_from_idle_leaves_and_gives_it_to_those_that_wait():
    """ann has finished: in the next round eve, who waits, gets ann's part."""
    game = older(by("ann", asks(1)), by("bob", asks(1)), by("eve", asks(1)), {"kill": "ann"})
    assert leaves(game, "ann", "bob", "eve") == [5120, 5120, 0]
    game.do({"preempt": 1})
    assert leaves(game, "ann", "bob", "eve") == [0, 5120, 5120]


def test_the_leaf_that_has_waited_longest_gets_capacity_first():
    users = ("ann", "bob", "eve", "zoe")
    game = older(*(by(user, asks(1)) for user in users), {"kill": "bob"}, {"preempt": 1})
    assert leaves(game, *users) == [5120, 0, 5120, 0]


def test_of_two_simultaneous_applications_the_older_leaf_gets_capacity_first():
    """eve's second application was submitted last, and her leaf is older than zoe's."""
    game = older(by("ann", asks(1)), by("bob", asks(1)), by("eve"), {"kill": "eve"})
    game.do(by("zoe", asks(1)), submit("again", "default", asks(1), user="eve"))
    game.do({"kill": "ann"}, {"preempt": 1})
    assert leaves(game, "bob", "eve", "zoe") == [5120, 5120, 0]


def test_a_round_that_would_change_nothing_is_not_needed():
    game = older(by("ann", asks(1)), by("bob", asks(1)), by("eve", asks(1)))
    assert game.scheduler.update_interval_ms() is None
    game.do({"kill": "ann"})
    assert game.scheduler.update_interval_ms() == 1500


def test_without_the_policy_a_leaf_keeps_its_initial_capacity():
    game = older(by("ann", asks(1)), {"kill": "ann"}, {"preempt": 1}, **{POLICIES: None})
    assert leaves(game, "ann") == [5120]


def test_an_older_leaf_without_capacity_still_gets_idle_resources():
    """eve's leaf has no guarantee; without one the user limit is the leaf's maximum."""
    game = older(by("ann", asks(1)), by("bob", asks(1)), by("eve", asks(3)), beat("n1", 9))
    assert game.on("eve") == {"n1": 3}


@pytest.mark.parametrize("queue", ["root.made.ann", "root.made.new"])
def test_only_queue_mappings_place_applications_in_an_older_leaf(queue):
    """Naming it is refused, whether it exists or not."""
    game = older(by("ann", asks(1)))
    found = game.refusal(submit("direct", queue, asks(1), user="ann"))
    assert "is prohibited. Verify automatic queue mapping" in (found or "")
    assert "root.made.new" not in game.seen["queues"]


def test_the_number_of_older_leaves_is_limited():
    game = older(by("ann", asks(1)), **{"root.made.auto-create-child-queue.max-queues": "1"})
    assert "1 are allowed" in (game.refusal(by("bob", asks(1))) or "")


def test_a_leaf_that_exceeds_its_parent_is_refused_where_that_is_configured():
    """Two leaves of 50 % fill made; the third would make 150 %."""
    name = "root.made.auto-create-child-queue.fail-on-exceeding-parent-capacity"
    game = older(by("ann", asks(1)), by("bob", asks(1)), **{name: "true"})
    found = game.refusal(by("eve", asks(1)))
    assert "have reached parent queue : root.made's guaranteed capacity" in (found or "")


def test_an_older_leaf_takes_any_number_of_applications():
    """eve's leaf has no capacity, and of 10000 applications its part is 0."""
    again = submit("again", "default", asks(1), user="eve")
    game = older(by("ann"), by("bob"), by("eve"), again)
    leaf = game.seen["queues"]["root.made.eve"]
    assert (leaf["running_apps"], leaf["pending_apps"], leaf["max_apps"]) == (1, 1, 0)


def test_a_reload_gives_capacity_to_those_with_applications_alone():
    """ann has finished, and would keep her part until the next round; eve gets it."""
    game = older(by("ann", asks(1)), by("bob", asks(1)), by("eve", asks(1)), {"kill": "ann"})
    game.do({"reload": {"properties": {}}})
    assert leaves(game, "ann", "bob", "eve") == [0, 5120, 5120]


def test_a_refused_reload_takes_capacity_from_idle_leaves_too():
    """As in Hadoop the settings in force are applied again, although nothing runs."""
    game = older(by("ann", asks(1)), {"kill": "ann"})
    assert leaves(game, "ann") == [5120]
    assert game.refusal({"reload": {"properties": {CAPACITY + "root.default.capacity": "x"}}})
    assert leaves(game, "ann") == [0]


def test_older_leaves_keep_their_order_at_a_reload():
    """A hash map would have ann before bob; their parent does not reread its children."""
    game = older(by("bob", asks(1)), by("ann", asks(1)), {"reload": {"properties": {}}})
    ranked = game.state.queues["root.made"].ranked
    assert [leaf.short_name for leaf in ranked] == ["bob", "ann"]


def test_a_round_also_changes_the_maximum_until_everything_is_recomputed():
    """As in Hadoop a round sets only the capacities: the maximum of a leaf that has lost its part
    is 0, and its number of applications is unchanged. Adding a node corrects that."""
    game = older(by("ann", asks(1)), {"kill": "ann"}, {"preempt": 1})
    ann = game.seen["queues"]["root.made.ann"]
    assert (ann["effective_max"]["memory-mb"], ann["max_apps"]) == (0, 2500)
    game.do({"node": {"add": node("n2", 20_480)}})
    ann = game.seen["queues"]["root.made.ann"]
    assert (ann["effective_max"]["memory-mb"], ann["max_apps"]) == (32_768, 0)


AMOUNTS = {
    "root.made.capacity": "[memory=10240,vcores=50]",
    "root.default.capacity": "[memory=10240,vcores=50]",
    "root.made.leaf-queue-template.capacity": "[memory=4096,vcores=4]",
    "root.made.leaf-queue-template.maximum-capacity": None,
}
"""Each leaf has 4096 MB, so that there is room for two."""


def test_a_leaf_whose_amounts_exceed_the_maximum_of_its_parent_is_not_made():
    most = {"root.made.maximum-capacity": "[memory=10240,vcores=50]"}
    large = {"root.made.leaf-queue-template.capacity": "[memory=12288,vcores=4]"}
    game = older(**{**AMOUNTS, **most, **large})
    assert "which is more than its maximum" in (game.refusal(by("ann", asks(1))) or "")
    assert "root.made.ann" not in game.seen["queues"]


def test_after_a_reload_a_leaf_of_amounts_may_exceed_its_parent_once():
    """As in Hadoop the template's value is unknown again until a leaf is created: eve's would be
    the third leaf of 4096 below 10240, and is created; zoe's is not."""
    name = "root.made.auto-create-child-queue.fail-on-exceeding-parent-capacity"
    most = {"root.made.capacity": "[memory=10240,vcores=50]", **AMOUNTS, name: "true"}
    game = older(by("ann", asks(1)), by("bob", asks(1)), **most)
    assert "have reached parent queue" in (game.refusal(by("eve", asks(1))) or "")
    game.do({"reload": {"properties": {}}}, submit("last", "default", asks(1), user="eve"))
    assert "have reached parent queue" in (game.refusal(by("zoe", asks(1))) or "")


def test_a_reload_gives_amounts_to_all_older_leaves():
    """Nothing was left for eve. As in Hadoop a reload gives amounts to all: 3 * 4096 are scaled
    down to the 10240 of the parent."""
    game = older(by("ann", asks(1)), by("bob", asks(1)), by("eve", asks(1)), **AMOUNTS)
    assert leaves(game, "ann", "bob", "eve") == [4096, 4096, 0]
    game.do({"kill": "ann"}, {"reload": {"properties": {}}})
    assert leaves(game, "ann", "bob", "eve") == [3413, 3413, 3413]


def test_amounts_that_a_round_has_taken_are_not_restored_when_everything_is_recomputed():
    """bob has finished, and gets his part again in a later round; as in Hadoop not for long."""
    again = submit("again", "default", asks(1), user="ann")
    game = older(by("ann"), {"kill": "ann"}, {"preempt": 1}, again, **AMOUNTS)
    assert leaves(game, "ann") == [0]
    game.do({"preempt": 1})
    assert leaves(game, "ann") == [4096]
    game.do({"node": {"add": node("n2", 1024)}})
    assert leaves(game, "ann") == [0]


def test_the_template_takes_precedence_over_the_files_settings_of_an_older_leaf():
    """Its own user weights apply; neither its own capacity does, nor values that the template sets
    too."""
    own = {
        "root.made.ann.capacity": "101",
        "root.made.ann.user-limit-factor": "2",
        "root.made.ann.maximum-am-resource-percent": "0.25",
    }
    game = older(by("ann", asks(1)), **own)
    ann = game.seen["queues"]["root.made.ann"]
    assert leaves(game, "ann") == [5120]
    assert (ann["user_limit_factor"], ann["am_limit"]["memory-mb"]) == (3.0, 4096)


def test_there_are_no_rounds_where_leaves_must_not_exceed_their_parent():
    name = "root.made.auto-create-child-queue.fail-on-exceeding-parent-capacity"
    game = older(by("ann", asks(1)), {"kill": "ann"}, {"preempt": 1}, **{name: "true"})
    assert leaves(game, "ann") == [5120]


def test_an_older_leaf_stays_when_it_is_idle():
    """The policy that removes idle queues applies to those of the newer auto-creation."""
    game = older(
        by("ann", asks(1)),
        {"kill": "ann"},
        {"advance": "1000s"},
        {"preempt": 1},
        {"advance": "1000s"},
        {"preempt": 1},
        **{POLICIES: SCHEDULER + "AutoCreatedQueueDeletionPolicy"},
    )
    assert "root.made.ann" in game.seen["queues"]


def test_an_older_leaf_has_its_templates_part_of_a_partition():
    """Of x, all of which belongs to made, the template gives half: 5120 of 10240."""
    game = Playground(
        [node("n1", 20_480), node("x1", label="x")],
        {"labels": {"add": {"x": "exclusive"}}},
        by("ann", asks(2, "x"), am=memory(1024), am_label="x"),
        beat("x1", 3),
        base=OLDER,
        **{
            "yarn.node-labels.enabled": "true",
            "root.accessible-node-labels.x.capacity": "100",
            "root.made.accessible-node-labels": "x",
            "root.made.accessible-node-labels.x.capacity": "100",
            "root.made.leaf-queue-template.accessible-node-labels": "x",
            "root.made.leaf-queue-template.accessible-node-labels.x.capacity": "50",
        },
    )
    assert game.part("root.made.ann", "x")["effective_min"]["memory-mb"] == 5120
    assert game.on("ann") == {"x1": 3}


# The newer auto-creation.


def newer(*steps, **properties) -> Playground:
    return Playground([node("n1", 20_480)], *steps, base=NEWER, **properties)


def test_a_newer_queue_has_a_weight_of_one_among_its_siblings():
    """teams has 3/4 of 20480, 15360; red and blue share it: 7680 each."""
    game = newer(submit("a", "root.teams.red", asks(1)), submit("b", "root.teams.blue", asks(1)))
    assert [capacity(game, f"root.teams.{name}") for name in ("red", "blue")] == [7680, 7680]


def test_newer_queues_are_at_most_two_levels_deep_by_default():
    game = newer(submit("a", "root.teams.red.ann", asks(1)))
    assert game.seen["queues"]["root.teams.red"]["type"] == "parent"
    deep = submit("b", "root.teams.red.ann2.deeper", asks(1))
    assert "and 2 are allowed" in (game.refusal(deep) or "")
    name = "root.teams.auto-queue-creation-v2.maximum-queue-depth"
    assert newer(**{name: "3"}).refusal(deep) is None


def test_newer_queues_get_the_settings_of_the_nearest_template():
    """red.ann: the template of root.teams.red takes precedence over that of root.teams.*; red, a
    parent, has the weight of the template for parents: 2 of 3, blue, a leaf, the weight of 1 of
    3."""
    game = newer(
        submit("a", "root.teams.red.ann", asks(1)),
        submit("b", "root.teams.blue", asks(1)),
        submit("c", "root.teams.green.eve", asks(1)),
        **{
            "root.teams.auto-queue-creation-v2.parent-template.capacity": "2w",
            "root.teams.auto-queue-creation-v2.leaf-template.user-limit-factor": "7",
            "root.teams.*.auto-queue-creation-v2.leaf-template.user-limit-factor": "5",
            "root.teams.red.auto-queue-creation-v2.leaf-template.user-limit-factor": "4",
        },
    )
    queues = game.seen["queues"]
    factors = {
        name: queues[f"root.teams.{name}"]["user_limit_factor"]
        for name in ("red.ann", "green.eve", "blue")
    }
    assert factors == {"red.ann": 4.0, "green.eve": 5.0, "blue": 7.0}
    weights = [queues[f"root.teams.{name}"]["weight"] for name in ("red", "blue", "green")]
    assert weights == [2.0, 1.0, 2.0]


def test_newer_leaves_have_no_user_limit_factor_and_all_room_for_masters():
    game = newer(submit("a", "root.teams.red", asks(1)))
    red = game.seen["queues"]["root.teams.red"]
    assert (red["user_limit_factor"], red["max_am_share"]) == (-1.0, 1.0)


def test_idle_newer_queues_are_removed_in_the_second_round_after_their_expiration():
    """Idle for more than 300 s in two rounds: at 301 s it is marked, at 602 s it is removed. Its
    parent, red, has been without children since then, and follows in the same way."""
    game = newer(
        submit("a", "root.teams.red.ann", asks(1)),
        {"kill": "a"},
        **{MONITOR: "true", POLICIES: SCHEDULER + "AutoCreatedQueueDeletionPolicy"},
    )
    game.do({"advance": "301s"}, {"preempt": 1})
    assert "root.teams.red.ann" in game.seen["queues"]
    game.do({"advance": "301s"}, {"preempt": 1})
    assert "root.teams.red.ann" not in game.seen["queues"]
    for _ in range(3):
        game.do({"advance": "301s"}, {"preempt": 1})
    assert "root.teams.red" not in game.seen["queues"]
    assert "root.teams" in game.seen["queues"]


def test_a_newer_queue_in_use_stays():
    game = newer(
        submit("a", "root.teams.red", asks(1)),
        **{MONITOR: "true", POLICIES: SCHEDULER + "AutoCreatedQueueDeletionPolicy"},
    )
    for _ in range(3):
        game.do({"advance": "301s"}, {"preempt": 1})
    assert "root.teams.red" in game.seen["queues"]


def test_a_user_without_access_creates_no_queue():
    """Root's list is blank, teams' allows ann: her queue is created, bob's is not."""
    lists = {
        "yarn.acl.enable": "true",
        "root.acl_submit_applications": " ",
        "root.acl_administer_queue": " ",
        "root.teams.acl_submit_applications": "ann",
    }
    game = newer(**lists)
    assert game.refusal(submit("a", "root.teams.ann", asks(1), user="ann")) is None
    found = game.refusal(submit("b", "root.teams.bob", asks(1), user="bob"))
    assert "does not have permission" in (found or "")
    assert "root.teams.bob" not in game.seen["queues"]


def test_a_template_may_let_users_submit_to_queues_to_come():
    lists = {
        "yarn.acl.enable": "true",
        "root.acl_submit_applications": " ",
        "root.acl_administer_queue": " ",
        "root.teams.auto-queue-creation-v2.template.acl_submit_applications": "bob",
    }
    game = newer(**lists)
    assert game.refusal(submit("b", "root.teams.new", asks(1), user="bob")) is None
    assert game.refusal(submit("e", "root.teams.other", asks(1), user="eve")) is not None


def test_a_queue_without_a_capacity_among_weights_does_not_forbid_new_ones():
    """As in Hadoop one weight suffices for all children to count as weighted: `idle` has no
    capacity. Without a weight, as below root with percentages, nothing is created."""
    game = Playground(
        [node("n1")],
        submit("app", "root.teams.new", asks(1)),
        base=NEWER,
        **{"root.teams.queues": "one,idle", "root.teams.one.capacity": "2w"},
    )
    assert "root.teams.new" in game.seen["queues"]
    percentages = {
        **NEWER,
        CAPACITY + "root.teams.capacity": "100",
        CAPACITY + "root.default.capacity": "0",
        CAPACITY + "root.teams.queues": "one,idle",
        CAPACITY + "root.teams.one.capacity": "100",
    }
    game = Playground([node("n1")], base=percentages)
    refused = game.refusal(submit("app", "root.teams.new", asks(1)))
    assert refused is not None
    assert "only weights leave room for more" in refused


def test_a_template_applies_to_the_first_application_of_its_queue_too():
    """Hadoop looks for the queue before it is created, and finds no default priority."""
    game = newer(
        submit("a", "root.teams.red", asks(1)),
        **{
            "yarn.cluster.max-application-priority": "9",
            "root.teams.auto-queue-creation-v2.template.default-application-priority": "4",
        },
    )
    assert game.seen["apps"]["a"]["priority"] == 4


def test_users_may_use_the_queue_that_a_template_lets_them_create():
    """Hadoop refuses even the first user until the next refresh."""
    lists = {
        "yarn.acl.enable": "true",
        "root.acl_submit_applications": " ",
        "root.acl_administer_queue": " ",
        "root.teams.auto-queue-creation-v2.template.acl_submit_applications": "bob,cy",
    }
    game = newer(submit("b", "root.teams.new", asks(1), user="bob"), **lists)
    for user in ("bob", "cy"):
        assert game.refusal(submit(user, "root.teams.new", asks(1), user=user)) is None


UNUSABLE = {
    "leaf-template.ordering-policy": "priority-utilization",
    "leaf-template.maximum-allocation-mb": "99999",
    "template.maximum-applications": "many",
    "template.state": "off",
    "leaf-template.default-node-label-expression": "gpu",
    "template.capacity": "[memory=1024,vcores=1]",
    "max-queues": "many",
}


@pytest.mark.parametrize("setting", UNUSABLE)
def test_a_queue_that_its_template_does_not_fit_is_not_created_nor_its_parent(setting: str):
    """Hadoop's ResourceManager fails and ends, or leaves an empty parent."""
    game = newer(
        beat("n1"),
        **{
            f"root.teams.auto-queue-creation-v2.{setting}": UNUSABLE[setting],
            "root.teams.accessible-node-labels": "ssd",
        },
    )
    before = set(game.seen["queues"])
    name = "root.teams.red" if "leaf" in setting or "maximum" in setting else "root.teams.red.ann"
    found = game.refusal(submit("b", name, asks(1)))
    assert "Cannot auto create queue root.teams.red" in (found or "")
    assert set(game.seen["queues"]) == before


def test_a_reload_with_a_template_that_a_created_queue_cannot_have_is_refused():
    game = newer(submit("a", "root.teams.red", asks(1)))
    name = "root.teams.auto-queue-creation-v2.template."
    for suffix, value in (("maximum-applications", "many"), ("ordering-policy", "utilization")):
        changes = {CAPACITY + name + suffix: value}
        assert game.refusal({"reload": {"properties": changes}}) is not None
