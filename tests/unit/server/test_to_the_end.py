"""What works on a file in a thread has ended when the server has."""

import asyncio
import threading

import pytest

from fairshare.server.notices import notices
from fairshare.server.notices.store import NoticeStore
from fairshare.server.server import LiveServer
from fairshare.server.side_file import to_the_end

pytestmark = pytest.mark.anyio


async def test_a_cancellation_waits_until_the_work_has_ended():
    begun, go_on = threading.Event(), threading.Event()
    done: list[str] = []

    def work() -> None:
        begun.set()
        assert go_on.wait(60)
        done.append("work")

    task = asyncio.create_task(to_the_end(work))
    await asyncio.to_thread(begun.wait, 60)
    task.cancel()
    await asyncio.sleep(0)
    assert not task.done()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert done == ["work"]


async def test_an_error_of_work_that_was_cancelled_is_not_logged(caplog):
    begun, go_on = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        assert go_on.wait(60)
        raise OSError("the disk is full")

    task = asyncio.create_task(to_the_end(work))
    await asyncio.to_thread(begun.wait, 60)
    task.cancel()
    await asyncio.sleep(0)
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not caplog.records


async def test_a_server_that_stops_while_a_file_is_opened_closes_it(settings, engine, monkeypatch):
    begun, go_on = threading.Event(), threading.Event()
    opened: list[NoticeStore] = []
    closed: list[NoticeStore] = []

    class SlowStore(NoticeStore):
        def __init__(self, directory) -> None:
            begun.set()
            assert go_on.wait(60)
            super().__init__(directory)
            opened.append(self)

        def close(self) -> None:
            closed.append(self)
            super().close()

    monkeypatch.setattr(notices, "NoticeStore", SlowStore)
    server = LiveServer(settings, lambda settings, path: engine)
    await server.start("http://127.0.0.1:1")
    await asyncio.to_thread(begun.wait, 60)
    closing = asyncio.create_task(server.close())
    await asyncio.sleep(0)
    go_on.set()
    await closing
    assert len(opened) == 1
    assert closed == opened
