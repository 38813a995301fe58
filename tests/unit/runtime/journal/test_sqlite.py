"""What only the SQLite journal does: formats, damage, full disks, several openers."""

import itertools
import os
import shutil
import sqlite3
import threading

import msgspec
import pytest

from fairshare.errors import JournalError
from fairshare.runtime.journal.protocol import Snapshot
from fairshare.runtime.journal.sqlite import FORMAT, JOURNAL_FILE, SqliteJournal


def write(directory, records):
    journal = SqliteJournal(directory)
    for record in records:
        journal.append(record)
    journal.commit()
    journal.close()


def change(directory, *statements):
    connection = sqlite3.connect(directory / JOURNAL_FILE)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def test_records_outlive_the_journal_that_wrote_them(tmp_path, records):
    write(tmp_path, records)
    journal = SqliteJournal(tmp_path)
    assert list(journal.records()) == records
    journal.close()


def test_commits_wait_for_the_disk(tmp_path, records):
    journal = SqliteJournal(tmp_path)
    connection = journal._connected()
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    assert connection.execute("PRAGMA user_version").fetchone() == (FORMAT,)
    journal.close()


def test_the_refusal_of_a_second_writer_names_the_holder_of_the_directory(tmp_path):
    journal = SqliteJournal(tmp_path, address="http://127.0.0.1:1")
    with pytest.raises(
        JournalError, match=f"in use by process {os.getpid()} at http://127.0.0.1:1"
    ):
        SqliteJournal(tmp_path)
    journal.announce("http://127.0.0.1:2")
    with pytest.raises(JournalError, match=r"at http://127\.0\.0\.1:2; stop that server first"):
        SqliteJournal(tmp_path)
    journal.close()
    SqliteJournal(tmp_path).close()


def test_a_reader_sees_the_journal_of_a_running_server(tmp_path, records):
    writer = SqliteJournal(tmp_path)
    writer.append(records[0])
    writer.commit()
    reader = SqliteJournal(tmp_path, read_only=True)
    assert list(reader.records()) == records[:1]
    reader.append(records[1])
    with pytest.raises(JournalError, match="readonly"):
        reader.commit()
    reader.close()
    writer.close()


def test_there_is_nothing_to_read_where_nothing_was_written(tmp_path):
    with pytest.raises(JournalError, match="does not exist"):
        SqliteJournal(tmp_path, read_only=True)
    (tmp_path / JOURNAL_FILE).touch()
    with pytest.raises(JournalError, match="is empty"):
        SqliteJournal(tmp_path, read_only=True)


@pytest.mark.parametrize("other", [FORMAT - 1, FORMAT + 1])
def test_another_format_is_refused(other, tmp_path, records):
    write(tmp_path, records)
    change(tmp_path, f"PRAGMA user_version = {other}")
    with pytest.raises(JournalError, match=f"has format {other}.*use the version that wrote"):
        SqliteJournal(tmp_path)
    with pytest.raises(JournalError, match="has format"):
        SqliteJournal(tmp_path, read_only=True)


def test_a_refused_journal_lets_go_of_the_lock(tmp_path, records):
    (tmp_path / JOURNAL_FILE).write_bytes(b"no database at all, but long enough to look at" * 50)
    for _ in range(2):
        with pytest.raises(JournalError, match="this is not a journal: move the file away"):
            SqliteJournal(tmp_path)


def test_a_database_of_another_program_is_refused(tmp_path):
    change(tmp_path, "CREATE TABLE recipes (name)")
    with pytest.raises(JournalError, match="SQLite file of another program"):
        SqliteJournal(tmp_path)


def test_a_gap_in_the_records_is_an_error(tmp_path, records):
    write(tmp_path, records)
    change(tmp_path, "DELETE FROM records WHERE sequence = 2")
    journal = SqliteJournal(tmp_path)
    with pytest.raises(JournalError, match="record 2 is missing, 3 follows"):
        list(journal.records())
    journal.close()


def test_a_damaged_record_is_named(tmp_path, records):
    write(tmp_path, records)
    change(tmp_path, "UPDATE records SET body = x'93' WHERE sequence = 3")
    journal = SqliteJournal(tmp_path)
    with pytest.raises(JournalError, match="record 3 is damaged"):
        list(journal.records())
    journal.close()


def test_a_changed_byte_is_found_by_every_reader(tmp_path, records):
    write(tmp_path, records)
    file = tmp_path / JOURNAL_FILE
    content = file.read_bytes()
    assert content.count(b"root.a") == 1
    file.write_bytes(content.replace(b"root.a", b"root.b"))
    journal = SqliteJournal(tmp_path)  # the pages fit together
    with pytest.raises(JournalError, match=r"record 2 is damaged.*restore the file from a copy"):
        list(journal.records())
    assert [record.sequence for record in journal.records(2)] == [3, 4]
    with pytest.raises(JournalError, match="record 2 is damaged"):
        journal.back_up(tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    journal.close()


def test_a_record_in_the_place_of_another_one_is_seen(tmp_path, records):
    write(tmp_path, records)
    change(
        tmp_path,
        "UPDATE records SET body = (SELECT body FROM records WHERE sequence = 1)"
        " WHERE sequence = 2",
    )
    journal = SqliteJournal(tmp_path)
    with pytest.raises(JournalError, match="record 2 is damaged"):
        list(journal.records())
    journal.close()


def test_reading_or_copying_a_damaged_snapshot_names_it(tmp_path):
    journal = SqliteJournal(tmp_path)
    journal.save(Snapshot(7, 0, 1, b"state"))
    assert journal.snapshot(7).body == b"state"
    journal._connected().execute("UPDATE snapshots SET body = x'00'")
    for read in (lambda: journal.snapshot(7), lambda: journal.back_up(tmp_path / "copy")):
        with pytest.raises(JournalError, match="the snapshot behind record 7 is damaged"):
            read()
    journal.close()


def test_a_full_disk_raises_an_error_and_no_record_is_lost(tmp_path, records):
    journal = SqliteJournal(tmp_path)
    journal.append(records[0])
    journal.commit()
    pages = journal._connected().execute("PRAGMA page_count").fetchone()[0]
    journal._connected().execute(f"PRAGMA max_page_count = {pages}")
    large = records[0].input.__class__(b"x" * 100_000, 1)
    for sequence in (2, 3):
        journal.append(records[0].__class__(sequence, 1, large, ()))
    with pytest.raises(JournalError, match=r"cannot write .*; the disk is full: make room"):
        journal.commit()
    assert list(journal.records()) == records[:1]
    journal.close()


def test_two_records_of_one_number_are_refused(tmp_path, records):
    journal = SqliteJournal(tmp_path)
    journal.append(records[0])
    journal.append(records[0])
    with pytest.raises(JournalError, match="cannot write"):
        journal.commit()
    assert list(journal.records()) == []
    journal.close()


def test_a_closed_journal_says_so(tmp_path, records):
    journal = SqliteJournal(tmp_path)
    journal.close()
    journal.append(records[0])
    with pytest.raises(JournalError, match="is closed"):
        journal.commit()


def test_a_missing_directory_raises_an_error(tmp_path):
    with pytest.raises(JournalError, match="must exist and be writable"):
        SqliteJournal(tmp_path / "nowhere")


def test_bytes_overwritten_in_the_middle_are_noticed_when_a_server_opens_the_journal(
    tmp_path, records
):
    write(tmp_path, records)
    journal = SqliteJournal(tmp_path)
    journal.save(Snapshot(len(records), 7, 1, b"s" * 100_000))
    journal.close()
    SqliteJournal(tmp_path).close()
    path = tmp_path / JOURNAL_FILE
    middle = path.stat().st_size // 4096 // 2 * 4096
    with path.open("r+b") as file:
        file.seek(middle)
        file.write(b"\xff" * 64)
    with pytest.raises(JournalError, match="is damaged: restore it from a copy"):
        SqliteJournal(tmp_path)


def test_a_large_journal_is_checked_only_after_a_server_that_did_not_end_in_order(
    tmp_path, records, monkeypatch
):
    write(tmp_path, records)
    monkeypatch.setattr("fairshare.runtime.journal.sqlite.CHECKED_WHOLE_BYTES", 0)
    checked = []
    monkeypatch.setattr(SqliteJournal, "_check_pages", lambda self, _: checked.append(1))
    SqliteJournal(tmp_path).close()
    assert not checked
    (tmp_path / f"{JOURNAL_FILE}-wal").touch()
    SqliteJournal(tmp_path).close()
    assert checked


@pytest.mark.parametrize(
    "remove",
    [
        lambda state: shutil.rmtree(state),
        lambda state: state.rename(state.with_name("elsewhere")),
        lambda state: (state / JOURNAL_FILE).unlink(),
        lambda state: (state / f"{JOURNAL_FILE}-wal").unlink(),
        lambda state: (
            shutil.copy(state / JOURNAL_FILE, state / "c")
            and (state / "c").replace(state / JOURNAL_FILE)
        ),
    ],
    ids=["directory", "moved", "file", "write-ahead log", "replaced"],
)
def test_nothing_is_acknowledged_once_the_file_is_gone(tmp_path, records, remove):
    state = tmp_path / "state"
    state.mkdir()
    journal = SqliteJournal(state)
    journal.append(records[0])
    journal.commit()
    journal.check_place()
    remove(state)
    with pytest.raises(JournalError, match="no longer the file that this server writes to"):
        journal.check_place()
    journal.append(records[1])
    with pytest.raises(JournalError, match=r"restore a copy.*then start again"):
        journal.commit()
    journal.close()


def test_a_backup_ends_though_records_are_written_all_the_time(tmp_path, records):
    writer = SqliteJournal(tmp_path)
    large = b"x" * 200_000
    for number in range(100):
        writer.save(Snapshot(number, 0, 1, large))
    stop, written = threading.Event(), []

    def write_on() -> None:
        for record in itertools.cycle(records):
            if stop.is_set():
                return
            written.append(record)
            writer.append(msgspec.structs.replace(record, sequence=len(written)))
            writer.commit()

    writing = threading.Thread(target=write_on)
    writing.start()
    reader = SqliteJournal(tmp_path, read_only=True)
    backing = threading.Thread(target=reader.back_up, args=(tmp_path / "copy",), daemon=True)
    backing.start()
    backing.join(timeout=30)
    ended = not backing.is_alive()
    stop.set()
    writing.join()
    assert ended
    reader.close()
    writer.close()
    copy = sqlite3.connect(tmp_path / "copy")
    assert copy.execute("SELECT count(*) FROM snapshots").fetchone() == (100,)
    assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    copy.close()
