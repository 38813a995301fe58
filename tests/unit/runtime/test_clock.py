"""Clocks do not go back."""

import time

import pytest

from fairshare.runtime.clock import VirtualClock, WallClock


def test_the_wall_clock_shows_the_machine_s_time():
    before = time.time_ns() // 1_000_000
    assert before <= WallClock().now_ms() <= before + 10_000


def test_the_wall_clock_does_not_go_back_when_the_machine_s_is_set_back(monkeypatch):
    clock = WallClock()
    monkeypatch.setattr(time, "time_ns", lambda: 5_000_000_000)
    first = WallClock().now_ms()
    assert first == 5_000
    stays = clock.now_ms()
    monkeypatch.setattr(time, "time_ns", lambda: 4_000_000_000)
    assert stays <= clock.now_ms() < stays + 60_000


def test_the_wall_clock_is_not_earlier_than_the_last_record(monkeypatch):
    monkeypatch.setattr(time, "time_ns", lambda: 1_000_000)
    assert 77 <= WallClock(earliest_ms=77).now_ms() < 60_000


def test_a_virtual_clock_goes_where_it_is_moved_but_not_back():
    clock = VirtualClock(5)
    assert clock.now_ms() == 5
    clock.advance(9)
    assert clock.now_ms() == 9
    with pytest.raises(ValueError, match="time does not go back from 9 to 8"):
        clock.advance(8)
