"""How many things stood at past moments, when few of them change."""

import random

import msgspec
import pytest

from fairshare.server.past_views import RowHistory


class Thing(msgspec.Struct, frozen=True):
    name: str
    size: tuple[int, ...]
    note: str | None = None


def things(**sizes: int) -> dict[str, Thing]:
    return {name: Thing(name, (size, 1)) for name, size in sizes.items()}


def test_a_row_has_its_value_of_the_last_moment_before():
    tracks = RowHistory(Thing)
    tracks.take(10, things(a=1, b=2))
    tracks.take(20, things(a=5, b=2))
    assert tracks.at(19) == things(a=1, b=2)
    assert tracks.at(20) == things(a=5, b=2)
    assert tracks.one("a", 15) == Thing("a", (1, 1))
    assert tracks.at(9) == {}


def test_what_did_not_change_is_not_written_again():
    tracks = RowHistory(Thing)
    rows = things(a=1, b=2)
    tracks.take(10, rows)
    size = tracks.size
    tracks.take(20, dict(rows))
    assert tracks.size == size


def test_what_has_gone_is_there_before_and_not_after_and_may_come_back():
    tracks = RowHistory(Thing)
    tracks.take(10, things(a=1, b=2))
    tracks.take(20, things(b=2))
    tracks.take(30, things(a=7, b=2))
    assert list(tracks.at(10)) == ["a", "b"]
    assert tracks.one("a", 25) is None
    assert tracks.one("a", 30) == Thing("a", (7, 1))


@pytest.mark.parametrize("seed", range(20))
def test_thinning_changes_no_moment_that_is_kept(seed):
    """Random lives; `seed` repeats one."""
    chance = random.Random(seed)
    tracks, truth = RowHistory(Thing), {}
    rows: dict[str, Thing] = {}
    for at_ms in range(10, 400, 10):
        rows = dict(rows)
        for name in chance.sample("abcdefgh", 3):
            if chance.random() < 0.3:
                rows.pop(name, None)
            else:
                rows[name] = Thing(name, (chance.randrange(9), at_ms))
        tracks.take(at_ms, rows)
        truth[at_ms] = rows
        if chance.random() < 0.15:
            kept = sorted([*chance.sample(sorted(truth), max(1, len(truth) // 2)), at_ms])
            truth = {instant: truth[instant] for instant in kept}
            tracks.thin(sorted(truth))
    for instant, wanted in truth.items():
        found = tracks.at(instant)
        assert found == wanted, f"seed {seed}, at {instant}"


def test_what_was_gone_before_the_first_moment_costs_nothing_any_more():
    tracks = RowHistory(Thing)
    tracks.take(10, things(a=1, b=2))
    tracks.take(20, things(b=2))
    tracks.take(30, things(b=3))
    tracks.thin([30])
    assert len(tracks) == 1
    assert list(tracks.at(30)) == ["b"]
    tracks.take(40, things(b=3, a=4))
    assert tracks.one("a", 40) == Thing("a", (4, 1))
