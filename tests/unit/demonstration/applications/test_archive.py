"""The metrics of earlier demonstrations."""

from pathlib import Path

import msgspec
import pytest

from fairshare.demonstration.applications import archive
from fairshare.demonstration.applications.archive import LONGEST_AGE_S, Archive
from fairshare.demonstration.applications.plan import Plan
from fairshare.demonstration.measurement import QueryMetrics, RunMetrics
from fairshare.demonstration.teams import QUICK, WHOLE

PLAN = Plan(WHOLE, 2, 127, 600_000, 80, 6, 60_000_000, 4_000, 5_000_000)
OTHER_PLAN = msgspec.structs.replace(PLAN, numbers_per_task=1_000)


def metrics(scheduler: str) -> RunMetrics:
    return RunMetrics(scheduler, 1, 1, 1.0, {}, QueryMetrics(1, 1, 1, 1, 1))


def test_what_is_kept_can_be_read_again(tmp_path: Path) -> None:
    path = tmp_path / "new" / "demo.json"
    kept = archive.with_run(None, PLAN, metrics("fair"), 5.0)
    archive.write_archive(path, kept)
    assert archive.read_archive(path) == kept
    assert [entry.name for entry in path.parent.iterdir()] == ["demo.json"]


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b'{"form": 99}'])
def test_what_cannot_be_understood_is_as_good_as_not_there(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "demo.json"
    assert archive.read_archive(path) is None
    path.write_bytes(content)
    assert archive.read_archive(path) is None


def test_an_archive_of_another_format_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "demo.json"
    kept = archive.with_run(None, PLAN, metrics("fair"), 5.0)
    archive.write_archive(path, msgspec.structs.replace(kept, form=archive.FORM + 1))
    assert archive.read_archive(path) is None


def test_runs_with_the_same_plan_stay_together_and_others_are_forgotten() -> None:
    first = archive.with_run(None, PLAN, metrics("fair"), 5.0)
    both = archive.with_run(first, PLAN, metrics("fifo"), 6.0)
    assert both.runs.keys() == {"fair", "fifo"}
    other = both.other_run("fifo")
    assert other is not None
    assert (other.at_s, other.figures.scheduler) == (5.0, "fair")
    new = archive.with_run(both, OTHER_PLAN, metrics("fifo"), 7.0)
    assert new.runs.keys() == {"fifo"}
    assert new.other_run("fifo") is None


def test_the_work_of_the_other_scheduler_is_repeated_for_a_day() -> None:
    kept: Archive = archive.with_run(None, PLAN, metrics("fair"), 100.0)
    assert kept.plan_to_repeat("fifo", WHOLE, 200.0) == PLAN
    assert kept.plan_to_repeat("fair", WHOLE, 200.0) is None  # nothing to compare with
    assert kept.plan_to_repeat("fifo", QUICK, 200.0) is None
    assert kept.plan_to_repeat("fifo", WHOLE, 100.0 + LONGEST_AGE_S) is None
    assert kept.plan_to_repeat("fifo", WHOLE, 50.0) is None  # the clock was set back


def test_the_file_is_in_the_users_cache() -> None:
    assert archive.archive_path({"XDG_CACHE_HOME": "/c"}) == Path("/c/fairshare/demo.json")
    home = Path("~/.cache/fairshare/demo.json").expanduser()
    assert archive.archive_path({}) == archive.archive_path({"XDG_CACHE_HOME": "relative"}) == home
