"""The placement rules, one by one and in a row."""

import pytest

from fairshare.core.placement.rules import (
    Misplaced,
    Request,
    RuleSettings,
    clean,
    derived_rules,
    place,
)


class Queues:
    """Queues by name: leaves that the file has, and leaves that exist."""

    def __init__(self, *configured: str, leaves: tuple[str, ...] = ()) -> None:
        self._configured = configured
        self._leaves = leaves

    def configured(self, name: str) -> bool:
        return name in self._configured

    def is_leaf(self, name: str) -> bool:
        return name in self._leaves


REJECT = RuleSettings("reject")


def placed(
    *rules: RuleSettings,
    user: str = "ann",
    queue: str = "default",
    groups: tuple[str, ...] = ("staff", "dev"),
    queues: Queues | None = None,
) -> str:
    """Where a submission goes."""
    return place(rules, Request(user, groups, queue), queues or Queues())


def test_a_named_queue_is_taken_and_default_means_none_was_named() -> None:
    rules = (RuleSettings("specified"), RuleSettings("user"))
    assert placed(*rules, queue="a.b") == "root.a.b"
    assert placed(*rules, queue="default") == "root.ann"
    assert placed(*rules, queue="root.default") == "root.default"


@pytest.mark.parametrize("queue", [" a", "a ", ".a", "a."])
def test_a_name_with_blanks_or_periods_around_it_is_refused(queue: str) -> None:
    with pytest.raises(Misplaced, match="not a valid queue name"):
        placed(RuleSettings("specified"), queue=queue)


def test_a_rule_that_may_not_create_passes_unless_the_file_has_the_queue() -> None:
    rules = (RuleSettings("user", create=False), RuleSettings("default", queue="rest"))
    assert placed(*rules) == "root.rest"
    assert placed(*rules, queues=Queues("root.ann")) == "root.ann"


def test_periods_in_names_of_users_and_groups_become_words() -> None:
    assert clean(" first.last ") == "first_dot_last"
    assert placed(RuleSettings("user"), user="first.last") == "root.first_dot_last"
    assert placed(RuleSettings("primaryGroup"), groups=("a.b",)) == "root.a_dot_b"


def test_the_user_called_root_gets_a_queue_like_all_users() -> None:
    assert placed(RuleSettings("user"), user="root") == "root.root"


def test_a_user_without_groups_is_refused_by_the_primary_group_rule() -> None:
    with pytest.raises(Misplaced, match="no groups found"):
        placed(RuleSettings("primaryGroup"), groups=())


def test_the_secondary_group_rule_takes_the_first_group_with_a_queue_of_the_file() -> None:
    rule = RuleSettings("secondaryGroupExistingQueue")
    assert placed(rule, REJECT, queues=Queues("root.dev")) == "root.dev"
    with pytest.raises(Misplaced):
        placed(rule, REJECT)


def test_a_nested_rule_chooses_the_parent_of_the_users_queue() -> None:
    rule = RuleSettings("nestedUserQueue", parent=RuleSettings("primaryGroup"))
    assert placed(rule) == "root.staff.ann"
    with pytest.raises(Misplaced):  # the parent is a leaf already: the rule passes
        placed(rule, REJECT, queues=Queues(leaves=("root.staff",)))


def test_rules_that_the_file_does_not_give_follow_from_two_properties() -> None:
    def names(user_as_default: bool, allow_undeclared: bool) -> list[str]:
        rules = derived_rules(user_as_default=user_as_default, allow_undeclared=allow_undeclared)
        return [rule.name for rule in rules]

    assert names(True, True) == ["specified", "user"]
    assert names(True, False) == ["specified", "user", "default"]
    assert names(False, True) == ["specified", "default"]


def test_a_queue_named_in_other_letters_goes_past_no_rule() -> None:
    """Hadoop makes root.B, since it takes the two names for one."""
    assert placed(RuleSettings("default", queue="root.b"), queue="root.B") == "root.b"
