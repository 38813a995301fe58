"""What every journal that keeps records must do."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fairshare.errors import JournalError
from fairshare.runtime.journal.memory import (
    ForgetfulJournal,
    LinesJournal,
    MemoryJournal,
    read_lines,
)
from fairshare.runtime.journal.protocol import Journal
from fairshare.runtime.journal.sqlite import SqliteJournal

KEEPING: dict[str, Callable[[Path], Journal]] = {
    "memory": lambda directory: MemoryJournal(),
    "lines": lambda directory: LinesJournal(directory / "records.jsonl"),
    "sqlite": SqliteJournal,
}


@pytest.fixture(params=KEEPING)
def journal(request, tmp_path):
    made = KEEPING[request.param](tmp_path)
    yield made
    made.close()


def test_records_come_back_as_they_were_written(journal, records):
    for record in records:
        journal.append(record)
    journal.commit()
    assert list(journal.records()) == records


def test_records_of_several_commits_come_back_in_order(journal, records):
    for record in records:
        journal.append(record)
        journal.commit()
    journal.commit()
    assert [record.sequence for record in journal.records()] == [1, 2, 3, 4]


def test_reading_does_not_hinder_writing(journal, records):
    journal.append(records[0])
    journal.commit()
    assert len(list(journal.records())) == 1
    journal.append(records[1])
    journal.commit()
    assert len(list(journal.records())) == 2


def test_closing_twice_causes_no_error(journal):
    journal.close()
    journal.close()


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_what_was_not_committed_is_not_there(kind, tmp_path, records):
    journal = KEEPING[kind](tmp_path)
    journal.append(records[0])
    journal.commit()
    journal.append(records[1])
    assert list(journal.records()) == records[:1]
    journal.close()


def test_the_memory_journal_says_where_a_crash_could_have_been(records):
    journal = MemoryJournal()
    journal.append(records[0])
    journal.commit()
    journal.append(records[1])
    journal.append(records[2])
    journal.commit()
    journal.commit()
    assert journal.committed == [1, 3]


def test_the_forgetful_journal_keeps_nothing(records):
    journal = ForgetfulJournal()
    journal.append(records[0])
    journal.commit()
    assert list(journal.records()) == []


def test_lines_are_the_same_bytes_for_the_same_records(tmp_path, records):
    for name in ("a", "b"):
        journal = LinesJournal(tmp_path / name)
        for record in records:
            journal.append(record)
            journal.commit()
        journal.close()
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert (tmp_path / "a").read_bytes().count(b"\n") == len(records)


def test_a_bad_line_is_named(tmp_path, records):
    journal = LinesJournal(tmp_path / "a")
    journal.append(records[0])
    journal.close()
    with (tmp_path / "a").open("ab") as file:
        file.write(b"[2, 3]\n")
    with pytest.raises(JournalError, match="a:2: not a record"):
        list(read_lines(tmp_path / "a"))


def test_lines_that_cannot_be_written_are_a_journal_error(tmp_path):
    with pytest.raises(JournalError, match=r"cannot write .*: Is a directory"):
        LinesJournal(tmp_path)
    with pytest.raises(JournalError, match="cannot read"):
        list(read_lines(tmp_path / "nowhere"))
