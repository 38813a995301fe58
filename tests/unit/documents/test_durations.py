"""One grammar of durations for all files and options that are ours."""

import pytest

from fairshare.documents.durations import MOST_MS, parse_duration, parse_duration_ms


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("30s", 30_000),
        ("250ms", 250),
        ("10m", 600_000),
        ("10M", 600_000),
        ("500MS", 500),
        ("1h30m", 5_400_000),
        ("1h 30m", 5_400_000),
        (" 1 h 30 m ", 5_400_000),
        ("1.5h", 5_400_000),
        (".5s", 500),
        ("2d", 172_800_000),
        ("1d0.5h1ms", 88_200_001),
        ("0", 0),
        ("0.0", 0),
        ("0s", 0),
        (f"{MOST_MS}ms", MOST_MS),
        ("01:30:00", 5_400_000),
        ("100:00:05", 360_005_000),
        ("2-12:00:00", 216_000_000),
        ("7-0", 604_800_000),
        ("1-02:30", 95_400_000),
    ],
)
def test_a_duration_is_spans_with_units(text, ms):
    assert parse_duration_ms(text) == ms
    assert parse_duration_ms(text, bare_unit="h") == ms


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "s",
        "-1s",
        "+1s",
        "1h-2m",
        "1w",
        "5 days",
        "1e3s",
        "1.s",
        "10m5",
        "1 0m",
        "5m s",
        "1,5h",
        "\u0665s",
        "\u0665",
        "soon",
        "1:30",
        "1:60:00",
        "1:2:3",
        "1-",
        "-1:00:00",
        "1-2-3",
        "1h:00:00",
    ],
)
def test_other_texts_are_refused_with_what_to_write(text):
    for bare_unit in (None, "s"):
        with pytest.raises(ValueError, match="is not a duration: write 500ms, 30s, 10m, 1h30m or"):
            parse_duration_ms(text, bare_unit=bare_unit)


def test_a_bare_number_needs_a_unit_unless_the_reader_has_one():
    with pytest.raises(ValueError, match="'30' has no unit: write 30s or 30m"):
        parse_duration_ms("30")
    assert parse_duration_ms("30", bare_unit="s") == 30_000
    assert parse_duration_ms("1.5", bare_unit="h") == 5_400_000


@pytest.mark.parametrize("text", [f"{MOST_MS + 1}ms", "99999999999999999999d", "9" * 99 + "h"])
def test_a_duration_beyond_what_can_be_counted_is_refused(text):
    with pytest.raises(ValueError, match="longer than can be counted: write a shorter time"):
        parse_duration_ms(text)
    with pytest.raises(ValueError, match="longer than can be counted: write a shorter time"):
        parse_duration(text, "s")


def test_a_text_without_end_is_refused_before_it_costs_time():
    with pytest.raises(ValueError, match="at most 100 characters, and this one has 1000001"):
        parse_duration_ms("9" * 1_000_000 + "h")


def test_the_least_is_what_the_reader_says():
    assert parse_duration_ms("1ms", least_ms=1) == 1
    with pytest.raises(ValueError, match="'0s' is no time at all: write at least 1ms"):
        parse_duration_ms("0s", least_ms=1)
    with pytest.raises(ValueError, match="'9ms' is too short: write at least 10ms"):
        parse_duration_ms("9ms", least_ms=10)


def test_a_number_of_a_unit_must_be_whole():
    assert parse_duration("1h30m", "m") == 90
    assert parse_duration("7d", "h") == 168
    assert parse_duration("168", "h") == 168
    with pytest.raises(ValueError, match="'90m' is not a whole number of hours: write 2h"):
        parse_duration("90m", "h")
