"""Which priority an application has, as random runs showed it on Hadoop."""

from tests.unit.core.schedulers.capacity.playground import Playground, asks, node, submit

RULES = "[user=* max_priority=2 default_priority=1] [user=u max_priority=8 default_priority=5]"
LEAVES = {
    "yarn.cluster.max-application-priority": "10",
    "yarn.scheduler.capacity.root.queues": "a",
    "yarn.scheduler.capacity.root.a.capacity": "100",
}


def test_of_rules_that_allow_a_user_the_one_with_the_lowest_maximum_gives_the_default():
    """Hadoop sorts priorities in descending order, and the last rule that allows the user
    counts."""
    game = Playground(
        [node("n")],
        submit("app", "a", asks(1)),
        base=LEAVES,
        **{"yarn.acl.enable": "true", "root.a.acl_application_max_priority": RULES},
    )
    assert game.seen["apps"]["app"]["priority"] == 1


def test_an_application_recovered_after_a_restart_has_no_default_of_its_queue():
    """The default was resolved at submission: an application recovered without a priority had 0."""
    game = Playground(
        [node("n")],
        submit("new", "a", asks(1)),
        submit("back", "a", asks(1), recovering=True),
        submit("urgent", "a", asks(1), recovering=True, priority=7),
        base=LEAVES,
        **{"root.a.default-application-priority": "3"},
    )
    apps = game.seen["apps"]
    assert [apps[name]["priority"] for name in ("new", "back", "urgent")] == [3, 0, 7]
