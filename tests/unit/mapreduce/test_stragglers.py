"""Who gets a second attempt."""

import pytest

from fairshare.mapreduce.driver import Run, stragglers

NOW_MS = 1_000_000
TEN_S = 10_000


def chosen(*running: Run, done: int = 5, count: int = 8, doubled: int = 0, delay_ms: int = 1_000):
    return stragglers(NOW_MS, count, [TEN_S] * done, running, doubled, delay_ms)


def run(index: int, elapsed_ms: int, progress: float) -> Run:
    return Run(index, NOW_MS - elapsed_ms, progress)


@pytest.mark.parametrize(("progress", "expected"), [(0.0, [1]), (0.6, [1]), (0.9, []), (1.0, [])])
def test_a_task_that_would_end_later_than_a_new_attempt_is_chosen(progress, expected):
    assert chosen(run(1, 30_000, progress)) == expected


def test_it_must_have_taken_twice_the_mean_and_the_delay():
    assert chosen(run(1, 19_999, 0.0)) == []
    assert chosen(run(1, 20_000, 0.0)) == [1]
    assert chosen(run(1, 20_000, 0.0), delay_ms=20_001) == []


def test_no_task_counts_as_slow_until_half_have_succeeded():
    assert chosen(run(1, 90_000, 0.0), done=3) == []
    assert chosen(run(1, 90_000, 0.0), done=4) == [1]
    assert chosen(run(1, 90_000, 0.0), done=0, count=0) == []


def test_of_many_only_a_tenth_at_once_and_the_slowest_first():
    slow = [run(index, 30_000 + index, 0.1) for index in range(6)]
    assert chosen(*slow, done=20, count=30) == [5, 4, 3]
    assert chosen(*slow, done=20, count=30, doubled=2) == [5]
    assert chosen(*slow, done=20, count=30, doubled=3) == []
