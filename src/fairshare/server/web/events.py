"""The event stream: server-sent events with the numbers of the journal's records as ids.

A reader that reconnects with the last id it has seen misses nothing. Many clients may read: each
stream only keeps its position, and the more streams are open, the less often each one is sent a
batch (everything since the last one), so that a thousand readers cost the writer little.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from fairshare.errors import FairshareError, InputError
from fairshare.server.event_feed import PAGE, EventFeed, Gone
from fairshare.server.server import LiveServer
from fairshare.server.web.actors import sees_records
from fairshare.server.web.openapi.operation import NUMBER, TEXT, Parameter, get
from fairshare.server.web.requests import read_parameters, server_of

LEAST_INTERVAL_S = 0.25
"""Each stream is sent at most four batches a second."""

COST_OF_A_READER_S = 0.001
"""Each open stream lengthens the interval of all of them: a thousand streams get one batch a
second."""

SIGN_OF_LIFE_S = 15.0
STALL_S = 30.0
"""How long a reader may read nothing before its connection is closed."""

MAX_BEHIND = 5_000
"""How many records a reader that has caught up may fall behind before it has to reconnect."""

KINDS = ("record", "changed")


class EventStream(StreamingResponse):
    """A streaming answer; it ends for a reader that does not read, and frees its slot."""

    def __init__(self, server: LiveServer, events: AsyncIterator[bytes]) -> None:
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(events, media_type="text/event-stream", headers=headers)
        self._server = server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_or_give_up(message: object) -> None:
            async with asyncio.timeout(STALL_S):
                await send(message)  # type: ignore[arg-type]

        self._server.open_streams += 1
        try:
            await super().__call__(scope, receive, send_or_give_up)
        except TimeoutError:
            pass  # uvicorn closes a connection whose answer is not whole
        finally:
            self._server.open_streams -= 1


async def stream_events(request: Request) -> Response:
    """GET /events: events from now on, or after record `since` (or Last-Event-ID).

    Events: `record` (a record as JSON; its number is the id), `changed` (a new version), `reset`
    (the requested records are no longer kept: fetch the whole state again, and continue from the
    number in the event), `dropped` (the reader was too slow: reconnect with the last id). Where
    authentication is on, only administrators get records: they hold the commands of all users.
    `[limits]` of fairshare.toml limits the number of streams; a stream above it gets 429.
    """
    parameters = read_parameters(request)
    server = server_of(request)
    kinds = frozenset(parameters.get("kinds", ",".join(KINDS)).split(","))
    if not kinds <= set(KINDS):
        raise InputError("bad-request", f"kinds: {', '.join(KINDS)}, divided by commas")
    if "record" in kinds and not await sees_records(request):
        if "kinds" in parameters:
            raise InputError(
                "access-denied",
                "records show what all users run, and so are for administrators; kinds=changed"
                " tells when to look again",
            )
        kinds = frozenset({"changed"})
    text = parameters.get("since") or request.headers.get("last-event-id") or ""
    if text and not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise InputError("bad-request", f"since={text}: the number of a record is needed")
    since = int(text) if text else None
    return EventStream(server, events_of(server, since, kinds))


async def events_of(
    server: LiveServer, since: int | None, kinds: frozenset[str]
) -> AsyncIterator[bytes]:
    """The pieces of one stream, until the server ends or the reader is dropped."""
    service, feed = server.service, server.event_feed
    reader = _Reader(feed, feed.last if since is None else since)
    yield b"retry: 1000\n\n"
    version = -1
    while True:
        seen = service.version
        pieces: list[bytes] = []
        if "record" in kinds:
            pieces = await reader.take()
        if "changed" in kinds and service.version != version:
            version = service.version
            data = {"version": version, "now_ms": time.time_ns() // 1_000_000}
            pieces.append(_event("changed", data, None if "record" in kinds else version))
        if pieces:
            yield b"".join(pieces)
        if reader.over or service.stopping:
            return
        if reader.full:
            continue
        await asyncio.sleep(max(LEAST_INTERVAL_S, server.open_streams * COST_OF_A_READER_S))
        await service.changed(seen, SIGN_OF_LIFE_S)
        if service.version == seen and not service.stopping:
            yield b": alive\n\n"


class _Reader:
    """The position of one reader. `live`: it has caught up once. `full`: the last page was full."""

    def __init__(self, feed: EventFeed, last: int) -> None:
        self._feed = feed
        self.last = last
        self.live = False
        self.over = False
        self.full = False

    async def take(self) -> list[bytes]:
        """The records that it has not been sent yet, at most one page."""
        feed = self._feed
        self.full = False
        if self.live and feed.last - self.last > MAX_BEHIND:
            self.over = True
            data = {"last": self.last, "behind": feed.last - self.last}
            return [_event("dropped", data)]
        try:
            if self.last > feed.last:
                await run_in_threadpool(feed.check, self.last)
            lines = feed.recent(self.last)
            if lines is None:
                lines = await run_in_threadpool(feed.older, self.last)
        except Gone as gone:
            self.last = feed.last
            return [_event("reset", {"first": gone.first, "last": self.last}, self.last)]
        except FairshareError as error:
            self.over = True
            return [_event("failed", {"message": str(error)})]
        if lines:
            self.last = lines[-1][0]
        self.full = len(lines) >= PAGE
        self.live = self.live or self.last >= feed.last
        return [b"id: %d\nevent: record\ndata: %s\n\n" % line for line in lines]


def _event(kind: str, data: Mapping[str, object], number: int | None = None) -> bytes:
    name = b"" if number is None else b"id: %d\n" % number
    return b"%sevent: %s\ndata: %s\n\n" % (name, kind.encode(), msgspec.json.encode(data))


ROUTES = [
    get(
        "/events",
        stream_events,
        "cluster",
        "text/event-stream",
        Parameter("since", "The last record that is known.", NUMBER),
        Parameter("kinds", "`record`, `changed`, or both with a comma between."),
        Parameter("Last-Event-ID", "As `since`, which takes precedence.", TEXT, "header"),
    )
]
