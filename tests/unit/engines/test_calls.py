"""How a container gets the Python call that it runs."""

import os

import pytest

from fairshare.core.model.work import Command, Payload
from fairshare.engines.local.directories import ContainerDirectory
from fairshare.engines.local.outcome import StartFailure
from fairshare.engines.local.preparation import call_of, forget_copies

PAYLOAD = Payload("ab12", 4)
CALL = Command(payload=PAYLOAD)


@pytest.fixture
def state(tmp_path):
    file = tmp_path / PAYLOAD.file
    file.parent.mkdir()
    file.write_bytes(b"call")
    return tmp_path


def test_all_containers_of_a_call_share_one_file(state):
    for name in "ab":
        ContainerDirectory(state / name).write_launch(b"{}", call_of(state, CALL, None))
    found = [(state / place).stat().st_ino for place in ("a/call.pickle", "b/call.pickle")]
    assert found == [(state / PAYLOAD.file).stat().st_ino] * 2


def test_a_container_that_is_begun_once_more_changes_nobodys_call(state):
    directory = ContainerDirectory(state / "a")
    directory.write_launch(b"{}", call_of(state, CALL, None))
    directory.write_launch(b"{}", b"another")
    assert directory.call.read_bytes() == b"another"
    assert (state / PAYLOAD.file).read_bytes() == b"call"


def test_a_call_on_another_disk_is_copied(state, monkeypatch):
    def refuse(*_: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", refuse)
    directory = ContainerDirectory(state / "a")
    directory.write_launch(b"{}", call_of(state, CALL, None))
    assert directory.call.read_bytes() == b"call"


def test_an_account_has_one_copy_of_its_own(state):
    own = os.getuid(), os.getgid()
    first, second = call_of(state, CALL, own), call_of(state, CALL, own)
    assert first == second == state / "payloads" / "users" / str(own[0]) / PAYLOAD.digest
    assert first.read_bytes() == b"call"
    assert first.stat().st_ino != (state / PAYLOAD.file).stat().st_ino
    assert first.stat().st_mode & 0o777 == 0o400


def test_a_call_that_is_gone_or_cut_off_is_reported(state):
    (state / PAYLOAD.file).write_bytes(b"ca")
    with pytest.raises(StartFailure, match="has 2 bytes, not 4"):
        call_of(state, CALL, None)
    (state / PAYLOAD.file).unlink()
    with pytest.raises(StartFailure, match="the Python call is gone"):
        call_of(state, CALL, None)


def test_a_call_in_the_journal_of_an_early_release_is_run(tmp_path):
    assert call_of(tmp_path, Command(callable=b"inline"), None) == b"inline"


def test_the_copies_of_all_accounts_go_with_a_payload(state):
    copies = [state / "payloads" / "users" / user / PAYLOAD.digest for user in ("7", "8")]
    other = copies[0].with_name("cd34")
    forget_copies(state / "payloads", PAYLOAD.digest)  # there are none yet
    for path in (*copies, other):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    forget_copies(state / "payloads", PAYLOAD.digest)
    assert [path.exists() for path in (*copies, other)] == [False, False, True]
