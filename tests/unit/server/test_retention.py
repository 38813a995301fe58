"""A server remembers enough, and not for ever: snapshots, short journals, old applications."""

import asyncio
import multiprocessing
import os
from pathlib import Path

import msgspec
import pytest
from tests.waiting import until_state

from fairshare.core.model.inputs import SubmitApplication
from fairshare.core.model.invariants import check
from fairshare.core.model.work import Command, TaskGroup
from fairshare.errors import JournalError
from fairshare.runtime.journal.protocol import Snapshot
from fairshare.runtime.journal.sqlite import SqliteJournal
from fairshare.runtime.projections.projections import MANAGER, MEMORY
from fairshare.runtime.runtime import Runtime
from fairshare.runtime.snapshot import freeze, thaw
from fairshare.server import retention, service
from fairshare.server.long_history import LongHistory
from fairshare.server.retention import FinishedApplications, copied_snapshot
from fairshare.settings.shell import RetentionSettings

from .test_server import launched, restarted

pytestmark = pytest.mark.anyio

ONE_TASK = SubmitApplication("ann", tasks=(TaskGroup("t", 1, (512, 1), Command(("true",))),))


@pytest.fixture
def settings(settings):
    return msgspec.structs.replace(
        settings, retention=RetentionSettings(finished_applications=2, records=1_000)
    )


LARGE = Command(("true",), environment={"V": "x" * 2_000_000})


async def run(server, engine, count, submission=ONE_TASK):
    applications = server.service.state.applications
    for _ in range(count):
        before = len(engine.orders)
        await server.service.ask(submission)
        container = (await launched(server, engine, before + 1))[-1]
        engine.end(container)
        await until_state(server, lambda: next(reversed(applications.values())).over)


async def test_the_applications_that_ended_first_are_forgotten_first(server, engine):
    await run(server, engine, 5)
    await server.service.ask(ONE_TASK)  # lives
    await server.retention.forget()
    assert list(server.service.state.applications) == [4, 5, 6]
    assert server.service.views.applications()
    async with asyncio.timeout(60):
        while len(engine.pruned) < 3:  # their directories go in a thread of their own
            await asyncio.sleep(0.001)


async def test_an_old_application_is_forgotten_though_there_are_few(server, engine):
    await run(server, engine, 1)
    finished = FinishedApplications(server.service.state)
    ended_ms = server.service.state.applications[1].finished_ms
    assert finished.take_old(ended_ms + 59, 2, 60) == []
    assert finished.take_old(ended_ms + 60, 2, 60) == [1]
    assert finished.take_old(ended_ms + 99, 2, 60) == []


@pytest.fixture
def short(settings):
    """Settings with a journal of 16 MB."""
    few = RetentionSettings(finished_applications=2, journal_mb=16)
    return msgspec.structs.replace(settings, retention=few)


@pytest.mark.slow
async def test_a_journal_of_large_submissions_becomes_shorter(short, engine):
    server = await restarted(short, engine)
    large = SubmitApplication("ann", tasks=(TaskGroup("t", 1, (512, 1), LARGE),))
    sizes = []
    for _ in range(12):
        await run(server, engine, 1, large)
        await server.retention.forget()
        await server.retention.shorten()
        sizes.append(server.journal.size())
    assert server.journal.first_record() > 1
    longer = LongHistory.open_for_reading(short.state_directory)
    assert longer.first == 1
    assert longer.leads_up_to(server.journal)
    longer.close()
    assert max(sizes) < 28e6  # a step after it was reached; the state has two of 2 MB each
    await server.close()
    following = await restarted(short, engine)
    assert list(following.service.state.applications) == [11, 12]
    await following.close()


async def test_its_number_is_never_used_again(server, engine, settings):
    await run(server, engine, 5)
    await server.retention.forget()
    server.retention.save()
    await server.close()
    following = await restarted(settings, engine)
    await following.service.ask(ONE_TASK)
    assert max(following.service.state.applications) == 6
    await following.close()


async def test_a_server_goes_on_from_a_snapshot_and_the_records_behind_it(server, engine, settings):
    await server.service.ask(ONE_TASK)
    (first,) = await launched(server, engine)
    server.retention.save()
    await server.service.ask(ONE_TASK)
    await launched(server, engine, 2)
    server.stop_containers = False
    await server.close()
    reader = SqliteJournal(settings.state_directory, read_only=True)
    (behind,) = reader.snapshots()
    assert len(list(reader.records(behind))) > 3
    # Nothing before the snapshot is needed any more.
    reader.close()
    writer = SqliteJournal(settings.state_directory)
    writer._write("DELETE FROM records WHERE sequence <= ?", [(behind,)])
    writer.close()
    following = await restarted(settings, engine)
    applications = following.service.state.applications
    assert len(applications) == 2
    engine.end(first)
    await until_state(following, lambda: applications[1].over)
    assert not applications[2].over
    (view,) = following.service.views.containers(applications[1])
    assert (view.state, view.peak_memory_mb) == ("COMPLETE", 7)
    check(following.service.state)
    await following.close()


async def test_a_snapshot_that_is_damaged_is_passed_over(server, engine, settings, caplog):
    await run(server, engine, 1)
    server.retention.save()
    await run(server, engine, 1)
    server.retention.save()
    await server.close()
    writer = SqliteJournal(settings.state_directory)
    newest = writer.snapshots()[-1]
    writer._write("UPDATE snapshots SET body = x'00' WHERE sequence = ?", [(newest,)])
    writer.close()
    following = await restarted(settings, engine)
    assert [a.over for a in following.service.state.applications.values()] == [True, True]
    await following.close()


async def test_a_graceful_end_leaves_a_snapshot_of_all(server, engine, settings):
    await run(server, engine, 1)
    await server.close()
    reader = SqliteJournal(settings.state_directory, read_only=True)
    assert list(reader.records(reader.snapshots()[-1])) == []
    reader.close()


@pytest.fixture
def copying(server, monkeypatch):
    """The retention of a server whose state counts as large."""
    if not retention.POSSIBLE:
        pytest.skip("a copy of the server takes snapshots only on Linux")
    monkeypatch.setattr(retention, "LARGE", 1)
    return server.retention


async def test_a_copy_of_the_server_takes_the_snapshot_of_a_large_state(
    server, engine, copying, monkeypatch
):
    expected = []

    async def watched(sequence, now_ms, parts):
        expected.append(freeze(sequence, now_ms, parts()))
        return await copied_snapshot(sequence, now_ms, parts)

    monkeypatch.setattr(retention, "copied_snapshot", watched)
    pids, fork = [], os.fork
    monkeypatch.setattr(os, "fork", lambda: pids.append(fork()) or pids[-1])
    await server.service.ask(ONE_TASK)
    await launched(server, engine)
    saving = asyncio.ensure_future(copying.save_soon())
    await server.service.ask(ONE_TASK)  # is answered, and is not in the snapshot
    await saving
    (sequence,) = server.journal.snapshots()
    assert [server.journal.snapshot(sequence)] == expected
    with pytest.raises(ChildProcessError):
        os.waitpid(pids.pop(), os.WNOHANG)


async def test_the_server_itself_takes_a_snapshot_that_its_copy_cannot_take(
    server, copying, monkeypatch, capfd, caplog
):
    def in_the_server_alone(*arguments):
        return freeze(*arguments) if os.getpid() == own else 1 // 0

    own = os.getpid()
    await server.service.ask(ONE_TASK)
    monkeypatch.setattr(retention, "freeze", in_the_server_alone)
    with pytest.raises(JournalError, match="ended with 1"):
        await copied_snapshot(1, 1, dict)
    assert server.journal.snapshots() == []
    await copying.save_soon()
    assert "ZeroDivisionError" in capfd.readouterr().err
    assert "the server itself takes the snapshot" in caplog.text
    assert len(server.journal.snapshots()) == 1


async def test_a_snapshot_waits_until_nothing_is_left_to_be_done_at_once(server, engine):
    await server.service.ask(ONE_TASK)
    (container,) = await launched(server, engine)
    engine.end(container)  # its report waits for a turn
    await server.retention.save_soon()
    parts = thaw(server.journal.snapshot(server.journal.snapshots()[-1]))
    assert parts[MANAGER].state.applications[1].over
    assert MEMORY in parts


async def test_a_server_that_is_always_busy_takes_snapshots_nevertheless(server, monkeypatch):
    monkeypatch.setattr(service, "_IDLE_S", 0.01)
    monkeypatch.setattr(Runtime, "idle", False)
    await server.retention.save_soon()
    assert len(server.journal.snapshots()) == 1


async def test_a_server_ends_though_a_snapshot_waits_for_it_to_be_idle(server, monkeypatch):
    monkeypatch.setattr(service, "_IDLE_S", 600)
    monkeypatch.setattr(Runtime, "idle", False)
    saving = asyncio.ensure_future(server.retention.save_soon())
    await server.close()
    await saving
    journal = SqliteJournal(server.directory.path, read_only=True)
    assert len(journal.snapshots()) == 1  # the one of its end
    journal.close()


def open_files(sequence, now_ms, parts):
    """No snapshot, but how many descriptors its process has."""
    return Snapshot(sequence, now_ms, 1, b"%d" % len(list(Path("/proc/self/fd").iterdir())))


async def test_a_copy_holds_no_lock_and_no_other_file_of_its_server(server, copying, monkeypatch):
    monkeypatch.setattr(retention, "freeze", open_files)
    found = await copied_snapshot(1, 1, dict)
    # Three standard streams, the pipe, and the directory that is being listed.
    assert int(found.body) <= 5


async def test_a_copy_whose_server_was_killed_ends_without_a_word(
    server, copying, monkeypatch, capfd
):
    def unread(sequence, now_ms, parts):
        """The server's end of the pipe is closed while the snapshot is made."""
        reading.acquire()
        return Snapshot(sequence, now_ms, 1, bytes(1_000_000))

    reading = multiprocessing.Semaphore(0)
    monkeypatch.setattr(retention, "freeze", unread)
    taken = asyncio.create_task(copied_snapshot(1, 1, dict))

    def closed(pid, pipe):
        os.close(pipe)
        reading.release()
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    monkeypatch.setattr(retention, "_written_by", closed)
    assert await taken == 1
    assert capfd.readouterr().err == ""
