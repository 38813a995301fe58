"""The accounts: what ended is written once, survives a crash, and goes when it is old."""

import asyncio
import contextlib
import sqlite3
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fairshare.server.accounting import accounting
from fairshare.server.accounting.ledger import (
    FILE,
    ApplicationRow,
    ContainerRow,
    Ledger,
    LedgerError,
)
from fairshare.server.accounting.queries import (
    Period,
    Wanted,
    divided,
    past_applications,
    past_containers,
    report_rows,
)
from fairshare.server.side_file import copy_side_file
from fairshare.settings.shell import AccountingSettings

EPOCH_MS = 1_700_000_000_000
HOUR_MS = 3_600_000


def application(number: int, ended_ms: int | None, **fields: object) -> ApplicationRow:
    written = {"name": f"job {number}", "user": "ann", "queue": "root.a", "state": "FINISHED"}
    return ApplicationRow(
        epoch_ms=EPOCH_MS,
        application=number,
        kind="tasks",
        submitted_ms=0,
        started_ms=0,
        ended_ms=ended_ms,
        command="true",
        directory="/tmp",
        diagnostics="",
        view_acl=None,
        **{**written, **fields},
    )


def container(number: int, index: int, since_ms: int, ended_ms: int, **fields: int):
    written = {"exit_code": 0, "memory_mb": 1024, "vcores": 2, "gpus": 1}
    used = {"peak_memory_mb": 256, "cpu_ms": (ended_ms - since_ms) // 2}
    return ContainerRow(
        epoch_ms=EPOCH_MS,
        container=number << 40 | 1 << 32 | index,
        application=number,
        queue="root.a",
        node=f"n{index}",
        task_group="g",
        task_index=index,
        master=False,
        allocated_ms=since_ms,
        started_ms=since_ms or 1,
        ended_ms=ended_ms,
        **{**written, **used, **fields},
    )


@pytest.fixture
def ledger(tmp_path: Path):
    made = Ledger(tmp_path)
    yield made
    made.close()


def test_the_sums_of_an_application_are_those_of_its_containers(ledger, tmp_path):
    ledger.write([container(1, 1, 1_000, 11_000)], [(application(1, None), ())])
    assert past_applications(tmp_path, Wanted(), 10) == []  # it goes on
    failed = container(1, 2, 1_000, 6_000, exit_code=3, peak_memory_mb=512)
    over = application(1, 11_000, state="FAILED")
    ledger.write([failed], [(over, ("nightly", "gpu"))])
    ((found, _),) = past_applications(tmp_path, Wanted(), 10)
    assert (found.containers, found.failed, found.exit_code) == (2, 1, 3)
    assert (found.memory_mb_seconds, found.vcore_seconds, found.gpu_seconds) == (15_360, 30, 15)
    assert (found.peak_memory_mb, found.cpu_seconds, found.cpu_efficiency) == (512, 7.5, 0.25)
    assert found.memory_efficiency == pytest.approx(1 / 3, abs=0.001)
    assert set(found.tags) == {"nightly", "gpu"}
    assert set(found.nodes) == {"n1", "n2"}


def test_the_processor_time_of_a_moment_has_no_efficiency(ledger, tmp_path):
    ledger.write([container(1, 1, 1_000, 1_005, cpu_ms=60)], [(application(1, 1_005), ())])
    ((application_of_a_moment, _),) = past_applications(tmp_path, Wanted(), 10)
    assert application_of_a_moment.cpu_seconds == 0.06
    assert application_of_a_moment.cpu_efficiency is None


def test_what_is_written_twice_counts_once(ledger, tmp_path):
    rows = [container(1, 1, 0, 1_000)], [(application(1, 1_000), ("x",))]
    ledger.write(*rows)
    ledger.write(*rows)
    ((found, _),) = past_applications(tmp_path, Wanted(), 10)
    assert (found.containers, found.memory_mb_seconds, found.tags) == (1, 1_024, ("x",))
    assert len(past_containers(tmp_path, Wanted(), 10)) == 1


def test_filters_choose_by_user_queue_tag_name_state_and_time(ledger, tmp_path):
    ledger.write(
        [container(number, 1, 0, number * 1_000) for number in (1, 2, 3)],
        [
            (application(1, 1_000, user="ann", queue="root.a.b"), ("x",)),
            (application(2, 2_000, user="bob", queue="root.ab"), ()),
            (application(3, 3_000, state="KILLED"), ()),
        ],
    )

    def numbers(**filters: object) -> list[int]:
        found = past_applications(tmp_path, Wanted(**filters), 10)
        return [int(one.id.rpartition("_")[2]) for one, _ in found]

    assert numbers() == [3, 2, 1]
    assert numbers(user="bob") == [2]
    assert numbers(queue="a") == [3, 1]  # and not root.ab
    assert numbers(tag="x") == [1]
    assert numbers(name="job 2") == [2]
    assert numbers(states=("KILLED", "FAILED")) == [3]
    assert numbers(since_ms=1_000, until_ms=3_000) == [2, 1]
    assert numbers(application=(EPOCH_MS, 3)) == [3]


def test_a_report_counts_the_part_of_a_container_within_each_period(ledger, tmp_path):
    ledger.write([container(1, 1, 0, 4 * HOUR_MS)], [(application(1, 4 * HOUR_MS), ("x", "y"))])
    halves = [Period("early", 0, HOUR_MS), Period("late", HOUR_MS, 4 * HOUR_MS)]
    rows = report_rows(tmp_path, Wanted(), ("month", "user"), halves)
    assert [row.group for row in rows] == [("early", "ann"), ("late", "ann")]
    assert [row.vcore_seconds for row in rows] == [2 * 3_600, 6 * 3_600]
    assert [row.cpu_seconds for row in rows] == [1_800, 5_400]
    assert [row.cpu_efficiency for row in rows] == [0.25, 0.25]
    tags = report_rows(tmp_path, Wanted(), ("tag",), [Period("", 0, 5 * HOUR_MS)])
    assert {row.group: row.gpu_seconds for row in tags} == {("x",): 14_400, ("y",): 14_400}


def test_a_report_has_the_whole_use_of_a_container_of_less_than_a_millisecond(ledger, tmp_path):
    ledger.write([container(1, 1, 1_000, 1_000, cpu_ms=2_000)], [(application(1, 1_000), ())])
    halves = [Period("early", 0, 1_000), Period("late", 1_000, 2_000)]
    (row,) = report_rows(tmp_path, Wanted(), ("month",), halves)
    assert (row.group, row.containers, row.cpu_seconds) == (("late",), 1, 2.0)


def test_a_container_that_ends_as_a_period_begins_does_not_count_there(ledger, tmp_path):
    ledger.write([container(1, 1, 0, 1_000)], [(application(1, 1_000), ())])
    halves = [Period("early", 0, 1_000), Period("late", 1_000, 2_000)]
    (row,) = report_rows(tmp_path, Wanted(), ("month",), halves)
    assert (row.group, row.containers, row.cpu_seconds) == (("early",), 1, 0.5)


def test_what_is_old_goes_and_what_is_too_much_goes_from_its_oldest_end(ledger, tmp_path):
    numbers = range(1, 201)
    ledger.write(
        [container(number, 1, 0, number * 1_000) for number in numbers],
        [(application(number, number * 1_000), ("t",)) for number in numbers],
    )
    ledger.trim(50_000, 2**40)
    assert len(past_applications(tmp_path, Wanted(), 1_000)) == 151
    ledger.trim(0, 1)
    left = [one.ended_ms for one, _ in past_applications(tmp_path, Wanted(), 1_000)]
    assert left == [number * 1_000 for number in range(200, 65, -1)]
    with contextlib.closing(sqlite3.connect(tmp_path / FILE)) as connection, connection:
        assert connection.execute("SELECT count(*) FROM tags").fetchone() == (135,)


def test_a_damaged_file_is_moved_aside(tmp_path):
    (tmp_path / FILE).write_bytes(b"no database" * 1_000)
    ledger = Ledger(tmp_path)
    assert ledger.moved_aside is not None
    assert ledger.moved_aside.read_bytes().startswith(b"no database")
    ledger.write([], [(application(1, 1), ())])
    ledger.close()


def test_a_file_of_a_later_release_is_left_alone(tmp_path):
    with contextlib.closing(sqlite3.connect(tmp_path / FILE)) as connection, connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(LedgerError, match="format 99"):
        Ledger(tmp_path)


def test_a_backup_has_the_accounts(ledger, tmp_path):
    ledger.write([], [(application(1, 1), ())])
    target = tmp_path / "copy"
    target.mkdir()
    copy_side_file(tmp_path / FILE, target / FILE)
    assert len(past_applications(target, Wanted(), 10)) == 1


def test_months_and_days_are_whole_except_at_the_ends():
    months = divided(1_790_000_000_000, 1_796_000_000_000, "month")
    assert [one.label for one in months] == ["2026-09", "2026-10", "2026-11"]
    assert [one.start_ms for one in months[1:]] == [one.end_ms for one in months[:-1]]
    with pytest.raises(ValueError, match="more than 100 days"):
        divided(0, 1_790_000_000_000, "day")


def test_a_server_that_stops_while_the_file_is_opened_waits_for_it(tmp_path, monkeypatch):
    opening, go = threading.Event(), threading.Event()

    class SlowLedger(Ledger):
        def __init__(self, directory: Path) -> None:
            opening.set()
            go.wait(10)
            super().__init__(directory)

    monkeypatch.setattr(accounting, "Ledger", SlowLedger)
    nothing: Any = SimpleNamespace(applications={})

    async def stopped_meanwhile() -> None:
        accounts = accounting.Accounting(
            tmp_path, AccountingSettings(), nothing, nothing, lambda: 0
        )
        watch = asyncio.create_task(accounts.watch())
        await asyncio.to_thread(opening.wait, 10)
        watch.cancel()
        await asyncio.sleep(0)
        assert not watch.done()  # the thread is not done, either
        go.set()
        with contextlib.suppress(asyncio.CancelledError):
            await watch
        await accounts.close()
        # Nobody else has it.
        with contextlib.closing(sqlite3.connect(tmp_path / FILE)) as connection, connection:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("BEGIN EXCLUSIVE")

    asyncio.run(stopped_meanwhile())


def test_what_a_limit_ended_is_found_by_its_name_and_as_failed(ledger, tmp_path):
    ledger.write(
        [container(1, 1, 0, 1_000, exit_code=143, timed_out=True)],
        [
            (application(1, 1_000, state="FAILED", cause="TIMEOUT"), ()),
            (application(2, 2_000, state="FAILED"), ()),
        ],
    )
    for states, expected in ((("TIMEOUT",), 1), (("FAILED",), 2), (("OUT_OF_MEMORY",), 0)):
        assert len(past_applications(tmp_path, Wanted(states=states), 10)) == expected
    (past,) = past_containers(tmp_path, Wanted(), 10)
    assert past.outcome == "timed out"
    (row,) = report_rows(tmp_path, Wanted(), ["state"], [Period("all", 0, HOUR_MS)])
    assert row.group == ("TIMEOUT",)


def test_a_file_of_the_first_format_is_brought_up_to_date(tmp_path):
    Ledger(tmp_path).close()
    with contextlib.closing(sqlite3.connect(tmp_path / FILE)) as connection:
        connection.execute("ALTER TABLE applications DROP COLUMN cause")
        connection.execute("ALTER TABLE containers DROP COLUMN timed_out")
        connection.execute("PRAGMA user_version = 1")
    ledger = Ledger(tmp_path)
    ledger.write([container(1, 1, 0, 1_000)], [(application(1, 1_000, state="FAILED"), ())])
    ledger.close()
    ((found, _),) = past_applications(tmp_path, Wanted(), 10)
    assert (found.cause, found.containers) == ("", 1)
