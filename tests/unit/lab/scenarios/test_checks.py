import pytest

from fairshare.lab.scenarios.report import check, check_error, equal
from fairshare.lab.scenarios.steps import Check

TYPES = ("memory-mb", "vcores")
STATE = {
    "apps": {
        "a1": {"containers": 2, "used": {"memory-mb": 5, "vcores": 1}, "diagnostics": "too big"}
    },
    "queues": {},
    "nodes": {"n1": {"reserved_for": None}},
    "cluster": {"containers": 2},
}


def outcome(where, expected):
    return check(7, Check(tuple(where.split(".")), expected, 12), STATE, TYPES)


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        (3, 3),
        (2.0, 2),
        (0.1, 0.1000000001),
        ({"about": 3333, "within": 1}, 3334),
        ({"about": 3333}, 3333),
        ({"min": 3, "max": 5}, 5),
        ({"min": 3}, 1000),
        ({"max": 5}, -1),
        ({"memory-mb": 1}, {"memory-mb": 1, "vcores": 9}),
        ({"n1": 0}, {"n2": 4}),
        ({"u": {"used": {"vcores": {"max": 2}}}}, {"u": {"used": {"vcores": 1}, "weight": 1.0}}),
        ("RUNNING", "RUNNING"),
        (None, None),
        (False, False),
        ({}, {}),
    ],
)
def test_what_is_as_expected_passes(expected, found):
    assert equal(expected, found)


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        (3, 2),
        (1, True),
        (True, 1),
        ({"about": 3333, "within": 1}, 3335),
        ({"about": 3333, "within": 1}, "3333"),
        ({"min": 3, "max": 5}, 6),
        ({"min": 3}, None),
        ({"memory-mb": 1}, {"vcores": 1}),
        ({"memory-mb": 1}, 1),
        ("RUNNING", "PENDING"),
        ("3", 3),
    ],
)
def test_what_is_not_as_expected_fails(expected, found):
    assert not equal(expected, found)


def test_a_difference_has_step_line_and_path():
    problem = outcome("apps.a1.containers", 3)
    assert (problem.step, problem.line, problem.where) == (7, 12, "apps.a1.containers")
    assert (problem.expected, problem.found) == (3, 2)


def test_a_difference_has_only_the_expected_types_of_an_amount():
    assert outcome("apps.a1.used", {"vcores": 2}).found == {"vcores": 1}


def test_diagnostics_need_only_hold_the_text():
    assert outcome("apps.a1.diagnostics", "big") is None
    assert outcome("apps.a1.diagnostics", "small").found == "too big"


def test_what_is_not_there_passes_no_check_but_that():
    assert outcome("queues.root.exists", False) is None
    assert outcome("queues.root.exists", True).found is False
    assert outcome("queues.root.weight", 0).found is None
    assert outcome("nodes.n1.exists", True) is None


def test_a_key_that_the_scheduler_does_not_have_is_a_failure_and_says_so():
    problem = outcome("apps.a1.missed", {"1": 3})
    assert problem.kind == "unsupported"
    assert "missed" in problem.found


def test_a_misspelt_resource_type_is_not_zero():
    problem = outcome("apps.a1.used", {"memory": 0})
    assert problem.kind == "unsupported"
    assert "unknown resource type 'memory'" in problem.found


@pytest.mark.parametrize(
    ("expected", "found"),
    [(None, None), (True, "any text"), ("reached", "limit reached"), ("big", "too big: 3 > 2")],
)
def test_an_expected_refusal_is_not_a_difference(expected, found):
    assert check_error(0, 1, expected, found) is None


@pytest.mark.parametrize(
    ("expected", "found"),
    [(None, "refused"), (True, None), ("reached", None), ("reached", "another reason")],
)
def test_a_refusal_that_was_not_announced_or_did_not_come_is_a_difference(expected, found):
    problem = check_error(0, 1, expected, found)
    assert (problem.where, problem.expected, problem.found) == ("error", expected, found)
