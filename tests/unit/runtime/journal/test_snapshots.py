"""Snapshots in the SQLite journal: kept, found again, and what may go once there is one."""

import pytest

from fairshare.core.model.inputs import NodeBeat
from fairshare.core.record import Record
from fairshare.errors import JournalError
from fairshare.runtime.journal import sqlite
from fairshare.runtime.journal.protocol import Snapshot
from fairshare.runtime.journal.sqlite import JOURNAL_FILE, SqliteJournal


@pytest.fixture
def journal(tmp_path):
    made = SqliteJournal(tmp_path)
    for sequence in range(1, 101):
        made.append(Record(sequence, sequence * 10, NodeBeat("n1"), ()))
    made.commit()
    for sequence in (20, 50, 90):
        made.save(Snapshot(sequence, sequence * 10, 1, b"state"))
    yield made
    made.close()


def numbers(journal, after=0):
    return [record.sequence for record in journal.records(after)]


def test_a_snapshot_comes_back_as_it_was(journal):
    assert journal.snapshots() == [20, 50, 90]
    assert journal.snapshot(50) == Snapshot(50, 500, 1, b"state")


def test_one_that_there_is_not_is_an_error(journal):
    with pytest.raises(JournalError, match="no snapshot behind record 21"):
        journal.snapshot(21)


def test_the_records_behind_a_snapshot_are_read_alone(journal):
    assert numbers(journal, 90) == list(range(91, 101))


@pytest.mark.parametrize(
    ("kept", "first", "snapshots"),
    [(100, 1, [20, 50, 90]), (79, 21, [20, 50, 90]), (50, 51, [50, 90]), (11, 51, [50, 90])],
)
def test_trimming_keeps_at_least_so_many_records_and_the_snapshot_before_them(
    journal, kept, first, snapshots
):
    while journal.trim(kept, 2**40):
        pass
    assert numbers(journal, first - 1) == list(range(first, 101))
    assert journal.snapshots() == snapshots


def test_records_that_are_too_large_together_go_though_there_are_few(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite, "BYTES_AT_ONCE", 50_000)
    journal = SqliteJournal(tmp_path)
    for sequence in range(1, 31):
        journal.append(Record(sequence, sequence * 10, NodeBeat("n" * 10_000), ()))
    journal.commit()
    most = 200_000
    assert journal.size() > most
    assert journal.trim(1_000, most) == 0  # no snapshot stands for them
    for sequence in (8, 16, 24):
        journal.save(Snapshot(sequence, sequence * 10, 1, b"state"))
    steps = []
    while gone := journal.trim(1_000, most):
        steps.append(gone)
    assert max(steps) == 4  # of ten thousand bytes each: whoever writes does not wait for long
    assert journal.size() <= most
    assert journal.snapshots() == [16, 24]
    assert numbers(journal, 16) == list(range(17, 31))
    journal.close()


def test_trimming_goes_in_steps_and_never_leaves_a_gap(journal, monkeypatch):
    monkeypatch.setattr(sqlite, "AT_ONCE", 7)
    steps = []
    while gone := journal.trim(10, 2**40):
        steps.append(gone)
        after = journal.snapshots()[0] if numbers_start(journal) > 1 else 0
        assert numbers(journal, max(after, numbers_start(journal) - 1))[-1] == 100
    assert sum(steps) == 50
    assert max(steps) == 7
    assert journal.snapshots() == [50, 90]  # if the last one cannot be read, there is another one


def numbers_start(journal):
    return journal._connected().execute("SELECT min(sequence) FROM records").fetchone()[0]


def test_records_that_were_trimmed_are_missed_by_name(journal):
    while journal.trim(10, 2**40):
        pass
    with pytest.raises(JournalError, match="record 1 is missing, 51 follows"):
        numbers(journal)


def test_a_copy_of_a_journal_in_use_holds_all_that_is_committed(journal, tmp_path):
    journal.append(Record(101, 1010, NodeBeat("n1"), ()))
    (tmp_path / "copy").mkdir()
    reader = SqliteJournal(tmp_path, read_only=True)
    reader.back_up(tmp_path / "copy" / JOURNAL_FILE)
    reader.close()
    copy = SqliteJournal(tmp_path / "copy", read_only=True)
    assert numbers(copy) == list(range(1, 101))
    assert copy.snapshots() == [20, 50, 90]
    copy.close()


def test_a_copy_is_never_written_over_another_file(journal, tmp_path):
    (tmp_path / "there").write_text("mine")
    with pytest.raises(JournalError, match="exists already"):
        journal.back_up(tmp_path / "there")
    assert (tmp_path / "there").read_text() == "mine"
