"""When a file is read again."""

import os

import pytest

from fairshare.server.file_watch import FileWatch, Finding, stamp_of

LOADED_MS = 1_700_000_000_000


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "fair-scheduler.xml"
    write(path, "old", LOADED_MS - 60_000)
    return path


def write(path, text: str, modified_ms: int) -> None:
    path.write_text(text)
    os.utime(path, ns=(modified_ms * 1_000_000, modified_ms * 1_000_000))


def watch_of(path, settle_ms: int = 5_000) -> FileWatch:
    return FileWatch(path, settle_ms, LOADED_MS)


def test_an_untouched_file_is_the_same(path):
    assert watch_of(path).look(LOADED_MS + 3_600_000) is Finding.SAME


def test_a_change_counts_when_the_file_was_left_alone_for_the_settle_time(path):
    watch = watch_of(path)
    write(path, "new", LOADED_MS + 10)
    found = [watch.look(LOADED_MS + 10 + after_ms) for after_ms in (0, 5_000, 5_001)]
    assert found == [Finding.UNSETTLED, Finding.UNSETTLED, Finding.CHANGED]


def test_a_change_counts_until_it_was_loaded(path):
    watch = watch_of(path)
    write(path, "new", LOADED_MS + 10)
    now_ms = LOADED_MS + 20_000
    assert [watch.look(now_ms), watch.look(now_ms)] == [Finding.CHANGED, Finding.CHANGED]
    watch.loaded(stamp_of(path), now_ms)
    assert watch.look(now_ms + 20_000) is Finding.SAME


def test_a_file_that_was_written_between_its_reading_and_the_start_of_the_watch_counts(path):
    write(path, "new", LOADED_MS + 1)
    assert watch_of(path).look(LOADED_MS + 20_000) is Finding.CHANGED


def test_an_older_file_in_its_place_counts(path, tmp_path):
    watch = watch_of(path)
    write(tmp_path / "backup", "older", LOADED_MS - 3_600_000)
    (tmp_path / "backup").rename(path)
    assert watch.look(LOADED_MS) is Finding.CHANGED


def test_a_file_that_is_gone_or_has_no_time_is_gone(path):
    watch = watch_of(path)
    os.utime(path, ns=(0, 0))
    assert watch.look(LOADED_MS) is Finding.GONE
    path.unlink()
    assert watch.look(LOADED_MS) is Finding.GONE


def test_a_file_that_appears_later_counts_as_changed(tmp_path):
    path = tmp_path / "later.xml"
    watch = watch_of(path)
    assert watch.look(LOADED_MS) is Finding.SAME
    write(path, "new", LOADED_MS)
    assert watch.look(LOADED_MS + 5_001) is Finding.CHANGED
