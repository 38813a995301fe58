"""The ledger of a state directory: from its journal, and as the process beside the server keeps
it."""

import json
import os
import sqlite3
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.unit.lab.plan.test_plan import recorded
from tests.unit.lab.verbs.test_at import trimmed

from fairshare.cli.verbs import fairshare
from fairshare.errors import InputError
from fairshare.lab.branch.following import Following
from fairshare.lab.branch.history import History
from fairshare.lab.branch.ledger import FollowedLedger, ledger_of, read_on
from fairshare.runtime.recovery import Position
from fairshare.server.insight.ledger_file import (
    FILE,
    Asked,
    LedgerFile,
    Progress,
    ask_file,
    progress_of,
    totals_of,
)


@pytest.fixture
def history(tmp_path):
    """Queues a and b have 12 tasks of 10 s each; four run at once, of which three are of a."""
    return recorded(tmp_path, 12)


def amounts(connection):
    """Sums by queue, type and kind."""
    rows = connection.execute("SELECT queue, resource, kind, amount FROM amounts")
    sums = Counter()
    for queue, resource, kind, amount in rows:
        sums[queue, resource, kind] += amount
    return sums


def whole(directory):
    """The ledger from the journal alone."""
    with History.open(directory) as opened, closing(ledger_of(opened, directory)) as connection:
        return amounts(connection), progress_of(connection)


def kept(directory):
    with closing(LedgerFile(directory)) as file, file._transaction() as connection:
        return amounts(connection), progress_of(connection)


def asked(directory, *words):
    return CliRunner().invoke(fairshare, ["ledger", "--against", str(directory), *words])


def test_what_was_delivered_is_what_the_containers_had(history):
    sums, _ = whole(history)
    tasks_ms = 12 * 10_000
    assert sums["root.a", "vcores", "delivered"] == pytest.approx(tasks_ms, rel=0.05)
    assert sums["root.b", "memory-mb", "delivered"] == 1024 * sums["root.b", "vcores", "delivered"]


def test_a_ledger_that_was_interrupted_is_the_same_as_one_in_one_go(history):
    sums, end = whole(history)
    with History.open(history) as opened, closing(LedgerFile(history)) as file:
        middle = next(
            record for record in opened.journal.records() if record.sequence == end.sequence // 2
        )
        read_on(opened, None, file.add, file.add_gap, Position(middle.sequence, middle.now_ms))
        assert file.progress().sequence == middle.sequence
        read_on(opened, file.progress(), file.add, file.add_gap)
    assert kept(history) == (sums, end)
    assert whole(history) == (sums, end)
    (history / FILE).unlink()
    assert whole(history) == (sums, end)


def test_the_process_beside_the_server_keeps_the_ledger(history, monkeypatch):
    monkeypatch.setattr("fairshare.lab.branch.ledger.FLUSH_S", 0.0)
    sums, end = whole(history)
    with closing(Following(history, (FollowedLedger,))) as following:
        following.follow()
        following.rest(end.now_ms)
    found, progress = kept(history)
    assert progress == end
    assert found == sums
    owed = {(queue, cause) for queue, _, cause, _ in totals_of(history, 10)}
    assert {queue for queue, _ in owed} <= {"root.a", "root.b"}
    # Another one, which begins with an older state, adds nothing twice.
    with closing(Following(history, (FollowedLedger,))) as again:
        again.follow()
        again.rest(end.now_ms)
    assert kept(history)[0] == sums


def following(history, monkeypatch):
    """The process beside the server, which writes the ledger at each rest."""
    monkeypatch.setattr("fairshare.lab.branch.ledger.FLUSH_S", 0.0)
    return closing(Following(history, (FollowedLedger,)))


def children():
    """The processes that this one has begun."""
    tasks = Path("/proc/self/task").glob("*/children")
    return {int(child) for task in tasks for child in task.read_text().split()}


def rested(process, now_ms):
    """Let it rest until the copy that it made has read the journal."""
    others = children()  # of other tests, which may end meanwhile
    for _ in range(200):
        process.rest(now_ms)
        for copy in children() - others:
            os.waitpid(copy, 0)
            return process.rest(now_ms)
        time.sleep(0.05)
    raise AssertionError("no copy was made")


def remove(path):
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        path.with_name(name).unlink(missing_ok=True)


def damage(path):
    """Rows can no longer be read; what the file is can."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (page,) = connection.execute(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'amounts'"
        ).fetchone()
    remove_beside = [path.with_name(f"{path.name}{one}") for one in ("-wal", "-shm")]
    for one in remove_beside:
        one.unlink(missing_ok=True)
    content = bytearray(path.read_bytes())
    content[4096 * (page - 1) : 4096 * page] = b"\xff" * 4096
    path.write_bytes(content)


@pytest.mark.parametrize("happens", [remove, damage, lambda path: path.write_bytes(b"no file")])
def test_a_ledger_that_is_lost_while_it_is_kept_is_made_again_from_the_journal(
    history, monkeypatch, happens
):
    sums, end = whole(history)
    with following(history, monkeypatch) as process:
        process.follow()
        process.rest(end.now_ms)
        assert kept(history) == (sums, end)
        happens(history / FILE)
        rested(process, end.now_ms)
    assert kept(history) == (sums, end)


def test_a_ledger_that_is_lost_begins_with_what_the_journal_keeps_and_says_so(history):
    asked_before = asked(history, "--last", "1000d", "--json")
    trimmed(history, 20)
    answer = asked(history, "--last", "1000d", "--json")
    began_ms = json.loads(answer.stdout)["begin_ms"]
    assert began_ms > json.loads(asked_before.stdout)["begin_ms"]
    assert "Nothing is known of the time before" in asked(history, "--last", "1000d").stdout


def test_a_span_that_the_journal_no_longer_had_is_named_as_a_gap(history):
    with History.open(history) as opened, closing(LedgerFile(history)) as file:
        early = next(record for record in opened.journal.records() if record.sequence == 8)
        read_on(opened, None, file.add, file.add_gap, Position(early.sequence, early.now_ms))
    trimmed(history, 20)
    (gap,) = json.loads(asked(history, "--last", "1000d", "--json").stdout)["gaps"]
    assert gap["since_ms"] == early.now_ms
    assert gap["until_ms"] > early.now_ms
    assert "Nothing is known from" in asked(history, "--last", "1000d").stdout
    # The process beside the server finds the same.
    with closing(LedgerFile(history)) as file, History.open(history) as opened:
        read_on(opened, file.progress(), file.add, file.add_gap)
    (again,) = json.loads(asked(history, "--last", "1000d", "--json").stdout)["gaps"]
    assert again == gap


def test_a_file_of_the_first_format_is_read_and_continued(history):
    sums, end = whole(history)
    with History.open(history) as opened, closing(LedgerFile(history)) as file:
        read_on(opened, None, file.add, file.add_gap)
    with closing(sqlite3.connect(history / FILE)) as connection:
        connection.executescript("DROP TABLE gaps; PRAGMA user_version = 1;")
    asked_of = Asked(since_ms=0, until_ms=2 * end.now_ms)
    assert ask_file(history, asked_of, ()).gaps == ()
    assert whole(history) == (sums, end)
    assert kept(history) == (sums, end)


def test_of_a_file_that_is_being_made_there_is_not_yet_a_ledger(history):
    (history / FILE).touch()
    with pytest.raises(InputError, match="there is no ledger yet"):
        ask_file(history, Asked(since_ms=0, until_ms=10**15), ())


def test_the_verb_prints_sums_that_add_up(history):
    answer = asked(history, "--last", "1000d", "--json")
    assert answer.exit_code == 0, answer.output
    found = json.loads(answer.stdout)
    assert {line["queue"] for line in found["lines"]} == {"root.a", "root.b"}
    for line in found["lines"]:
        parts = line["delivered"] - line["borrowed"] + line["lent"] + line["idle"]
        assert line["entitled"] == parts + sum(line["owed"].values())
    table = asked(history, "--last", "1000d")
    assert "Entitled" in table.stdout
    assert "GB minutes" in table.stdout
    rows = asked(history, "--last", "1000d", "--csv", "--user", "ann").stdout.splitlines()
    assert rows[0].startswith("resource,hour,queue,user,label,entitled,delivered,borrowed")
    assert {row.split(",")[3] for row in rows[1:]} == {"ann"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--csv", "--json"), "--csv and --json: choose one of them"),
        (("--month", "2026-13"), "'2026-13' is not a month"),
        (("--month", "2026-11", "--last", "7d"), "--last and --month: choose one of them"),
        (("--url", "http://127.0.0.1:1"), "--against and --url"),
        (("--last", "1000d", "--queue", "c"), "the ledger knows no queue 'root.c'"),
        (("--last", "1000d", "--user", "eve"), "the ledger knows no user 'eve'"),
    ],
)
def test_what_cannot_be_answered_is_refused_with_a_reason(history, words, message):
    answer = asked(history, *words)
    assert answer.exit_code != 0
    assert message in answer.output


def test_a_time_before_the_ledger_is_refused_with_its_beginning(history):
    with closing(LedgerFile(history)) as file:
        file.add([], Progress(10**12, 83, 10**12, 10**12))
    answer = asked(history, "--month", "1999-01")
    assert answer.exit_code == 1
    assert "the ledger begins at 2001-09-09 01:46:40 UTC" in answer.output
