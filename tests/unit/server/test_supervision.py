"""Background work that fails is started again, and shown; without its journal a server ends."""

import asyncio
import logging

import pytest
from tests.waiting import until

from fairshare.core.model.inputs import SubmitApplication
from fairshare.errors import InputError, JournalError
from fairshare.server import supervision
from fairshare.server.supervision import Supervisor

pytestmark = pytest.mark.anyio


async def test_work_that_fails_is_started_again_and_shown_until_it_is_well(caplog):
    runs: list[int] = []
    well = asyncio.Event()

    async def work() -> None:
        runs.append(1)
        if len(runs) < 3:
            raise OverflowError("too large")
        await well.wait()

    background = Supervisor(first_pause_s=0.001, steady_s=0.05)
    with caplog.at_level(logging.ERROR):
        background.start("moments", work)
        await until(lambda: len(runs) == 3)
    assert background.failing == {"moments": "OverflowError: too large"}
    assert [record.message for record in caplog.records] == [
        "moments failed, and is started again in 0.001 s",
        "moments failed, and is started again in 0.002 s",
    ]
    await until(lambda: not background.failing)
    well.set()
    await background.stop()
    await background.stop()


async def test_work_that_has_ended_is_not_begun_again():
    runs: list[int] = []

    async def work() -> None:
        runs.append(1)

    background = Supervisor(first_pause_s=0.0)
    background.start("once", work)
    await until(lambda: runs)
    await asyncio.sleep(0.01)
    await background.stop()
    assert runs == [1]
    assert not background.failing


@pytest.mark.slow
async def test_a_server_whose_journal_is_removed_ends_though_nothing_is_recorded(
    server, settings, monkeypatch, caplog
):
    monkeypatch.setattr(supervision, "JOURNAL_INTERVAL_S", 0.01)
    # At once: files that appear while it is emptied would keep it.
    settings.state_directory.rename(settings.state_directory.with_name("removed"))
    async with asyncio.timeout(60):
        await server.service.ended.wait()
    assert isinstance(server.service.failure, JournalError)
    assert "no longer the file that this server writes to" in caplog.text
    with pytest.raises(InputError, match="stopping"):
        await server.service.ask(SubmitApplication("ann"))
