"""Problems say where, what and how bad; the collector keeps their order."""

import pytest

from fairshare.documents.problems import MOST_LISTED, Place, Problem, Problems
from fairshare.errors import ConfigurationError


def test_a_problem_is_printed_with_file_line_column_severity_and_rule() -> None:
    problem = Problem("a.xml", 3, 14, "weight", "error", "'two' is not a number")
    assert str(problem) == "a.xml:3:14: error: 'two' is not a number [weight]"


def test_a_problem_of_a_whole_file_has_no_line() -> None:
    assert str(Problem("a.xml", 0, 0, "file", "warning", "gone")) == "a.xml: warning: gone [file]"


def test_a_problem_without_column_has_a_line() -> None:
    assert str(Problem("a.toml", 2, 0, "key", "error", "bad")) == "a.toml:2: error: bad [key]"


def test_problems_are_ordered_by_file_of_first_mention_then_line_then_column() -> None:
    problems = Problems()
    problems.warning(Place("z.xml", 2, 1), "r", "second")
    problems.error(Place("a.xml", 1, 1), "r", "fourth")
    problems.trap(Place("z.xml", 2, 9), "r", "third")
    problems.error(Place("z.xml", 1, 5), "r", "first")
    assert [problem.message for problem in problems.all] == ["first", "second", "third", "fourth"]


def test_the_same_problem_is_reported_once() -> None:
    problems = Problems()
    problems.error(Place("a.xml", 1, 1), "r", "bad")
    problems.error(Place("a.xml", 1, 1), "r", "bad")
    assert len(problems.all) == 1


def test_errors_raise_with_everything_that_was_found() -> None:
    problems = Problems()
    problems.warning(Place("a.xml", 1, 1), "r", "odd")
    problems.raise_errors()
    problems.error(Place("a.xml", 2, 1), "r", "bad")
    with pytest.raises(ConfigurationError) as refused:
        problems.raise_errors()
    assert str(refused.value) == "a.xml:1:1: warning: odd [r]\na.xml:2:1: error: bad [r]"
    assert [problem.severity for problem in problems.errors] == ["error"]


def test_of_very_many_problems_only_the_first_are_listed_and_the_first_error() -> None:
    problems = Problems()
    for line in range(1, MOST_LISTED + 11):
        problems.warning(Place("a.xml", line, 1), "r", "odd")
    assert len(problems.all) == MOST_LISTED + 1
    assert problems.all[-1].message.startswith("10 more problems")
    problems.raise_errors()
    problems.error(Place("a.xml", 1, 2), "r", "bad")
    problems.error(Place("a.xml", 1, 3), "r", "worse")
    assert [problem.message for problem in problems.errors] == ["bad"]
    assert problems.all[-1].message.startswith("11 more problems")
    with pytest.raises(ConfigurationError):
        problems.raise_errors()
