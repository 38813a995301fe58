"""Placement rules are checked one by one and in their order."""

import pytest

from fairshare.core.model.resources import ResourceTypes
from fairshare.core.schedulers.fair.settings import RuleSettings
from fairshare.documents.problems import Problem
from fairshare.errors import ConfigurationError
from fairshare.settings.fair.allocation_file import read_allocation_file


def read(body: str) -> tuple[tuple[RuleSettings, ...] | None, tuple[Problem, ...]]:
    document = f"<allocations><queuePlacementPolicy>{body}</queuePlacementPolicy></allocations>"
    settings, problems = read_allocation_file(document, "f.xml", ResourceTypes())
    return settings.rules, problems


def rules_of(body: str) -> tuple[RuleSettings, ...]:
    rules, problems = read(body)
    assert problems == ()
    assert rules is not None
    return rules


def test_rules_are_in_the_order_of_the_file() -> None:
    assert rules_of('<rule name="specified" create="false"/><RULE name="reject"/>') == (
        RuleSettings("specified", create=False),
        RuleSettings("reject"),
    )


@pytest.mark.parametrize(
    ("text", "create"), [('create="TRUE"', True), ('create="False"', False), ('create=""', True)]
)
def test_create_is_on_for_true_and_for_nothing(text: str, create: bool) -> None:
    rules = rules_of(f'<rule name="user" {text}/>' + ("" if create else '<rule name="reject"/>'))
    assert rules[0] == RuleSettings("user", create=create)


def test_any_other_word_for_create_is_false_and_a_trap() -> None:
    rules, problems = read('<rule name="user" create="yes"/><rule name="reject"/>')
    assert rules is not None
    assert rules[0] == RuleSettings("user", create=False)
    assert [p.severity for p in problems] == ["trap"]


def test_a_rule_may_have_a_rule_for_its_parent() -> None:
    assert rules_of('<rule name="nestedUserQueue"><rule name="default" queue="users"/></rule>') == (
        RuleSettings("nestedUserQueue", parent=RuleSettings("default", queue="users")),
    )


def test_of_several_parent_rules_the_last_one_counts() -> None:
    rules, problems = read(
        '<rule name="user"><rule name="primaryGroup"/><rule name="default"/></rule>'
    )
    assert rules == (RuleSettings("user", parent=RuleSettings("default")),)
    assert [p.rule for p in problems] == ["repeated-element"]


def test_a_rule_in_a_parent_rule_has_no_effect() -> None:
    rules, problems = read(
        '<rule name="user"><rule name="primaryGroup"><rule name="default"/></rule></rule>'
    )
    assert rules == (RuleSettings("user", parent=RuleSettings("primaryGroup")),)
    assert [p.severity for p in problems] == ["warning"]


def test_children_that_are_not_rules_are_reported() -> None:
    _, problems = read('<odd/><rule name="user"><odd/></rule>')
    assert [(p.rule, p.severity) for p in problems] == [("unknown-element", "warning")] * 2


@pytest.mark.parametrize("queue", [" a", "a.", ".a", "\u00a0a"])
def test_a_default_queue_with_a_bad_name_becomes_root_default(queue: str) -> None:
    rules, problems = read(f'<rule name="default" queue="{queue}"/>')
    assert rules == (RuleSettings("default"),)
    assert [p.severity for p in problems] == ["trap"]


def test_a_queue_belongs_to_the_rule_default_alone() -> None:
    rules, problems = read('<rule name="user" queue="users"/>')
    assert rules == (RuleSettings("user"),)
    assert [p.severity for p in problems] == ["warning"]


def test_a_policy_without_rules_leaves_those_of_the_site() -> None:
    rules, problems = read("<odd/>")
    assert rules is None
    assert [p.severity for p in problems] == ["trap", "warning"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("<rule/>", "a rule needs a name"),
        ('<rule name="User"/>', "there is no rule 'User'"),
        ('<rule name="nestedUserQueue"/>', "nestedUserQueue needs a rule inside it"),
        ('<rule name="user"><rule/></rule>', "a rule needs a name"),
        ('<rule name="nestedUserQueue"><rule name="x"/></rule>', "there is no rule 'x'"),
        ('<rule name="user"><rule name="reject"/></rule>', "reject cannot stand inside"),
        (
            '<rule name="user"><rule name="nestedUserQueue"/></rule>',
            "nestedUserQueue cannot stand inside",
        ),
        ('<rule name="user"><rule name="user"/></rule>', "both are the same rule"),
        ('<rule name="nestedUserQueue"><rule name="user"/></rule>', "both are the same rule"),
        ('<rule name="default"><rule name="user"/></rule>', "default takes no rule inside it"),
        ('<rule name="reject"><rule name="user"/></rule>', "reject takes no rule inside it"),
        (
            '<rule name="reject"/><rule name="user"/>',
            "Rules after rule 1 (reject) can never be reached",
        ),
        (
            '<rule name="specified"/><rule name="user"/><rule name="default"/>',
            "Rules after rule 2 (user) can never be reached",
        ),
        ('<rule name="specified"/>', "Could get past last queue placement rule without assigning"),
        ('<rule name="user" create="false"/>', "Could get past last"),
        ('<rule name="secondaryGroupExistingQueue"/>', "Could get past last"),
        (
            '<rule name="nestedUserQueue"><rule name="primaryGroup" create="false"/></rule>',
            "Could get past last",
        ),
    ],
)
def test_a_bad_policy_makes_the_file_bad(body: str, reason: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read(body)
    assert len(refused.value.problems) == 1
    assert reason in str(refused.value)
    assert str(refused.value).startswith("f.xml:1:")
