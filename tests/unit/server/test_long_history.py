"""What outlives the journal for plans: compact records and states, within bounds."""

import contextlib
import random
import sqlite3

import msgspec
import pytest

from fairshare.core.model.events import ApplicationSubmitted
from fairshare.core.model.inputs import ForgetApplications, SubmitApplication
from fairshare.core.model.work import Command, TaskGroup
from fairshare.core.record import Record
from fairshare.errors import JournalError
from fairshare.runtime.journal.sqlite import JOURNAL_FILE, SqliteJournal
from fairshare.runtime.projections.compact_records import pack, thin, unpack
from fairshare.runtime.snapshot import freeze
from fairshare.server.long_history import FILE, Bounds, LongHistory, remove_long_history

DAY_MS = 86_400_000
WIDE = Bounds(14, 2**30)


def record(sequence, at_ms=None, name="job"):
    group = TaskGroup("t", 1, (1024, 1), Command(("true",), environment={"SECRET": "x" * 100}))
    given = SubmitApplication("ann", name=name, tasks=(group,))
    events = (ApplicationSubmitted(sequence, given, "root.a", 0),)
    return Record(sequence, sequence * 1_000 if at_ms is None else at_ms, given, events)


@pytest.fixture
def directory(tmp_path):
    """A journal of 100 records, one a second, with states behind each tenth."""
    fill(tmp_path)
    return tmp_path


def fill(directory, first=1, last=100, step_ms=1_000, name="job"):
    with contextlib.closing(SqliteJournal(directory)) as journal:
        for sequence in range(first, last + 1):
            said = name if isinstance(name, str) else name()
            journal.append(record(sequence, sequence * step_ms, said))
        journal.commit()
        for sequence in range(first - 1 + 10, last + 1, 10):
            journal.save(freeze(sequence, sequence * step_ms, {"manager": sequence}))


def trim(directory, end, bounds=WIDE):
    with (
        contextlib.closing(SqliteJournal(directory)) as journal,
        contextlib.closing(LongHistory.open_for_writing(directory)) as history,
    ):
        history.take(journal, end, bounds)
        journal.delete_up_to(end)


def numbers(directory, after=0):
    """The records and the states that the file has; None if it does not lead up to the journal."""
    with (
        contextlib.closing(SqliteJournal(directory, read_only=True)) as journal,
        contextlib.closing(LongHistory.open_for_reading(directory)) as history,
    ):
        if not history.leads_up_to(journal):
            return None
        return [one.sequence for one in history.records(after)], history.states()


def test_what_the_journal_trims_is_kept_without_commands(directory):
    trim(directory, 25)
    trim(directory, 30)
    assert numbers(directory) == (list(range(1, 31)), [])  # it begins with the first one
    assert numbers(directory, after=28)[0] == [29, 30]
    assert b"SECRET" not in pack([thin(record(1))])
    with contextlib.closing(LongHistory.open_for_reading(directory)) as history:
        assert next(history.records(0)) == thin(record(1))


def test_it_is_kept_once_though_the_journal_has_not_deleted_it_yet(directory):
    with (
        contextlib.closing(SqliteJournal(directory)) as journal,
        contextlib.closing(LongHistory.open_for_writing(directory)) as history,
    ):
        history.take(journal, 20, WIDE)
        history.take(journal, 20, WIDE)
    trim(directory, 40)
    assert numbers(directory)[0] == list(range(1, 41))


def test_a_gap_lets_it_begin_again_with_a_state(directory):
    trim(directory, 20)
    with contextlib.closing(SqliteJournal(directory)) as journal:
        journal.delete_up_to(35)
    assert numbers(directory) is None
    trim(directory, 60)
    assert numbers(directory) == (list(range(41, 61)), [40])


def test_a_history_that_begins_without_a_state_is_not_kept(directory):
    with contextlib.closing(SqliteJournal(directory)) as journal:
        journal.delete_up_to(32)
    trim(directory, 38)
    assert numbers(directory) is None


def test_it_does_not_belong_to_a_journal_that_replaced_the_other(directory):
    trim(directory, 50)
    (directory / JOURNAL_FILE).unlink()
    for suffix in ("-wal", "-shm"):
        (directory / f"{JOURNAL_FILE}{suffix}").unlink(missing_ok=True)
    fill(directory, name="another")
    trim(directory, 20)
    with contextlib.closing(LongHistory.open_for_reading(directory)) as history:
        assert {one.input.name for one in history.records(0)} == {"another"}


def test_what_is_older_than_the_days_goes_up_to_a_state(tmp_path):
    fill(tmp_path, step_ms=DAY_MS // 10)  # ten days
    for end in range(10, 100, 10):
        trim(tmp_path, end, Bounds(3, 2**30))
    records, states = numbers(tmp_path)
    # The last one is 9 days old: what is before the state at 6 days has gone.
    assert (records[0], records[-1], states[0]) == (61, 90, 60)


def test_a_file_that_is_too_large_loses_its_oldest_part(tmp_path):
    chance = random.Random(1)
    fill(tmp_path, step_ms=DAY_MS // 10, name=lambda: chance.randbytes(1_000).hex())
    for end in range(10, 91, 10):
        trim(tmp_path, end)
    assert numbers(tmp_path)[0] == list(range(1, 91))
    trim(tmp_path, 95, Bounds(14, 80_000))
    records, states = numbers(tmp_path)
    assert 1 < records[0] < 90
    assert states[0] == records[0] - 1
    trim(tmp_path, 97, Bounds(14, 1))
    assert numbers(tmp_path) is None


def test_a_damaged_block_is_named(directory):
    trim(directory, 20)
    with contextlib.closing(sqlite3.connect(directory / FILE)) as file, file:
        file.execute("UPDATE blocks SET body = x'00'")
    with pytest.raises(JournalError, match="the block of record 1 is damaged"):
        numbers(directory)


def test_a_server_without_it_removes_the_file(directory):
    trim(directory, 20)
    remove_long_history(directory)
    assert LongHistory.open_for_reading(directory) is None


def test_records_that_change_nothing_in_a_simulation_are_left_out():
    assert thin(Record(1, 0, ForgetApplications((1,)), ())) is None


@pytest.mark.parametrize("body", [b"", b"nonsense", pack([record(1)])[:-3]])
def test_bytes_that_are_not_packed_records_are_refused(body):
    with pytest.raises(ValueError, match="not packed records"):
        list(unpack(body))


def test_packed_records_come_back_as_they_were():
    records = [record(n, name=f"job {n % 3}") for n in range(1, 200)]
    assert list(unpack(pack(records))) == records
    assert len(pack(records)) < len(msgspec.msgpack.encode(records)) / 20
