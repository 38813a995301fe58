"""The rules of a family are the functions of its modules that give findings."""

from collections.abc import Iterator
from types import ModuleType

import pytest

from fairshare.documents.problems import Finding, Place, Problems
from fairshare.settings.lint_rules import apply_rules, rules_of


@pytest.fixture
def module():
    made = ModuleType("rules")
    text = """
def too_large(subject) -> Iterator[Finding]:
    yield Finding(Place("f"), f"{subject} is too large", "runs")

def smallest_of(subject) -> int:
    return 1

def _part(subject) -> Iterator[Finding]:
    yield from ()
"""
    vars(made).update(Iterator=Iterator, Finding=Finding, Place=Place)
    exec(text, vars(made))
    return made


def test_a_function_that_gives_findings_is_a_rule_of_its_name(module):
    assert list(rules_of(module)) == ["too-large"]


def test_a_function_that_a_module_imports_is_not_its_rule(module):
    other = ModuleType("other")
    other.too_large = module.too_large
    assert rules_of(other) == {}


def test_what_a_rule_finds_is_reported_under_its_name(module):
    problems = Problems()
    apply_rules(rules_of(module), "this", problems)
    assert [(one.rule, one.message) for one in problems.all] == [("too-large", "this is too large")]
