"""What is remembered of estimates, what came of them, and the level at which others are said."""

import random

import pytest
from tests.unit.core.schedulers.waiting import Cluster, ask, fair

from fairshare.core.model.events import ApplicationState
from fairshare.core.schedulers.fair.settings import QueueSettings
from fairshare.lab.branch.estimates import (
    END,
    LEAST_OUTCOMES,
    MOST_BEYOND,
    MOST_ROWS,
    SLOT_MS,
    START,
    Estimates,
    Level,
    has_news,
    level,
)
from fairshare.lab.branch.eta import Drawn

EPOCH_MS = 7


@pytest.fixture
def estimates(tmp_path):
    with Estimates.open(tmp_path, EPOCH_MS) as opened:
        yield opened


class Known:
    """An application as far as estimates read it."""

    def __init__(self, started_ms=0, finished_ms=None, state="RUNNING"):
        self.started_ms, self.finished_ms, self.state = started_ms, finished_ms, state

    @property
    def over(self):
        return self.finished_ms is not None


class States:
    def __init__(self, **known):
        self.applications = {int(number[1:]): one for number, one in known.items()}


def remember(estimates, number, at_ms, start_ms=10_000, end_ms=60_000):
    drawn = Drawn((start_ms,) * 20, (end_ms,) * 20)
    said = estimates.say(drawn, at_ms, started=False)
    estimates.add({number: said}, at_ms)
    return said


def test_an_estimate_is_met_if_it_came_by_then(estimates):
    remember(estimates, 1, 0)
    assert estimates.open_ones() == {(1, START), (1, END)}
    estimates.fill_in({1}, States(a1=Known(started_ms=9_000)))
    assert estimates.open_ones() == {(1, END)}
    estimates.fill_in({1}, States(a1=Known(started_ms=9_000, finished_ms=70_000)))
    assert estimates.open_ones() == set()
    assert estimates.met(100_000) == (1, 2)
    assert estimates.met(20_000) == (1, 1)  # what was known then


def test_late_outcomes_make_what_is_said_later_later_and_nothing_before(estimates):
    for number in range(1, 61):
        remember(estimates, number, number)
        ended = {f"a{number}": Known(started_ms=number + 1, finished_ms=121_000 + number)}
        estimates.fill_in({number}, States(**ended))
    later = remember(estimates, 99, 200_000)
    assert later.end.calibrated
    assert later.end.p90_ms > 121_000
    before = estimates.say(Drawn((None,) * 20, (60_000,) * 20), 50_000, started=True)
    assert (before.end.p90_ms, before.end.calibrated) == (60_000, False)
    assert before.start is None


def test_what_a_user_has_killed_and_what_is_forgotten_do_not_count(estimates):
    remember(estimates, 1, 0)
    remember(estimates, 2, 0)
    killed = Known(started_ms=1, finished_ms=5, state=ApplicationState.KILLED)
    estimates.fill_in({1, 2}, States(a1=killed))
    assert estimates.open_ones() == set()
    assert estimates.met(100_000) == (1, 1)  # it had started


def test_of_an_application_one_estimate_is_remembered_in_ten_minutes(estimates):
    for at_ms in (0, 1_000, SLOT_MS - 1, SLOT_MS):
        remember(estimates, 1, at_ms)
    estimates.fill_in({1}, States(a1=Known(started_ms=SLOT_MS, finished_ms=SLOT_MS)))
    assert estimates.met(2 * SLOT_MS)[1] == 4  # two starts and two ends


def test_the_oldest_go(estimates, monkeypatch):
    monkeypatch.setattr("fairshare.lab.branch.estimates.MOST_ROWS", 10)
    assert MOST_ROWS > 10
    for number in range(1, 31):
        remember(estimates, number, number)
    assert {number for number, _ in estimates.open_ones()} == {26, 27, 28, 29, 30}


def test_another_epoch_has_estimates_of_its_own(estimates, tmp_path):
    remember(estimates, 1, 0)
    with Estimates.open(tmp_path, EPOCH_MS + 1) as other:
        assert other.open_ones() == set()


def test_without_a_file_nothing_is_read(tmp_path):
    with Estimates.read(tmp_path, EPOCH_MS) as found:
        assert found is None


def test_news_of_an_application_are_its_start_its_end_and_that_it_is_gone():
    cluster = Cluster("fair", fair((QueueSettings("root.a"),)))
    waits = cluster.submit(ask(1))
    state = cluster.manager.state
    assert not has_news(waits, START, state)
    assert has_news(99, END, state)


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
