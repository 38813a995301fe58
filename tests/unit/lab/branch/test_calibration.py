"""The stretch of estimates to what came of earlier ones."""

import random

import pytest

from fairshare.lab.branch.calibration import LEAST_OUTCOMES, Outcome, stretch


def covered(draw_actual, drawn_ms, count=1_000, part=0.9):
    """The part of estimates that were met, each stretched by those before it."""
    known = []
    for _ in range(count):
        said_ms = stretch(part, known).of(drawn_ms)
        known.append(Outcome(drawn_ms, said_ms, draw_actual()))
    return sum(one.met for one in known[100:]) / (count - 100)


@pytest.mark.parametrize("drawn_ms", [5_000, 60_000, 600_000])
@pytest.mark.parametrize("part", [0.5, 0.9])
def test_the_coverage_comes_to_what_it_shall_be_whatever_is_drawn(drawn_ms, part):
    draw = random.Random(1)
    met = covered(lambda: round(60_000 * draw.lognormvariate(0, 1)), drawn_ms, part=part)
    assert part - 0.03 <= met <= part + 0.03


def test_the_coverage_follows_a_workload_that_changes():
    draw = random.Random(2)
    instants = iter(range(10_000))

    def actual():
        factor = 1 if next(instants) < 400 else 5
        return round(60_000 * factor * draw.lognormvariate(0, 0.5))

    assert 0.86 <= covered(actual, 60_000) <= 0.94


def test_few_outcomes_stretch_nothing():
    late = Outcome(10_000, 10_000, 90_000)
    few, enough = (stretch(0.9, [late] * count) for count in (LEAST_OUTCOMES - 1, LEAST_OUTCOMES))
    assert (few.calibrated, few.of(10_000)) == (False, 10_000)
    assert (enough.calibrated, enough.of(10_000)) == (True, 90_000)


def test_what_has_not_come_yet_counts_as_not_met():
    met = Outcome(100_000, 100_000, 50_000)
    late = Outcome(100_000, 100_000, 400_000, open=True)
    assert stretch(0.9, [met] * 30).factor < 1
    assert stretch(0.9, [met] * 30 + [late] * 10).factor > 1


def test_times_beyond_the_horizon_stay_there():
    beyond = Outcome(None, None, 10**9)
    assert beyond.met
    assert stretch(0.9, [beyond] * 100).of(None) is None


def test_one_that_was_drawn_at_once_and_came_after_hours_does_not_make_later_ones_far_too_late():
    hour_ms = 3_600_000
    at_once = Outcome(0, 0, 2 * hour_ms)
    near = Outcome(hour_ms, hour_ms, 2 * hour_ms)
    said = stretch(0.5, [at_once, near] * 20)
    assert 2 * hour_ms <= said.of(hour_ms) <= 8 * hour_ms
