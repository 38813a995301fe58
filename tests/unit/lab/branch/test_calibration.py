"""The level at which estimates are said, from what came of earlier ones."""

import random

import pytest

from fairshare.lab.branch.calibration import LEAST_OUTCOMES, MOST_BEYOND, Level, level


def covered(actual, draws, count=2_000, part=0.9):
    """The part of estimates that were met, each at the level of those before it."""
    met = []
    for _ in range(count):
        said_ms = level(part, met).of(draws())
        met.append(actual() <= said_ms)
    return sum(met[200:]) / (count - 200)


def log_normal(draw, median_ms, spread=1.0):
    return lambda: round(median_ms * draw.lognormvariate(0, spread))


@pytest.mark.slow
@pytest.mark.parametrize("median_ms", [5_000, 60_000, 600_000])
@pytest.mark.parametrize("part", [0.5, 0.9])
def test_the_coverage_comes_to_what_it_shall_be_whatever_is_drawn(median_ms, part):
    draw = random.Random(1)
    one = log_normal(draw, median_ms, 0.3)
    met = covered(log_normal(draw, 60_000), lambda: [one() for _ in range(20)], part=part)
    assert part - 0.03 <= met <= part + 0.03


@pytest.mark.slow
def test_the_coverage_follows_a_workload_that_changes():
    draw = random.Random(2)
    instants = iter(range(10_000))
    one = log_normal(draw, 60_000, 0.5)
    met = covered(
        lambda: one() * (1 if next(instants) < 800 else 5), lambda: [one() for _ in range(20)]
    )
    assert 0.87 <= met <= 0.93


def test_draws_that_agree_are_said_as_they_are_at_any_level_within_them():
    assert {Level(30, level).of((7_000,) * 20) for level in (0.0, 0.3, 1.0)} == {7_000}


def test_few_outcomes_change_little_and_calibrate_nothing():
    few, enough = (level(0.9, [False] * count) for count in (2, LEAST_OUTCOMES))
    assert (few.calibrated, few.of((10_000,) * 20)) == (False, 10_000)
    assert enough.calibrated
    assert enough.of((10_000,) * 20) > 20_000


def test_times_beyond_the_horizon_stay_there():
    assert Level(30, 3.0).of((1_000, None)) is None
    assert Level(30, 0.9).of((1_000, 2_000, None)) is None


def test_a_level_stays_within_its_bounds():
    assert level(0.9, [False] * 1_000).level == 1 + MOST_BEYOND
    assert level(0.9, [True] * 1_000).level == -MOST_BEYOND
    assert Level(1_000, 0.0).of((3_000, 5_000)) == 3_000
    assert Level(1_000, -MOST_BEYOND).of((3, 5_000)) == 0
