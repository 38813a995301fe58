"""Nodes slow down while the server is busy, and speed up again."""

from fairshare.yarn.rpc.tracker import Pace


def test_the_interval_grows_while_the_server_is_busy_up_to_the_longest():
    pace = Pace(1_000, 3_000)
    assert pace.interval_ms == 1_000
    pace.measured(0.95, 1.0)
    assert pace.interval_ms == 1_250
    for _ in range(20):
        pace.measured(0.95, 1.0)
    assert pace.interval_ms == 3_000


def test_it_shrinks_again_when_there_is_time_and_stays_in_between():
    pace = Pace(1_000, 3_000)
    for _ in range(20):
        pace.measured(0.95, 1.0)
    pace.measured(0.7, 1.0)
    assert pace.interval_ms == 3_000
    for _ in range(20):
        pace.measured(0.1, 1.0)
    assert pace.interval_ms == 1_000


def test_a_longest_interval_below_the_configured_one_counts_for_nothing():
    pace = Pace(1_000, 10)
    pace.measured(5.0, 1.0)
    assert pace.interval_ms == 1_000
