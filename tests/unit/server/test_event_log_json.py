"""A server whose log is JSON."""

import json

import msgspec
import pytest

from fairshare.server.server import LiveServer

pytestmark = pytest.mark.anyio


async def test_events_are_in_the_log_with_their_fields(settings, engine):
    server = LiveServer(
        msgspec.structs.replace(settings, log_format="json"), lambda settings, path: engine
    )
    await server.start("http://127.0.0.1:1")
    await server.close()
    lines = [json.loads(line) for line in server.directory.log.read_text().splitlines()]
    events = [line["event"] for line in lines if "event" in line]
    assert {"type": "NodeAdded", "node": "n1"}.items() <= next(
        one for one in events if one["type"] == "NodeAdded"
    ).items()
    assert lines[-1]["message"] == "stopped"
