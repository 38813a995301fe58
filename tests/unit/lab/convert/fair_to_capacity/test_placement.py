"""Placement rules: the same user comes to the same queue, or the finding says otherwise."""

import json
from typing import Any

import pytest
from tests.unit.lab.convert.fair_to_capacity.converted import converted, finding, written

from fairshare.core.placement.mapping import MappingRequest, place
from fairshare.core.placement.rules import Misplaced
from fairshare.core.schedulers.capacity.naming import QueueIndex
from fairshare.core.schedulers.capacity.plan import planned_tree
from fairshare.lab.convert.fair_to_capacity.draft import Mode

QUEUES = "<queue name='a'/><queue name='users' type='parent'/><queue name='staff' type='parent'/>"


def policy(*rules: str) -> str:
    return f"{QUEUES}<queuePlacementPolicy>{''.join(rules)}</queuePlacementPolicy>"


def mappings(queues: str, mode: Mode = "weights") -> list[dict[str, Any]]:
    rules: list[dict[str, Any]] = json.loads(written(converted(queues, mode))["mapping-rule-json"])[
        "rules"
    ]
    return rules


def placed(queues: str, user: str, groups: tuple[str, ...] = (), queue: str = "default") -> str:
    """Where the mappings put a submission in the tree that comes out; `refused` if nowhere."""
    settings = converted(queues).settings
    index = QueueIndex(planned_tree(settings, None))
    request = MappingRequest(user=user, groups=groups, queue=queue)
    try:
        return place(settings.mappings, request, index, override=True) or "as it was named"
    except Misplaced:
        return "refused"


SPECIFIED = "<rule name='specified' create='false'/>"
NESTED = "<rule name='nestedUserQueue'>{}</rule>"


@pytest.mark.parametrize(
    ("rules", "user", "groups", "queue", "where"),
    [
        ((SPECIFIED, "<rule name='reject'/>"), "ann", (), "root.a", "root.a"),
        ((SPECIFIED, "<rule name='reject'/>"), "ann", (), "default", "refused"),
        ((SPECIFIED, "<rule name='reject'/>"), "ann", (), "root.x", "refused"),
        ((SPECIFIED, "<rule name='default' queue='a'/>"), "ann", (), "root.x", "root.a"),
        (("<rule name='user'/>",), "a.nn", (), "default", "root.a_dot_nn"),
        (("<rule name='primaryGroup'/>",), "ann", ("crew",), "default", "root.crew"),
        (
            (NESTED.format("<rule name='default' queue='users'/>"),),
            "ann",
            (),
            "default",
            "root.users.ann",
        ),
        ((NESTED.format("<rule name='primaryGroup'/>"),), "ann", ("staff",), "default",
         "root.staff.ann"),
        ((NESTED.format("<rule name='primaryGroup'/>"),), "ann", ("crew",), "default",
         "root.crew.ann"),
        (
            ("<rule name='secondaryGroupExistingQueue'/>", "<rule name='reject'/>"),
            "ann",
            ("crew", "a"),
            "default",
            "root.a",
        ),
        (("<rule name='specified'/>", "<rule name='reject'/>"), "ann", (), "root.new", "root.new"),
    ],
)  # fmt: skip
def test_a_rule_places_as_it_did(
    rules: tuple[str, ...], user: str, groups: tuple[str, ...], queue: str, where: str
) -> None:
    assert placed(policy(*rules), user, groups, queue) == where


def test_without_rules_those_hold_that_the_fair_scheduler_has_by_itself() -> None:
    assert placed(QUEUES, "ann") == "root.ann"
    assert placed(QUEUES, "ann", queue="root.a") == "root.a"


def test_what_no_rule_places_is_refused_and_not_put_where_it_was_named() -> None:
    assert mappings(policy("<rule name='user'/>"))[-1]["policy"] == "reject"


def test_a_default_queue_is_the_last_mapping() -> None:
    last = mappings(policy("<rule name='default' queue='a'/>"))[-1]
    assert (last["policy"], last["customPlacement"]) == ("custom", "root.a")


def test_the_default_queue_is_made_when_no_file_names_it() -> None:
    conversion = converted(policy("<rule name='default' queue='spare'/>"))
    assert written(conversion)["root.queues"] == "a,users,staff,spare"
    assert finding(conversion, "placement").outcome == "changed"


def test_a_default_queue_that_is_a_parent_refuses_as_before() -> None:
    assert placed(policy("<rule name='default' queue='users'/>"), "ann") == "refused"


def test_a_rule_below_a_leaf_never_placed_and_is_left_out() -> None:
    rules = policy(
        NESTED.format("<rule name='default' queue='a' create='false'/>"), "<rule name='reject'/>"
    )
    assert [rule["policy"] for rule in mappings(rules)] == ["reject"]


def test_flags_that_differ_in_nested_rules_are_reported() -> None:
    rules = policy(NESTED.format("<rule name='primaryGroup' create='false'/>"), SPECIFIED,
                   "<rule name='reject'/>")  # fmt: skip
    reported = [one for one in converted(rules).findings if one.rule == "placement"]
    assert reported[0].outcome == "changed"
    assert "one flag" in reported[0].why


def test_only_parents_that_a_rule_needs_make_queues() -> None:
    properties = written(converted(policy(NESTED.format("<rule name='default' queue='users'/>"))))
    assert properties["root.users.auto-queue-creation-v2.enabled"] == "true"
    assert "root.auto-queue-creation-v2.enabled" not in properties


def test_queues_on_demand_have_what_the_file_gives_to_all() -> None:
    queues = policy("<rule name='user'/>") + (
        "<queueMaxAMShareDefault>0.4</queueMaxAMShareDefault>"
        "<queueMaxResourcesDefault>70%</queueMaxResourcesDefault>"
    )
    properties = written(converted(queues))
    template = "root.auto-queue-creation-v2.leaf-template."
    assert properties[f"{template}ordering-policy"] == "fair"
    assert properties[f"{template}maximum-am-resource-percent"] == "0.4"
    assert properties[f"{template}maximum-capacity"] == "70"
    assert properties["auto-queue-creation-v2.queue-expiration-time"] == "10"


@pytest.mark.parametrize("mode", ["percentage", "absolute"])
def test_beside_percentages_and_amounts_no_queue_is_made_on_demand(mode: Mode) -> None:
    conversion = converted(policy("<rule name='user'/>"), mode)
    reported = finding(conversion, "creation")
    assert (reported.outcome, "--mode weights" in reported.why) == ("lost", True)
    assert mappings(policy("<rule name='user'/>"), mode)[0]["create"] is False


def test_a_parent_without_queues_stays_a_parent() -> None:
    conversion = converted(policy(SPECIFIED, "<rule name='reject'/>"))
    assert written(conversion)["root.users.auto-queue-creation-v2.enabled"] == "true"
    assert finding(conversion, "empty-parent", "root.users").outcome == "changed"
    assert not conversion.settings.queues["root.users"].children


def test_a_submission_to_a_parent_is_refused_or_matched_by_the_next_rule_which_is_reported() -> (
    None
):
    refused = policy(SPECIFIED, "<rule name='reject'/>")
    assert placed(refused, "ann", queue="root.users") == "refused"
    assert [one.outcome for one in converted(refused).findings if one.rule == "placement"] == [
        "kept",
        "kept",
    ]
    passed_on = policy(SPECIFIED, "<rule name='default' queue='a'/>")
    assert placed(passed_on, "ann", queue="root.users") == "root.a"
    reported = next(one for one in converted(passed_on).findings if one.rule == "placement")
    assert (reported.outcome, "names a parent queue" in reported.why) == ("changed", True)
