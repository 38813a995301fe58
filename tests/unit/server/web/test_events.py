"""The stream of what happens: in order, without a gap, whoever reads and however slowly."""

import asyncio
import json

import msgspec
import pytest

from fairshare.server.event_feed import EventFeed, document
from fairshare.server.web import events
from fairshare.server.web.events import events_of

pytestmark = pytest.mark.anyio

RECORDS = frozenset({"record"})
BOTH = frozenset({"record", "changed"})


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(events, "LEAST_INTERVAL_S", 0.01)
    monkeypatch.setattr(events, "SIGN_OF_LIFE_S", 0.2)


def parsed(piece):
    """The events of a piece: (kind, id, data)."""
    found = []
    for block in piece.decode().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.split("\n") if line and line[0] != ":")
        if "event" in lines:
            number = int(lines["id"]) if "id" in lines else None
            found.append((lines["event"], number, json.loads(lines["data"])))
    return found


async def follow(page, since, until):
    """What a reader of records is told until something holds."""
    stream = events_of(page.server, since, RECORDS)
    seen = []
    async with asyncio.timeout(10):
        async for piece in stream:
            seen += parsed(piece)
            if until(seen):
                break
    await stream.aclose()
    return seen


def last(page):
    return lambda seen: bool(seen) and seen[-1][1] == page.server.service.version


async def test_all_records_are_sent_in_order_with_their_numbers(page):
    task = {"command": "secret", "environment": {"A": "hush"}}
    await page.submit(queue="a", name="job", tasks=[task])
    await page.launched()
    seen = await follow(page, 0, last(page))
    assert [number for _, number, _ in seen] == list(range(1, page.server.service.version + 1))
    kinds = [event["type"] for _, _, data in seen for event in data["events"]]
    for kind in ("NodeAdded", "ApplicationSubmitted", "ContainerAllocated", "ContainerLaunched"):
        assert kind in kinds
    [submitted] = [
        event
        for _, _, data in seen
        for event in data["events"]
        if event["type"] == "ApplicationSubmitted"
    ]
    assert submitted["application"].startswith("application_")
    assert submitted["queue"] == "root.a"
    text = json.dumps(seen)
    assert "secret" not in text
    assert "hush" not in text


async def test_a_reader_that_comes_back_goes_on_where_it_was(page):
    await page.submit(queue="a", tasks=[{"command": "x"}])
    version = page.server.service.version
    await page.submit(queue="b", tasks=[{"command": "x"}])
    seen = await follow(page, version, last(page))
    assert seen[0][1] == version + 1


async def test_what_is_no_longer_in_memory_is_read_from_the_journal(page):
    for _ in range(5):
        await page.submit(queue="a", tasks=[{"command": "x"}])
    feed = page.server.event_feed
    page.server.event_feed = EventFeed(page.server.service.state, feed._directory, feed.last, 2)
    seen = await follow(page, 0, last(page))
    assert [number for _, number, _ in seen] == list(range(1, page.server.service.version + 1))


async def test_what_is_not_kept_any_more_is_a_reset(page):
    for _ in range(3):
        await page.submit(queue="a", tasks=[{"command": "x"}])
    service, feed = page.server.service, page.server.event_feed
    page.server.event_feed = EventFeed(service.state, feed._directory, feed.last, 2)
    page.server.observers.commits(page.server.event_feed.observe)
    for _ in range(3):  # the last two snapshots are kept, with all records since the older one
        page.server.retention.save()
        await page.submit(queue="a", tasks=[{"command": "x"}])
    assert page.server.journal.trim(0, 2**40)
    await page.submit(queue="a", tasks=[{"command": "x"}])
    [(kind, number, data)] = await follow(page, 0, bool)
    assert (kind, number) == ("reset", service.version)
    assert data["first"] > 1


async def test_a_number_of_another_history_is_a_reset(page):
    [(kind, _, data)] = await follow(page, 10**9, bool)
    assert (kind, data["last"]) == ("reset", page.server.service.version)


async def test_changes_come_together_and_bear_the_version(page):
    stream = events_of(page.server, None, frozenset({"changed"}))
    seen = []
    async with asyncio.timeout(10):
        async for piece in stream:
            seen += parsed(piece)
            if seen and seen[-1][2]["version"] >= page.server.service.version and len(seen) > 1:
                break
            if len(seen) == 1 and page.server.service.version == seen[0][2]["version"]:
                for _ in range(30):
                    await page.submit(queue="a", tasks=[{"command": "x"}])
    await stream.aclose()
    assert len(seen) < 30
    assert all(number == data["version"] for _, number, data in seen)


async def test_a_slow_reader_is_dropped_with_a_word_and_resumes_by_number(page, monkeypatch):
    monkeypatch.setattr(events, "MAX_BEHIND", 3)
    stream = events_of(page.server, None, BOTH)
    await anext(stream)
    await anext(stream)
    for _ in range(10):
        await page.submit(queue="a", tasks=[{"command": "x"}])
    async with asyncio.timeout(10):
        pieces = [piece async for piece in stream]
    kind, _, data = parsed(pieces[-1])[0]
    assert kind == "dropped"
    seen = await follow(page, data["last"], last(page))
    assert seen[0][1] == data["last"] + 1


async def test_a_stream_without_events_sends_a_heartbeat(page):
    stream = events_of(page.server, None, BOTH)
    async with asyncio.timeout(10):
        async for piece in stream:
            if piece == b": alive\n\n":
                break
    await stream.aclose()


@pytest.mark.slow
async def test_a_thousand_readers_all_receive_every_record(page, monkeypatch):
    """Each in its own task; the writer goes on meanwhile."""
    version = page.server.service.version
    numbers = [[] for _ in range(1_000)]
    target = 10**9

    async def read(seen):
        page.server.open_streams += 1
        async for piece in events_of(page.server, version, RECORDS):
            seen += [number for _, number, _ in parsed(piece)]
            if seen and seen[-1] >= target:
                break
        page.server.open_streams -= 1

    monkeypatch.setattr(events, "COST_OF_A_READER_S", 0.0001)
    tasks = [asyncio.create_task(read(seen)) for seen in numbers]
    for _ in range(20):
        await page.submit(queue="a", tasks=[{"command": "x"}])
    target = page.server.service.version + 1
    await page.submit(queue="a", tasks=[{"command": "x"}])
    async with asyncio.timeout(60):
        await asyncio.gather(*tasks)
    for seen in numbers:
        assert seen == list(range(version + 1, seen[-1] + 1))
    assert page.server.open_streams == 0


@pytest.mark.parametrize("query", ["since=x", "since=-1", "kinds=all", "what=1"])
async def test_parameters_that_make_no_sense_are_refused(page, query):
    assert (await page.get(f"/events?{query}")).status_code == 400


async def test_every_kind_of_event_can_be_encoded(page):
    """Whatever the journal holds is JSON: events are built from their types."""
    from hypothesis import given, settings
    from hypothesis import strategies as st

    from fairshare.core.model.events import Event

    state = page.server.service.state

    @settings(deadline=None, database=None)
    @given(st.from_type(Event))
    def check(event):
        reported = json.loads(msgspec.json.encode(document(state, event)))
        assert reported["type"] == type(event).__name__

    check()


async def test_a_stalled_reader_is_disconnected_and_frees_its_place(page, monkeypatch):
    monkeypatch.setattr(events, "STALL_S", 0.05)
    stuck = asyncio.Event()

    async def send(message):
        if message["type"] == "http.response.body":
            await stuck.wait()

    async def receive():
        await stuck.wait()

    stream = events.EventStream(page.server, events_of(page.server, 0, RECORDS))
    async with asyncio.timeout(10):
        await stream({"type": "http", "asgi": {"spec_version": "2.3"}}, receive, send)
    assert page.server.open_streams == 0
