"""The metrics of a run, from records of containers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairshare.demonstration import measurement
from fairshare.demonstration.measurement import ApplicationSpan, ContainerSpan, Interval

EDGES = st.lists(st.integers(0, 30), max_size=8).map(sorted)


def intervals(edges: list[int]) -> list[Interval]:
    pairs = zip(edges[::2], edges[1::2], strict=False)
    return [(a, b) for a, b in pairs if a < b]


@given(EDGES, EDGES)
def test_an_instant_is_common_when_it_lies_in_both(first: list[int], second: list[int]) -> None:
    one, two = intervals(first), intervals(second)

    def inside(instant: int, spans: list[Interval]) -> bool:
        return any(a <= instant < b for a, b in spans)

    found = measurement.common(one, two)
    for instant in range(31):
        assert inside(instant, found) == (inside(instant, one) and inside(instant, two))


def span(submitted_ms: int, finished_ms: int, *containers: tuple[int, int]) -> ApplicationSpan:
    made = tuple(ContainerSpan(a, b, 256) for a, b in containers)
    return ApplicationSpan(submitted_ms, finished_ms, made)


def test_a_team_is_busy_while_one_of_its_applications_is_not_over() -> None:
    spans = [span(50, 60), span(0, 10), span(5, 20), span(20, 30)]
    assert measurement.busy_time(spans) == [(0, 30), (50, 60)]


def test_the_share_of_each_team_is_measured_while_all_three_want_resources() -> None:
    # A cluster of two containers. All three are active from 40 to 60 and from 80 to 100.
    teams = {
        "research": [span(0, 100, (0, 100))],
        "production": [span(20, 110, (20, 30), (50, 110))],
        "adhoc": [span(40, 60, (45, 60)), span(80, 100, (90, 100))],
    }
    claims = {"research": 0.5, "production": 0.25, "adhoc": 0.25}
    metrics = measurement.metrics_of("fair", teams, 512, claims, claims)
    assert (metrics.total_ms, metrics.contended_ms) == (110, 40)
    assert metrics.teams["research"].got == pytest.approx(0.5)
    assert metrics.teams["production"].got == pytest.approx((10 + 20) / 80)
    assert metrics.teams["adhoc"].got == pytest.approx((15 + 10) / 80)
    assert metrics.busy == pytest.approx((100 + 10 + 60 + 15 + 10) / 220)
    assert metrics.teams["production"].begun_ms == 0
    assert metrics.teams["production"].finished_ms == 90
    assert metrics.teams["adhoc"].owed == 0.25


def test_queries_are_measured_until_their_first_container_and_until_the_answer() -> None:
    queries = [span(0, 50, (5, 50), (9, 20)), span(10, 20, (11, 20)), span(20, 100, (90, 100))]
    metrics = measurement.query_metrics(queries)
    assert (metrics.begun_median_ms, metrics.begun_longest_ms) == (5, 70)
    assert (metrics.answered_median_ms, metrics.answered_longest_ms) == (50, 80)


def test_the_part_of_an_empty_period_is_0() -> None:
    assert measurement.part_used([span(0, 10, (0, 10))], [], 512) == 0.0


def test_users_of_a_queue_are_measured_while_both_wanted_more() -> None:
    # bob alone until 10, then one container each, two of ann's from 20 on; his last one is at 30.
    bob = span(0, 40, (0, 30), (30, 40))
    ann = span(5, 90, (10, 90), (20, 90), (60, 90))
    users = measurement.user_metrics([bob, ann], {"bob": 1, "ann": 2})
    assert [(user.name, user.weight) for user in users] == [("bob", 1), ("ann", 2)]
    assert [user.expected for user in users] == pytest.approx([1 / 3, 2 / 3])
    assert [user.got for user in users] == pytest.approx([20 / 50, 30 / 50])
