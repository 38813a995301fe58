"""`replay` and `backup` on the state directory of a server that has run."""

import os
import signal
import sqlite3
import subprocess
from contextlib import closing

import msgspec
import pytest
from click.testing import CliRunner

from fairshare.cli.verbs import fairshare
from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.inputs import (
    KillApplication,
    LoadConfiguration,
    NodeBeat,
    NodeJoined,
    SubmitApplication,
    UpdateShares,
)
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.work import TaskGroup
from fairshare.core.record import Record
from fairshare.core.schedulers.fair.settings import FairSettings
from fairshare.runtime.journal.sqlite import JOURNAL_FILE, SqliteJournal, checksum
from fairshare.runtime.snapshot import freeze
from fairshare.server.access.tokens import UserTokens
from fairshare.server.state_directory import open_state_directory
from fairshare.settings.registry import family_of

JOB = SubmitApplication("ann", tasks=(TaskGroup("t", 3, (1024, 1)),))
INPUTS = (
    LoadConfiguration(msgspec.json.encode(FairSettings()), 7),
    NodeJoined("n1", (4096, 4)),
    JOB,
    UpdateShares(),
    NodeBeat("n1"),
    KillApplication(1),
    JOB,
    UpdateShares(),
    NodeBeat("n1"),
)


@pytest.fixture
def state(tmp_path):
    """A state directory with a snapshot in the middle."""
    directory = open_state_directory(tmp_path / "state")
    types = ResourceTypes()
    directory.claim("fair", types, 7)
    manager = ResourceManager(family_of("fair").create(types))
    journal = SqliteJournal(directory.path)
    sequence = 0
    for place, given in enumerate(INPUTS):
        events = manager.handle(place * 10, given)
        if events:
            sequence += 1
            journal.append(Record(sequence, place * 10, given, events))
            journal.commit()
        if place == 5:
            journal.save(freeze(sequence, place * 10, {"manager": manager}))
    journal.close()
    return directory.path


def run(*arguments):
    return CliRunner().invoke(fairshare, [str(argument) for argument in arguments])


def change(state, statement):
    connection = sqlite3.connect(state / JOURNAL_FILE)
    with connection:
        connection.execute(statement)
    connection.close()


def test_a_journal_decides_the_same_again(state):
    result = run("replay", state, "--verify")
    assert result.exit_code == 0, result.output
    assert "from the first record" in result.output
    assert "decided again, all identical" in result.output
    assert "2 applications, 1 node" in result.output


def test_without_verify_the_records_are_only_applied(state):
    assert "records applied in" in run("replay", state / JOURNAL_FILE).output


def test_a_trimmed_journal_begins_at_its_snapshot(state):
    with closing(SqliteJournal(state, read_only=True)) as reader:
        (behind,) = reader.snapshots()
    change(state, f"DELETE FROM records WHERE sequence <= {behind}")
    result = run("replay", state, "--verify")
    assert result.exit_code == 0, result.output
    assert f"from the snapshot after record {behind}" in result.output


def test_what_was_decided_otherwise_is_shown(state):
    reader = SqliteJournal(state, read_only=True)
    records = list(reader.records())
    reader.close()
    last = records[-1]
    other = msgspec.structs.replace(last, events=last.events[:-1])
    body = msgspec.msgpack.encode(other)
    values = f"body = x'{body.hex()}', checksum = {checksum(last.sequence, last.now_ms, body)}"
    change(state, f"UPDATE records SET {values} WHERE sequence = {last.sequence}")
    result = run("replay", state, "--verify")
    assert result.exit_code == 1
    assert f"decided otherwise: record {last.sequence} at" in result.output


def test_a_file_that_is_not_a_journal_is_refused(state):
    result = run("replay", state / "cluster.json")
    assert result.exit_code == 1
    assert "is not a journal" in result.output


def test_a_server_can_go_on_from_a_backup(state, tmp_path):
    result = run("backup", tmp_path / "copy", "--state", state)
    assert result.exit_code == 0, result.output
    assert "decided again, all identical" in run("replay", tmp_path / "copy", "--verify").output
    assert (tmp_path / "copy").stat().st_mode & 0o777 == 0o700
    assert open_state_directory(tmp_path / "copy").identity().epoch_ms == 7


def test_a_backup_has_the_users_tokens_for_its_owner_alone(state, tmp_path):
    token = UserTokens(state).create("ann", 0)
    result = run("backup", tmp_path / "copy", "--state", state)
    assert result.exit_code == 0, result.output
    assert UserTokens(tmp_path / "copy").identify(token, 1).user == "ann"
    assert (tmp_path / "copy" / "tokens.json").stat().st_mode & 0o777 == 0o600


def test_a_backup_never_goes_over_what_is_there(state, tmp_path):
    (tmp_path / "copy").mkdir()
    result = run("backup", tmp_path / "copy", "--state", state)
    assert result.exit_code == 1
    assert "exists already" in result.output
    assert list((tmp_path / "copy").iterdir()) == []


def test_a_backup_makes_no_directory_for_a_disk_that_is_not_there(state, tmp_path):
    result = run("backup", tmp_path / "disk" / "copy", "--state", state)
    assert result.exit_code == 1
    assert "disk is not a directory that exists: is its disk mounted?" in result.output
    assert not (tmp_path / "disk").exists()


def test_a_backup_that_is_interrupted_leaves_nothing_behind(state, tmp_path, monkeypatch):
    def interrupted(journal, target):
        target.write_bytes(b"half")
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(SqliteJournal, "back_up", interrupted)
    before = set(tmp_path.iterdir())
    result = run("backup", tmp_path / "copy", "--state", state)
    assert result.exit_code == 128 + signal.SIGTERM
    assert set(tmp_path.iterdir()) == before


def test_a_backup_removes_what_one_that_was_killed_has_left(state, tmp_path):
    gone = subprocess.Popen(["true"])
    gone.wait()
    left = tmp_path / f".copy.{gone.pid}"
    (left / "half").mkdir(parents=True)
    at_work = tmp_path / f".copy.{os.getppid()}"
    at_work.mkdir()
    result = run("backup", tmp_path / "copy", "--state", state)
    assert result.exit_code == 0, result.output
    assert not left.exists()
    assert at_work.exists()
