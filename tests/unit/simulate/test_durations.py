"""How durations are written."""

import pytest

from fairshare.simulate.durations import parse_duration_ms


@pytest.mark.parametrize(
    ("text", "ms"),
    [("30s", 30_000), ("250ms", 250), ("1h30m", 5_400_000), ("1.5s", 1_500), ("2d", 172_800_000)],
)
def test_a_duration_has_units(text, ms):
    assert parse_duration_ms(text) == ms


@pytest.mark.parametrize("text", ["", "30", "s", "1 h", "-1s", "1h-2m", "1w", "1e3s"])
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(ValueError, match="is not a duration: write 30s"):
        parse_duration_ms(text)


def test_nothing_needs_no_unit():
    assert parse_duration_ms("0") == 0
