"""The connections of a server that ends."""

import asyncio

import pytest

from fairshare.server.access.proxies import Proxies
from fairshare.server.web import listener

pytestmark = pytest.mark.anyio


async def test_a_call_that_is_not_answered_when_the_server_ends_gets_no_answer_and_no_error(
    server_settings, monkeypatch, caplog
):
    monkeypatch.setattr(listener, "GRACE_S", 0.1)
    begun = asyncio.Event()

    async def app(scope, receive, send):
        begun.set()
        await asyncio.Event().wait()

    web = listener.web_server(server_settings, app, Proxies())
    with listener.bind("127.0.0.1", 0) as bound:
        serving = asyncio.create_task(web.serve(sockets=[bound]))
        reader, writer = await asyncio.open_connection(*bound.getsockname())
        writer.write(b"POST /applications HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
        await begun.wait()
        web.should_exit = True
        await serving
        assert await reader.read() == b""
        writer.close()
    assert not [one for one in caplog.records if one.exc_info]
