"""State in a PostgreSQL database: what a server writes is there for the next one, and only the
server that leads can write."""

import contextlib
import secrets
import shutil
import sqlite3
import threading
import time

import pytest
from click.testing import CliRunner
from tests.postgres import postgres as postgres
from tests.postgres import started

from fairshare.cli.verbs import fairshare
from fairshare.core.model.inputs import NodeLost
from fairshare.core.record import Record
from fairshare.errors import FairshareError, JournalError
from fairshare.lab.branch import estimates
from fairshare.runtime.journal.protocol import Snapshot
from fairshare.runtime.journal.sqlite import JOURNAL_FILE, SqliteJournal
from fairshare.runtime.shared import UnavailableError
from fairshare.server.access.tokens import UserTokens
from fairshare.server.insight.ledger import LedgerRow
from fairshare.server.insight.ledger_file import LedgerFile, Progress, totals_of
from fairshare.server.notices.store import Notice, NoticeStore
from fairshare.server.shared import tables
from fairshare.server.shared.database import link_to, shown
from fairshare.server.shared.takeover import Candidate, visiting
from fairshare.server.state_directory import open_state_directory, remove_file, write_file

pytestmark = pytest.mark.slow  # a PostgreSQL is started

BEGUN = Progress(1, 1, 1_000, 0)


def record(sequence, name="n"):
    return Record(sequence, 1_000 * sequence, NodeLost(name), ())


def lead(url, directory):
    """Leads at once: the server before has ended, or the test says that it is dead."""
    with contextlib.closing(Candidate.open(url, directory, 0)) as candidate:
        while True:
            beat = candidate.look()
            if beat is not None and (leading := candidate.lead(beat)):
                return leading


def write(journal, *records):
    for one in records:
        journal.append(one)
    journal.commit()


def notice(number):
    return Notice(
        epoch_ms=1, application=number, event="end", target="t", user="u", body={"n": number}
    )


@pytest.fixture
def hosts(tmp_path):
    return tmp_path / "one", tmp_path / "two"


@pytest.fixture
def url(postgres):
    return postgres.url()


def test_another_host_has_all_that_was_written(url, hosts):
    one, two = hosts
    with contextlib.closing(lead(url, one)):
        journal = SqliteJournal(one)
        write(journal, record(1), record(2))
        journal.save(Snapshot(2, 2_000, 1, b"state"))
        write(journal, record(3, "last"))
        secret = open_state_directory(one).secret()
        token = UserTokens(one).create("ada", 0)
        write_file(one / "hadoop-keys", b"former")
        write_file(one / "hadoop-keys", b"keys")
        write_file(one / "url", b"http://one")
        write_file(one / "gone", b"x")
        remove_file(one / "gone")
        notices = NoticeStore(one)
        notices.write([notice(1)])
        notices.write([notice(2), notice(3)])
        notices.forget(1)
        notices.write([notice(4)])
        notices.close()
        journal.close()
    with contextlib.closing(lead(url, two)):
        journal = SqliteJournal(two)
        assert [one.sequence for one in journal.records()] == [1, 2, 3]
        assert journal.snapshot(2).body == b"state"
        journal.close()
        assert open_state_directory(two).secret() == secret
        assert UserTokens(two).identify(token, 0).user == "ada"
        assert (two / "hadoop-keys").read_bytes() == b"keys"
        assert not (two / "url").exists()
        assert not (two / "gone").exists()
        notices = NoticeStore(two)
        assert sorted(one.application for one in notices.load(0)) == [1, 2, 3, 4]
        notices.close()


def test_a_server_that_is_no_longer_leading_can_write_nothing(url, hosts):
    one, two = hosts
    former = lead(url, one)
    said = []
    former.on_lost = said.append
    journal, notices = SqliteJournal(one), NoticeStore(one)
    write(journal, record(1))
    notices.write([notice(1)])
    with contextlib.closing(lead(url, two)) as leading:
        assert leading.epoch == former.epoch + 1
        journal.append(record(2, "of the former leader"))
        with pytest.raises(JournalError, match=r"led in epoch 1, and process .* in epoch 2"):
            journal.commit()
        with pytest.raises(FairshareError, match="led in epoch 1"):
            write_file(one / "hadoop-keys", b"x")
        with pytest.raises(FairshareError, match="led in epoch 1"):
            notices.write([notice(2)])
        assert len(said) == 1
        with contextlib.closing(SqliteJournal(two)) as next_journal:
            write(next_journal, record(2, "of the next"))
            assert [one.input.node for one in next_journal.records()] == ["n", "of the next"]
    journal.close()
    notices.close()
    former.close()


def test_of_servers_that_claim_and_record_at_once_one_records_in_each_epoch(url, tmp_path):
    with contextlib.closing(lead(url, tmp_path / "first")):
        pass
    owners, failures = [], []

    def compete(number):
        with link_to(url, str(number)) as link:
            for _ in range(30):
                beat = link.run(tables.beat, 10)
                epoch = link.run(lambda one: tables.claim(one, beat, f"h{number}"), 10)  # noqa: B023
                while epoch is not None:
                    _, last = link.run(tables.bounds, 10)
                    body = f"{epoch}/{number}".encode()
                    row = (last + 1, 0, body, 0)
                    try:
                        link.run(lambda one: tables.record(one, epoch, [row]), 10)  # noqa: B023
                    except tables.LeadershipLost:
                        break
                    except JournalError as error:  # a number that another one took in between
                        failures.append(error)
                        break

    threads = [threading.Thread(target=compete, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(5)
    with link_to(url, "end") as link:  # leads for good
        while any(thread.is_alive() for thread in threads):
            beat = link.run(tables.beat, 10)
            link.run(lambda one: tables.claim(one, beat, "end"), 10)  # noqa: B023
        rows = link.run(lambda one: tables.rows_after(one, 0, 1_000_000), 10)
    owners = [row[2].decode().split("/") for row in rows]
    epochs = [int(epoch) for epoch, _ in owners]
    assert epochs == sorted(epochs)
    assert len(set(map(tuple, owners))) == len(set(epochs)) > 10
    assert [row[0] for row in rows] == list(range(1, len(rows) + 1))
    assert not failures


def test_a_copy_follows_while_another_server_leads(url, hosts):
    one, two = hosts
    with contextlib.closing(lead(url, one)), contextlib.closing(SqliteJournal(one)) as journal:
        notices = NoticeStore(one)
        with contextlib.closing(Candidate.open(url, two, 60)) as candidate:
            write(journal, record(1))
            assert candidate.look() is None
            assert candidate.leader.host
            assert candidate._copy.last == 1
            write(journal, *map(record, range(2, 5_000)))
            notices.write([notice(1)])
            time.sleep(2.1)
            assert candidate.look() is None
            assert candidate._copy.last == 4_999
        with contextlib.closing(sqlite3.connect(two / "notices.sqlite3")) as copy:
            assert copy.execute("SELECT count(*) FROM notices").fetchone() == (1,)
        notices.close()


def test_a_copy_that_was_away_for_longer_than_records_are_kept_begins_again(url, hosts):
    one, two = hosts
    with contextlib.closing(lead(url, one)), contextlib.closing(SqliteJournal(one)) as journal:
        write(journal, record(1))
    with contextlib.closing(lead(url, two)):
        pass
    with contextlib.closing(lead(url, one)), contextlib.closing(SqliteJournal(one)) as journal:
        write(journal, *map(record, range(2, 11)))
        journal.save(Snapshot(7, 7_000, 1, b"seven"))
        journal.delete_up_to(6)
    with contextlib.closing(lead(url, two)), contextlib.closing(SqliteJournal(two)) as journal:
        assert journal.snapshots() == [7]
        assert [one.sequence for one in journal.records(7)] == [8, 9, 10]


def test_a_side_file_that_may_differ_is_written_down_as_a_whole(url, hosts):
    one, two = hosts
    with contextlib.closing(lead(url, one)) as leading:
        notices = NoticeStore(one)
        notices.write([notice(1)])
        # A change that the database has and this file has not, as after a lost answer.
        leading.change("notices.sqlite3", [("DELETE FROM notices", [()])])
        leading.doubt("notices.sqlite3")
        notices.write([notice(2)])
        notices.close()
    with contextlib.closing(lead(url, two)):
        notices = NoticeStore(two)
        assert sorted(one.application for one in notices.load(0)) == [1, 2]
        notices.close()


def test_changes_of_a_side_file_are_replaced_by_its_content_when_they_are_many(url, hosts):
    one, two = hosts
    with contextlib.closing(lead(url, one)):
        notices = NoticeStore(one)
        for number in range(40):
            large = notice(number % 4)
            large.body = {"n": secrets.token_hex(500_000)}  # which cannot be packed
            notices.write([large])
        notices.close()
    with link_to(url, "test") as link:
        rows = link.run(lambda it: tables.changes_after(it, "notices.sqlite3", 0, 1_000), 10)
        files = {row.name: row for row in link.run(tables.files, 10)}
    assert len(rows) < 40
    assert files["notices.sqlite3"].number > 2
    with contextlib.closing(lead(url, two)):
        notices = NoticeStore(two)
        assert len(notices.load(0)) == 4
        notices.close()


def test_tokens_that_were_made_before_the_first_start_go_into_the_database(url, hosts):
    one, two = hosts
    token = UserTokens(open_state_directory(one).path).create("ada", 0)
    with contextlib.closing(lead(url, one)):
        pass
    with contextlib.closing(lead(url, two)):
        assert UserTokens(two).identify(token, 0).user == "ada"


def test_a_verb_changes_tokens_where_the_server_leads_and_nowhere_else(url, hosts):
    one, two = hosts
    with contextlib.closing(lead(url, two)):
        pass
    refused = pytest.raises(FairshareError, match="change tokens on the host of the server that")
    with contextlib.closing(lead(url, one)), refused, visiting(two):
        pass


# What is wrong with a database.


def test_the_directory_of_another_cluster_is_refused(postgres, hosts):
    one, _ = hosts
    with contextlib.closing(lead(postgres.url(), one)):
        pass
    other = postgres.url()
    with pytest.raises(FairshareError, match=r"has no state, and .* is a copy of that of cluster"):
        lead(other, one)
    with contextlib.closing(lead(other, hosts[1])):
        pass
    with pytest.raises(FairshareError, match=r"has the state of cluster \w+, and .* of cluster"):
        lead(other, one)


def test_a_directory_with_a_state_of_its_own_is_refused(url, hosts):
    one, two = hosts
    with contextlib.closing(SqliteJournal(open_state_directory(one).path)) as journal:
        write(journal, record(1))
    with pytest.raises(FairshareError, match="has a state of its own: `fairshare migrate-state"):
        lead(url, one)
    with contextlib.closing(lead(url, two)):
        pass
    with pytest.raises(FairshareError, match="has a state of its own"):
        lead(url, one)


def test_a_database_that_went_back_is_refused(postgres, hosts):
    url = postgres.url()
    name = url.rpartition("/")[2]
    one, _ = hosts
    with contextlib.closing(lead(url, one)), contextlib.closing(SqliteJournal(one)) as journal:
        write(journal, record(1), record(2), record(3))
    postgres.run(name, "DELETE FROM fairshare_records WHERE sequence = 3")
    with pytest.raises(FairshareError, match=r"records up to 3, and the database .* only up to 2"):
        lead(url, one)
    postgres.run(name, "INSERT INTO fairshare_records VALUES (3, 0, 'x', 5), (4, 0, 'y', 6)")
    with pytest.raises(FairshareError, match=r"record 3 in .* is another one than in the database"):
        lead(url, one)


def test_another_release_a_missing_database_and_one_that_is_read_only_are_named(postgres, hosts):
    url = postgres.url()
    name = url.rpartition("/")[2]
    one, two = hosts
    with contextlib.closing(lead(url, one)):
        pass
    postgres.run(name, "UPDATE fairshare_cluster SET form = 9")
    with pytest.raises(FairshareError, match="has the state in form 9, and this release"):
        lead(url, two)
    with pytest.raises(FairshareError, match="there is no such database"):
        lead(postgres.url("missing"), two)
    postgres.run("postgres", f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    with pytest.raises(FairshareError, match="read-only"):
        lead(url, two)
    postgres.run("postgres", "CREATE DATABASE ascii ENCODING 'SQL_ASCII' TEMPLATE template0")
    with pytest.raises(FairshareError, match="has the encoding SQL_ASCII: make one with UTF8"):
        lead(postgres.url("ascii"), two)
    with pytest.raises(UnavailableError, match=r"127\.0\.0\.1:1/none"):
        lead("postgresql://fairshare:secret@127.0.0.1:1/none", two)
    assert "secret" not in shown("postgresql://fairshare:secret@h/d?password=secret")


def test_a_clock_that_is_an_hour_off_is_named(url):
    with link_to(url, "test") as link:
        warnings = tables.check(link, time.time_ns() // 1_000_000)
        assert any("synchronous_standby_names is empty" in warning for warning in warnings)
        with pytest.raises(FairshareError, match=r"is \+3,600 s from that of the database"):
            tables.check(link, time.time_ns() // 1_000_000 + 3_600_000)


def test_a_commit_goes_on_when_the_database_is_back_and_is_there_once(tmp_path):
    with started() as postgres:
        url = postgres.url()
        with contextlib.closing(lead(url, tmp_path / "one")) as leading:
            journal = SqliteJournal(tmp_path / "one")
            write(journal, record(1))
            postgres.stop()
            journal.append(record(2))
            with pytest.raises(UnavailableError):
                journal.commit()
            assert leading.problem
            with pytest.raises(UnavailableError):
                journal.commit()
            postgres.start()
            until_committed(journal)
            postgres.freeze()
            journal.append(record(3))
            with pytest.raises(UnavailableError, match="has not answered for 2 s"):
                journal.commit()
            postgres.thaw()
            until_committed(journal)
            write(journal, record(4))
            journal.close()
        with (
            contextlib.closing(lead(url, tmp_path / "two")),
            contextlib.closing(SqliteJournal(tmp_path / "two")) as copy,
        ):
            assert [one.sequence for one in copy.records()] == [1, 2, 3, 4]


def on_insert(postgres, url, statement):
    """Have the database do something whenever a record is inserted."""
    body = f"BEGIN {statement}; RETURN NULL; END"
    database = url.rpartition("/")[2]
    postgres.run(database, f"CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS '{body}'")
    postgres.run(
        database,
        "CREATE TRIGGER t AFTER INSERT ON fairshare_records FOR EACH STATEMENT"
        " EXECUTE FUNCTION f()",
    )


def test_a_leader_whose_commits_take_long_is_alive_for_others_meanwhile(postgres, url, hosts):
    one, two = hosts
    with contextlib.closing(lead(url, one)), contextlib.closing(SqliteJournal(one)) as journal:
        on_insert(postgres, url, "PERFORM pg_sleep(1.5)")
        commit = threading.Thread(target=write, args=(journal, record(1)))
        commit.start()
        with contextlib.closing(Candidate.open(url, two, 1)) as candidate:
            while commit.is_alive():
                assert candidate.look() is None
                time.sleep(0.1)
        commit.join()
        assert [one.sequence for one in journal.records()] == [1]


def test_a_full_disk_of_the_database_is_named_and_a_commit_goes_on_with_room(postgres, url, hosts):
    one, _ = hosts
    with (
        contextlib.closing(lead(url, one)) as leading,
        contextlib.closing(SqliteJournal(one)) as journal,
    ):
        on_insert(postgres, url, "RAISE EXCEPTION ''no room'' USING ERRCODE = ''53100''")
        journal.append(record(1))
        with pytest.raises(UnavailableError, match="its disk is full: make room there"):
            journal.commit()
        assert "its disk is full" in leading.problem
        postgres.run(url.rpartition("/")[2], "DROP FUNCTION f CASCADE")
        until_committed(journal)
        assert [one.sequence for one in journal.records()] == [1]
        assert not leading.problem


def test_commits_go_on_although_their_sessions_are_ended_as_by_a_pooler(postgres, url, hosts):
    one, two = hosts
    ended = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    with contextlib.closing(lead(url, one)), contextlib.closing(SqliteJournal(one)) as journal:
        for number in range(1, 6):
            postgres.run(url.rpartition("/")[2], ended)
            journal.append(record(number))
            until_committed(journal)
    with (
        contextlib.closing(lead(url, two)),
        contextlib.closing(SqliteJournal(two)) as copy,
    ):
        assert [one.sequence for one in copy.records()] == [1, 2, 3, 4, 5]


def until_committed(journal):
    for _ in range(100):
        with contextlib.suppress(UnavailableError):
            return journal.commit()
        time.sleep(0.1)
    raise AssertionError("the database never came back")


# Moving.


def test_a_state_moves_into_a_database_and_back(url, hosts, tmp_path):
    one, two = hosts
    directory = open_state_directory(one)
    with contextlib.closing(SqliteJournal(one)) as journal:
        write(journal, *map(record, range(1, 5_001)))
        journal.save(Snapshot(4_000, 4_000, 1, b"state"))
    secret = directory.secret()
    token = UserTokens(one).create("ada", 0)
    notices = NoticeStore(one)
    notices.write([notice(7)])
    notices.close()
    (one / "payloads").mkdir()
    (one / "payloads" / ("ab" * 32)).write_bytes(b"call")
    shutil.copytree(one, tmp_path / "before")

    moved = CliRunner().invoke(fairshare, ["migrate-state", "--state", str(one), "--to", url])
    assert moved.exit_code == 0, moved.output
    assert "moved 5,000 records, 1 snapshot and 4 files from" in moved.output
    again = CliRunner().invoke(fairshare, ["migrate-state", "--state", str(one), "--to", url])
    assert again.exit_code == 0, again.output  # as after a crash before the directory was marked
    with contextlib.closing(lead(url, two)):
        with contextlib.closing(SqliteJournal(two)) as journal:
            write(journal, record(5_001))
        assert UserTokens(two).identify(token, 0).user == "ada"

    back = CliRunner().invoke(fairshare, ["migrate-state", "--state", str(one), "--back"])
    assert back.exit_code == 0, back.output
    assert "moved 5,001 records" in back.output
    with contextlib.closing(SqliteJournal(one)) as journal:
        assert journal.last_record() == 5_001
    assert directory.secret() == secret
    assert (one / "payloads" / ("ab" * 32)).read_bytes() == b"call"
    with pytest.raises(FairshareError, match="was moved to"):
        lead(url, two)
    other = CliRunner().invoke(
        fairshare, ["migrate-state", "--state", str(tmp_path / "before"), "--to", url]
    )
    assert other.exit_code == 1
    assert "has a state already" in other.output


def test_the_ledger_and_the_estimates_move_along_and_each_host_continues_its_own(url, hosts):
    one, two = hosts
    open_state_directory(one)
    with contextlib.closing(SqliteJournal(one)) as journal:
        write(journal, record(1))
    keep(one, 5)
    with contextlib.closing(sqlite3.connect(one / estimates.FILE)) as file:
        file.executescript("CREATE TABLE estimates (x); INSERT INTO estimates VALUES (3);")
    moved = CliRunner().invoke(fairshare, ["migrate-state", "--state", str(one), "--to", url])
    assert moved.exit_code == 0, moved.output
    with contextlib.closing(lead(url, two)):
        assert owed(two) == 5
        with contextlib.closing(sqlite3.connect(two / estimates.FILE)) as file:
            assert file.execute("SELECT x FROM estimates").fetchall() == [(3,)]
    keep(two, 7)
    with contextlib.closing(lead(url, two)):
        assert owed(two) == 12  # what this host has added stays
    back = CliRunner().invoke(fairshare, ["migrate-state", "--state", str(one), "--back"])
    assert back.exit_code == 0, back.output
    assert owed(one) == 5


def keep(directory, amount):
    """Add a debt to the ledger of a host, as the process beside its server does."""
    with contextlib.closing(LedgerFile(directory)) as file:
        file.add([LedgerRow(0, "root.a", "ann", "", "vcores", "owed:other", amount)], BEGUN)


def owed(directory):
    ((_, _, _, amount),) = totals_of(directory, 1)
    return amount


def test_a_state_with_a_damaged_record_does_not_move(postgres, hosts):
    url = postgres.url()
    one, _ = hosts
    open_state_directory(one)
    with contextlib.closing(SqliteJournal(one)) as journal:
        write(journal, record(1), record(2))
    with contextlib.closing(sqlite3.connect(one / JOURNAL_FILE)) as file:
        file.execute("UPDATE records SET checksum = 1 WHERE sequence = 2")
        file.commit()
    moved = CliRunner().invoke(fairshare, ["migrate-state", "--state", str(one), "--to", url])
    assert moved.exit_code == 1
    assert "record 2 is damaged" in moved.output
    assert postgres.run(url.rpartition("/")[2], "SELECT to_regclass('fairshare_cluster')") == [
        (None,)
    ]
    assert not (one / "shared.json").exists()


@pytest.mark.parametrize("limit", ["3s", "0"])
def test_a_leader_frozen_in_the_middle_of_a_transaction_does_not_hold_up_the_next(
    url, hosts, limit
):
    one, two = hosts
    with contextlib.closing(lead(url, one)) as leading, link_to(url, "frozen") as link:
        goes_on = threading.Event()

        def freeze(connection):
            with tables.leading(connection, leading.epoch):
                connection.execute(f"SET LOCAL idle_in_transaction_session_timeout = '{limit}'")
                goes_on.wait(60)
                tables.put_file(connection, "late", 99, (b"x",))

        frozen = link.start(freeze)
        time.sleep(0.5)
        with contextlib.closing(lead(url, two)):
            goes_on.set()
            with pytest.raises(FairshareError):
                frozen.result(10)
            assert not (two / "late").exists()
