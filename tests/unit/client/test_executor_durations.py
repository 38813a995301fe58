"""How long calls take, and how many workers they are worth."""

import pytest

from fairshare.client.executor.workers import (
    LIFE_S,
    MOST_FUNCTIONS,
    PROBES,
    SHARE_S,
    Durations,
    lives_wanted,
    workers_wanted,
)


def test_the_mean_follows_the_last_calls():
    durations = Durations()
    assert durations.estimate(b"f") is None
    durations.add(b"f", 1.0)
    durations.add(b"f", 3.0)
    assert durations.estimate(b"f") == 2.0
    for _ in range(100):
        durations.add(b"f", 0.1)
    assert durations.estimate(b"f") == pytest.approx(0.1, abs=0.01)


def test_one_long_call_among_short_ones_does_not_make_all_of_them_long():
    durations = Durations()
    for _ in range(20):
        durations.add(b"f", 0.001)
    assert durations.estimate(b"f", [2.0]) < 0.2
    assert durations.estimate(b"f", [2.0] * 12) > 1.0


def test_calls_of_an_unknown_function_are_known_to_be_long_as_soon_as_they_are():
    durations = Durations()
    assert durations.estimate(b"f", [SHARE_S / 2] * 3) is None
    assert durations.estimate(b"f", [2.0, 4.0]) == 3.0


def test_only_the_last_functions_are_remembered():
    durations = Durations()
    for number in range(MOST_FUNCTIONS + 1):
        durations.add(b"%d" % number, 1.0)
    assert durations.estimate(b"0") is None
    assert durations.estimate(b"1") == 1.0


@pytest.mark.parametrize(
    ("count", "seconds", "workers"),
    [
        (1, None, 1),
        (1_000, None, PROBES),
        (1_000, 0.0001, 1),
        (1_000, 0.01, 20),
        (3, 0.9, 3),
        (1, 0.0, 1),
    ],
)
def test_a_worker_is_worth_half_a_second_of_work(count, seconds, workers):
    assert workers_wanted({b"f": count}, {b"f": seconds}) == workers


def test_work_is_divided_among_lives_of_workers():
    assert lives_wanted({b"f": 1_000, b"g": 5}, {b"f": 0.05, b"g": None}) == 50 / LIFE_S
    assert lives_wanted({}, {}) == 0
