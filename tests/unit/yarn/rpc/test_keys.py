"""Master keys: given out before they sign, and on disk before they are used."""

import stat

import pytest

from fairshare.errors import FairshareError
from fairshare.yarn.rpc.configuration import KeySettings
from fairshare.yarn.rpc.keys import FILE, Kind, MasterKeys

SETTINGS = KeySettings(
    container_rolling_ms=1_000,
    node_rolling_ms=5_000,
    master_rolling_ms=7_000,
    node_delay_ms=100,
    master_delay_ms=200,
)


def test_keys_of_a_new_directory_are_kept_for_the_next_server(tmp_path):
    keys = MasterKeys.open(tmp_path, SETTINGS, 0)
    again = MasterKeys.open(tmp_path, SETTINGS, 50)
    for kind in Kind:
        assert again.current(kind) == keys.current(kind)
        assert len(keys.current(kind).secret) == 8
    assert len({keys.current(kind).secret for kind in Kind}) == 3


def test_only_the_owner_can_read_the_file(tmp_path):
    MasterKeys.open(tmp_path, SETTINGS, 0)
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600


def test_a_next_key_is_given_out_first_and_signs_after_its_delay(tmp_path):
    keys = MasterKeys.open(tmp_path, SETTINGS, 0)
    first = keys.current(Kind.CONTAINER)
    assert keys.due_ms() == 1_000
    assert keys.advance(999) == frozenset()
    assert keys.next(Kind.CONTAINER) is None
    assert keys.advance(1_000) == frozenset()
    second = keys.next(Kind.CONTAINER)
    assert second is not None
    assert second.number == (first.number + 1) % 2**31
    assert (keys.current(Kind.CONTAINER), keys.newest(Kind.CONTAINER)) == (first, second)
    assert keys.due_ms() == 1_100
    assert keys.advance(1_100) == {Kind.CONTAINER}
    assert keys.current(Kind.CONTAINER) == second
    assert keys.next(Kind.CONTAINER) is None
    assert keys.known(Kind.CONTAINER, first.number) == first.secret
    assert keys.due_ms() == 2_000


def test_a_master_logs_in_with_the_current_and_the_next_key_but_not_with_the_one_before(tmp_path):
    keys = MasterKeys.open(tmp_path, SETTINGS, 0)
    first = keys.current(Kind.MASTER)
    keys.advance(7_000)
    second = keys.newest(Kind.MASTER)
    assert (keys.admits(first.number), keys.admits(second.number)) == (first.secret, second.secret)
    assert keys.advance(7_200) >= {Kind.MASTER}
    assert (keys.admits(first.number), keys.admits(second.number)) == (None, second.secret)
    assert keys.known(Kind.MASTER, first.number) == first.secret
    assert keys.known(Kind.MASTER, second.number + 1) is None


def test_a_key_is_on_disk_before_it_is_used(tmp_path, monkeypatch):
    keys = MasterKeys.open(tmp_path, SETTINGS, 0)
    keys.advance(1_000)
    assert MasterKeys.open(tmp_path, SETTINGS, 1_000).next(Kind.CONTAINER) == keys.next(
        Kind.CONTAINER
    )

    def full(path, content):
        raise FairshareError("cannot write: disk full")

    monkeypatch.setattr("fairshare.yarn.rpc.keys.write_file", full)
    before = keys.current(Kind.CONTAINER)
    with pytest.raises(FairshareError, match="disk full"):
        keys.advance(1_100)
    assert keys.current(Kind.CONTAINER) == before


def test_a_next_key_waits_again_after_a_restart(tmp_path):
    MasterKeys.open(tmp_path, SETTINGS, 0).advance(1_000)
    later = MasterKeys.open(tmp_path, SETTINGS, 60_000)
    assert Kind.CONTAINER not in later.advance(60_099)
    assert Kind.CONTAINER in later.advance(60_100)


def test_a_damaged_file_is_refused_with_what_to_do(tmp_path):
    (tmp_path / FILE).write_text("{}")
    with pytest.raises(FairshareError, match="delete it"):
        MasterKeys.open(tmp_path, SETTINGS, 0)
    (tmp_path / FILE).write_text('{"container": 1}')
    with pytest.raises(FairshareError, match="damaged"):
        MasterKeys.open(tmp_path, SETTINGS, 0)
