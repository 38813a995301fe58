"""The checks of what the teams' work has come to: each of them can fail."""

from collections import Counter
from pathlib import Path

import pytest

from fairshare.client.answers import Task
from fairshare.demonstration import verification
from fairshare.demonstration.applications import results
from fairshare.demonstration.applications.casualty import Casualty, Stage
from fairshare.demonstration.applications.plan import Plan
from fairshare.demonstration.applications.results import RangeResult
from fairshare.demonstration.teams import WHOLE

PLAN = Plan(WHOLE, 2, 2, 50, 3, 2, 1_000, 10, 500)
RANGES = [RangeResult(50, 100, 10), RangeResult(0, 50, 15)]


def test_primes_that_add_up_are_right() -> None:
    check = results.check_research(RANGES, PLAN)
    assert check.passed
    assert "25 primes below 100, from 2 tasks" in check.text


@pytest.mark.parametrize(
    "ranges",
    [[], RANGES[:1], [*RANGES, RANGES[0]], [RANGES[1], RangeResult(50, 100, 11)]],
    ids=["nothing", "one is missing", "one is there twice", "one is wrong"],
)
def test_primes_that_do_not_add_up_are_found_out(ranges: list[RangeResult]) -> None:
    assert not results.check_research(ranges, PLAN).passed


PARTS = [{"one": [1, 0, 1]}, {"two": [0, 3, 0]}]


def test_words_that_a_direct_count_finds_as_often_are_right() -> None:
    check = results.check_production(PARTS, Counter(one=2, two=3), PLAN)
    assert check.passed
    assert "5 words, 2 different ones" in check.text


@pytest.mark.parametrize(
    "direct", [Counter(one=2), Counter(one=2, two=4), Counter(one=2, two=3, three=1)]
)
def test_words_that_a_direct_count_finds_otherwise_are_found_out(direct: Counter[str]) -> None:
    assert not results.check_production(PARTS, direct, PLAN).passed


def test_a_word_in_two_parts_is_found_out() -> None:
    parts = [{"one": [1, 0, 0]}, {"one": [1, 0, 0]}]
    assert not results.check_production(parts, Counter(one=2), PLAN).passed


def test_a_part_that_was_not_written_is_found_out(tmp_path: Path) -> None:
    (tmp_path / "reduce-0.json").write_text('{"one": [1, 0, 1]}')
    parts = results.read_reduced(tmp_path, 2)
    assert parts == PARTS[:1]
    assert not results.check_production(parts, Counter(one=2, two=3), PLAN).passed


def test_the_most_frequent_words_of_each_place_are_found() -> None:
    parts = [{"b": [2, 0, 1], "a": [2, 0, 0]}, {"c": [1, 0, 5], "d": [1, 0, 0]}]
    found = dict(results.most_frequent(parts))
    assert found["code"] == ["a", "b", "c"]
    assert found["text"][:2] == ["c", "b"]


@pytest.mark.parametrize(
    ("answers", "right"),
    [
        ([("lock", [2, 3])], True),
        ([("lock", [2, 2])], False),
        ([("lock", [5])], False),
        ([("lock", [2, 3]), ("lock", [])], False),
        ([], False),
    ],
)
def test_an_answer_is_right_when_its_halves_add_up(
    answers: list[tuple[str, list[int]]], right: bool
) -> None:
    assert results.check_queries(answers, Counter(lock=5)).passed is right


def test_a_lost_task_is_found_out() -> None:
    tasks = [Task("map", 0, "SUCCEEDED", 1), Task("map", 1, "SUCCEEDED", 2)]
    check = verification.check_tasks(tasks, 2)
    assert check.passed
    assert "2 of 2 tasks succeeded, 1 of them at a further attempt" in check.text
    assert not verification.check_tasks(tasks, 3).passed
    assert not verification.check_tasks([*tasks, Task("map", 2, "FAILED", 4)], 3).passed


def test_a_killed_container_whose_task_never_ran_again_is_found_out() -> None:
    casualty = Casualty(None, 0.5)
    assert not results.check_casualty(casualty).passed
    casualty.stage = Stage.SUCCEEDED
    assert results.check_casualty(casualty).passed
