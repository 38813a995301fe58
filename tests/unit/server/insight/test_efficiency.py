"""Asked against used."""

import pytest

from fairshare.server.web.timelines import ContainerUse, efficiency_of


def test_a_long_container_weighs_more_than_a_short_one():
    found = efficiency_of(
        [ContainerUse(1000, 1, 9_000, 100, 9_000), ContainerUse(1000, 1, 1_000, 900, 0)]
    )
    assert found.memory_ratio == pytest.approx(0.18)
    assert found.cpu_ratio == pytest.approx(0.9)
    assert (found.peak_memory_mb, found.mean_peak_memory_mb) == (900, 500)


def test_advice_leaves_a_tenth_and_is_silent_where_the_grant_fits():
    assert efficiency_of([ContainerUse(4096, 1, 1, 1000, 0)]).advice_mb == 1152
    assert efficiency_of([ContainerUse(1100, 1, 1, 1000, 0)]).advice_mb is None


def test_what_was_not_measured_says_nothing():
    found = efficiency_of([ContainerUse(1024, 1, 1000, 0, 0)])
    assert (found.containers, found.memory_ratio, found.cpu_ratio) == (0, None, None)
