"""What a cron line means: which instants, in which time zone, and which lines are refused."""

from datetime import datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from fairshare.server.cron.cron import last_ms, local_zone, next_ms, parse_line, zone_of

BERLIN = "Europe/Berlin"


def instant(text, zone=BERLIN):
    return int(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp() * 1_000)


def times(line, begin, count, zone=BERLIN):
    found, at_ms = [], instant(begin)
    for _ in range(count):
        at_ms = next_ms(line, zone, at_ms)
        found.append(f"{datetime.fromtimestamp(at_ms / 1_000, ZoneInfo(zone)):%m-%d %H:%M}")
    return found


@pytest.mark.parametrize(
    ("line", "begin", "expected"),
    [
        ("30 2 * * mon-fri", "2026-11-20T12:00", ["11-23 02:30", "11-24 02:30"]),
        ("*/20 8-9 * * *", "2026-11-20T09:30", ["11-20 09:40", "11-21 08:00"]),
        ("0 0 29 2 *", "2026-11-20T00:00", ["02-29 00:00", "02-29 00:00"]),
        ("0 0 1,15 * mon", "2026-11-20T00:00", ["11-23 00:00", "11-30 00:00"]),
        # 2:30 does not exist on 2027-03-28, and exists twice on 2026-10-25.
        ("30 2 * * *", "2027-03-27T03:00", ["03-28 03:00", "03-29 02:30"]),
        ("30 2 * * *", "2026-10-24T12:00", ["10-25 02:30", "10-26 02:30"]),
    ],
)
def test_a_line_gives_the_instants_that_debians_cron_would(line, begin, expected):
    assert times(line, begin, 2) == expected


def test_the_last_time_is_found_backwards_and_counts_the_instant_itself():
    line = "0 4 * * *"
    at_ms = instant("2026-11-23T04:00")
    assert last_ms(line, BERLIN, at_ms) == at_ms
    assert last_ms(line, BERLIN, at_ms - 1_000) == instant("2026-11-22T04:00")
    found = [next_ms(line, BERLIN, at_ms)]
    for _ in range(3):
        found.append(next_ms(line, BERLIN, found[-1]))
    assert all(last_ms(line, BERLIN, later - 1_000) == one for one, later in pairwise(found))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("30 2 * *", "write minute, hour"),
        ("0 30 2 * * *", "write minute, hour"),
        ("60 * * * *", "wrong minute"),
        ("0 0 31 2 *", "wrong day-of-month"),
        ("0 0 30-31 feb *", "wrong day-of-month"),
        ("@reboot", "write minute, hour"),
        ("*/0 * * * *", "wrong minute"),
        ("1," * 200, "at most 200 characters"),
    ],
)
def test_a_line_that_is_invalid_or_never_due_is_refused(line, words):
    with pytest.raises(ValueError, match=words):
        parse_line(line)


@pytest.mark.parametrize("name", ["Europe/Nowhere", "../../etc/passwd", "", "/etc/localtime"])
def test_an_unknown_time_zone_is_refused(name):
    with pytest.raises(ValueError, match="is not a time zone"):
        zone_of(name)


def test_this_machines_time_zone_has_a_name(monkeypatch):
    monkeypatch.setenv("TZ", ":Asia/Tokyo")
    assert local_zone() == "Asia/Tokyo"
    monkeypatch.setenv("TZ", "no/zone")
    zone_of(local_zone())
