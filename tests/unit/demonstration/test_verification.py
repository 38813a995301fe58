"""The checks of what the teams' work has come to: each of them can fail."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from fairshare.client.answers import Task
from fairshare.demonstration import verification
from fairshare.demonstration.applications import results
from fairshare.demonstration.applications.plan import Plan
from fairshare.demonstration.applications.results import Casualty, RangeResult, Stage
from fairshare.demonstration.corpus import Document
from fairshare.demonstration.pools.jobs import Text, arrivals, plan_of
from fairshare.demonstration.pools.results import check_words
from fairshare.demonstration.teams import QUICK_JOBS, WHOLE
from fairshare.demonstration.verification import Check

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


def check_of_applications(found: dict[str, int], direct: Counter[str], folder: Path) -> Check:
    return results.check_production([{w: [n, 0, 0]} for w, n in found.items()], direct, PLAN)


def check_of_jobs(found: dict[str, int], direct: Counter[str], folder: Path) -> Check:
    (folder / "document").write_text(" ".join(direct.elements()))
    text = Text(folder / "text", [Document(str(folder / "document"), 1)], 1)
    (_, production, *_) = arrivals(plan_of(QUICK_JOBS, 1000, 1000), text, text, text)
    return check_words({word.encode(): n for word, n in found.items()}, text, production)


@pytest.mark.parametrize("check", [check_of_applications, check_of_jobs])
@pytest.mark.parametrize(
    ("direct", "wrong"),
    [
        (Counter(one=2, two=3), ""),
        (Counter(one=2), "1 words are not as many"),
        (Counter(one=2, two=4), "1 words are not as many"),
        (Counter(one=2, two=3, three=1), "1 words are not as many"),
    ],
)
def test_words_are_right_when_a_direct_count_finds_them_as_often(
    check: Callable[..., Check], direct: Counter[str], wrong: str, tmp_path: Path
) -> None:
    found = check({"one": 2, "two": 3}, direct, tmp_path)
    assert "production: 5 words, 2 different ones" in found.text
    assert found.passed is (not wrong)
    assert wrong in found.text


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
