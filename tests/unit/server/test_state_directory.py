"""The folder that outlives a server."""

import os
import stat

import pytest

from fairshare.core.model.resources import ResourceTypes
from fairshare.errors import ConfigurationError, FairshareError
from fairshare.server.state_directory import open_state_directory, write_file

TYPES = ResourceTypes()
MORE = ResourceTypes((*TYPES.names, "yarn.io/gpu"), (*TYPES.units, ""))


def mode_of(path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_folder_is_for_its_owner_alone(tmp_path):
    directory = open_state_directory(tmp_path / "a" / "state")
    assert mode_of(directory.path) == 0o700


def test_a_folder_that_others_could_read_is_closed(tmp_path):
    path = tmp_path / "state"
    path.mkdir(mode=0o755)
    open_state_directory(path)
    assert mode_of(path) == 0o700


def test_a_folder_with_other_things_in_it_is_refused_and_left_as_it_is(tmp_path):
    path = tmp_path / "home"
    path.mkdir(mode=0o755)
    (path / "letters").mkdir()
    with pytest.raises(FairshareError, match="holds letters"):
        open_state_directory(path)
    assert mode_of(path) == 0o755


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "state").write_text("")
    with pytest.raises(FairshareError, match="--state"):
        open_state_directory(tmp_path / "state")


def test_the_secret_is_made_once_and_private(tmp_path):
    directory = open_state_directory(tmp_path)
    secret = directory.secret()
    assert len(secret) == 32
    assert open_state_directory(tmp_path).secret() == secret
    assert mode_of(tmp_path / "secret") == 0o600


@pytest.mark.parametrize("mode", [0o777, 0o640, 0o602])
def test_a_secret_that_is_open_to_others_is_closed_with_a_warning(tmp_path, caplog, mode):
    secret = open_state_directory(tmp_path).secret()
    (tmp_path / "secret").chmod(mode)
    assert open_state_directory(tmp_path).secret() == secret
    assert mode_of(tmp_path / "secret") == 0o600
    assert f"{tmp_path}/secret was open to others (mode {mode:o}), and is closed" in caplog.text
    caplog.clear()
    open_state_directory(tmp_path).secret()
    assert caplog.text == ""


def test_a_secret_of_another_account_or_elsewhere_is_refused(tmp_path, monkeypatch):
    directory = open_state_directory(tmp_path)
    directory.secret()
    monkeypatch.setattr(os, "geteuid", lambda: 4242)
    if tmp_path.stat().st_uid:  # root's is accepted
        with pytest.raises(FairshareError, match=r"file of the server's account \(4242\)"):
            directory.secret()
    (tmp_path / "secret").rename(tmp_path / "elsewhere")
    (tmp_path / "secret").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FairshareError, match="cannot read"):
        directory.secret()


def test_a_damaged_secret_raises_an_error(tmp_path):
    (tmp_path / "secret").write_bytes(b"short")
    with pytest.raises(FairshareError, match="damaged"):
        open_state_directory(tmp_path).secret()


def test_the_epoch_of_the_first_claim_stays(tmp_path):
    assert open_state_directory(tmp_path).claim("fair", TYPES, 17).epoch_ms == 17
    assert open_state_directory(tmp_path).claim("fair", TYPES, 99).epoch_ms == 17


def test_the_state_of_another_scheduler_or_of_other_types_is_refused_with_both_reasons(tmp_path):
    open_state_directory(tmp_path).claim("fair", TYPES, 17)
    with pytest.raises(ConfigurationError) as caught:
        open_state_directory(tmp_path).claim("fifo", MORE, 18)
    assert len(caught.value.problems) == 2
    assert "belongs to the fair scheduler" in str(caught.value)
    assert "yarn.io/gpu" in str(caught.value)
    assert 'gpus = "none" takes away yarn.io/gpu' in str(caught.value)


def test_the_error_of_a_damaged_identity_has_its_path(tmp_path):
    (tmp_path / "cluster.json").write_text("{")
    with pytest.raises(FairshareError, match=r"cluster\.json is damaged"):
        open_state_directory(tmp_path).claim("fair", TYPES, 1)


def test_the_url_is_there_only_while_it_is_published(tmp_path):
    directory = open_state_directory(tmp_path)
    assert directory.url() is None
    directory.publish_url("http://127.0.0.1:1")
    assert directory.url() == "http://127.0.0.1:1"
    directory.withdraw_url()
    directory.withdraw_url()
    assert directory.url() is None


def test_a_file_that_cannot_be_written_raises_an_error_and_leaves_no_draft(tmp_path):
    (tmp_path / "taken").mkdir()
    with pytest.raises(FairshareError, match="cannot write"):
        write_file(tmp_path / "taken", b"x")
    assert [entry.name for entry in tmp_path.iterdir()] == ["taken"]


def test_a_small_file_is_on_the_disk_with_its_name_when_it_is_written(tmp_path, monkeypatch):
    """A revoked token must not come back with a power cut."""
    synced = []
    sync = os.fsync

    def note(descriptor: int) -> None:
        synced.append(os.fstat(descriptor).st_ino)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    write_file(tmp_path / "tokens.json", b"x")
    assert synced == [(tmp_path / "tokens.json").stat().st_ino, tmp_path.stat().st_ino]


def test_a_state_whose_journal_is_new_has_names_and_a_secret_of_its_own(tmp_path):
    directory = open_state_directory(tmp_path / "state")
    types = ResourceTypes(("memory-mb", "vcores"), ("Mi", ""))
    first = directory.claim("fair", types, 1_000, journal_is_new=True)
    secret = directory.secret()
    assert directory.claim("fair", types, 2_000) == first
    later = directory.claim("fair", types, 500, journal_is_new=True)
    assert (first.epoch_ms, later.epoch_ms) == (1_000, 1_001)
    assert directory.identity() == later
    assert directory.secret() != secret
    assert directory.change_epoch(later, 1_000) == first


def test_a_state_without_a_journal_takes_over_the_scheduler_and_types_of_the_configuration(
    tmp_path,
):
    directory = open_state_directory(tmp_path)
    directory.claim("fair", TYPES, 17)
    with pytest.raises(ConfigurationError, match=r"move .*/journal\.sqlite3\* away"):
        directory.claim("fair", MORE, 18)
    claimed = directory.claim("fifo", MORE, 18, journal_is_new=True)
    assert (claimed.scheduler, claimed.types()) == ("fifo", MORE)
    assert directory.claim("fifo", MORE, 19) == claimed
