"""Of what a container prints, the beginning and the end are kept."""

import os
from pathlib import Path

import pytest

from fairshare.engines.local import enforcement
from fairshare.engines.local.directories import ContainerDirectory
from fairshare.engines.local.enforcement import LogLimit, left_out

MEBIBYTE = 1024 * 1024
LINE = b"%07d\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "stdout.log"


def printed(log: Path, first: int, count: int) -> None:
    """Lines with numbers, added as a container does."""
    with log.open("ab") as file:
        file.writelines(LINE % number for number in range(first, first + count))


def test_a_log_below_its_limit_is_left_alone(log):
    printed(log, 0, 100)
    limit = LogLimit((log,), MEBIBYTE)
    assert limit.look(1.0) == ""
    assert ContainerDirectory(log.parent).dropped_range(log) == (0, 0)
    assert left_out(limit.dropped, MEBIBYTE) == ""


def test_the_middle_of_a_long_log_goes_and_what_follows_keeps_its_place(log):
    limit = LogLimit((log,), MEBIBYTE)
    for part in range(4):
        printed(log, part * 100_000, 100_000)
        assert limit.look(float(part + 1)) == ""
    first, end = ContainerDirectory(log.parent).dropped_range(log)
    content = log.read_bytes()
    assert len(content) == 4 * 800_000  # as if nothing were gone
    assert first == MEBIBYTE // 4
    assert content[:first] == b"".join(LINE % n for n in range(first // 8))
    assert content[first:end] == bytes(end - first)
    assert content[end:] == b"".join(LINE % n for n in range(end // 8, 400_000))
    assert first + len(content) - end >= MEBIBYTE  # as much as is said, and hardly more
    assert log.stat().st_blocks * 512 <= MEBIBYTE + 65_536
    words = f"stdout: {end - first:,} bytes in the middle were left out"
    assert words in left_out(limit.dropped, MEBIBYTE)


@pytest.mark.parametrize("lines", [131_072, 140_000, 150_000, 262_144, 999_999])
def test_of_a_log_however_long_as_much_is_kept_as_the_limit_says(log, lines):
    printed(log, 0, lines)
    limit = LogLimit((log,), MEBIBYTE)
    assert limit.look(1.0) == ""
    first, end = ContainerDirectory(log.parent).dropped_range(log)
    kept = lines * 8 - (end - first)
    assert MEBIBYTE <= kept <= MEBIBYTE + MEBIBYTE // 32 + 4_096


def test_it_is_not_looked_more_often_than_once_a_second_while_little_is_printed(log):
    limit = LogLimit((log,), MEBIBYTE)
    printed(log, 0, 100)
    limit.look(10.0)
    assert limit.look_at == 11.0
    printed(log, 0, 60_000)
    limit.look(11.0)
    assert limit.look_at == pytest.approx(11.1)


def test_a_log_without_a_limit_is_never_examined(log):
    limit = LogLimit((log,), 0)
    assert limit.look_at is None
    assert limit.look(1.0) == ""


def test_where_nothing_can_be_left_out_the_container_must_end(log, monkeypatch):
    def refuse(*_: object) -> None:
        raise OSError(95, os.strerror(95))

    monkeypatch.setattr(enforcement, "_punch", refuse)
    printed(log, 0, 200_000)
    limit = LogLimit((log,), MEBIBYTE)
    assert "it printed more than 1 MB" in limit.look(1.0)


def test_a_link_in_the_place_of_a_log_harms_nothing_else(log, tmp_path):
    other = tmp_path / "other"
    other.write_bytes(b"x" * (2 * MEBIBYTE))
    log.symlink_to(other)
    LogLimit((log,), MEBIBYTE).look(1.0)
    assert other.read_bytes() == b"x" * (2 * MEBIBYTE)
