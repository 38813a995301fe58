"""The reading of what containers print: all of it, as it grows, or its end.

A log is bytes that only ever grow; it is complete when its container is over and all was sent.
Nothing is decoded here.
"""

import msgspec

from fairshare.api import routes
from fairshare.client.calls import Calls, last_failed
from fairshare.client.errors import Refused
from fairshare.client.exchange import Reply, path_of
from fairshare.client.methods import Call, Conversation, Pause, Yielded
from fairshare.client.waiting import PATIENCE_S, Patience

CHUNK_BYTES = 1 << 20
TAIL_BYTES = 1 << 16
PACE_S = 0.5
"""How often a log that grows is looked at: the server does not report when a process prints."""


class Chunk(msgspec.Struct, frozen=True):
    """A part of a log. `complete`: nothing comes after it, now or later. `skipped` bytes before it
    were left out, as the server limits logs."""

    data: bytes
    complete: bool
    skipped: int = 0

    @property
    def advance(self) -> int:
        """How far the log goes on after this part."""
        return self.skipped + len(self.data)

    @property
    def shown(self) -> bytes:
        """What a reader should see: the bytes, behind a word on those that are missing."""
        if not self.skipped:
            return self.data
        note = f"\n[... {self.skipped:,} bytes were left out: the server limits logs ...]\n"
        return note.encode() + self.data


def part(container: str, stream: str, offset: int, limit: int = CHUNK_BYTES) -> Call[Chunk]:
    """The call for so much of a log."""
    path = path_of(routes.READ_LOG, container, stream)
    return Call(path, _chunk_of, parameters={"offset": offset, "limit": limit}, whole=True)


def _chunk_of(reply: Reply) -> Chunk:
    complete = reply.headers.get("x-fairshare-complete", "").lower() == "true"
    return Chunk(reply.content, complete, int(reply.headers.get("x-fairshare-skipped", "0")))


def whole(container: str, stream: str) -> Conversation[bytes]:
    """What there is now."""
    parts = []
    offset = 0
    while (chunk := (yield part(container, stream, offset))).advance:
        parts.append(chunk.shown)
        if chunk.complete:
            break
        offset += chunk.advance
    return b"".join(parts)


def present(container: str, stream: str) -> Conversation[bytes]:
    """Shows what there is now, part by part, and keeps none of it; returns b""."""
    offset = 0
    while (chunk := (yield part(container, stream, offset))).advance:
        yield Yielded(chunk.shown)
        if chunk.complete:
            break
        offset += chunk.advance
    return b""


def growing(
    container: str, stream: str, pace_s: float = PACE_S, patience_s: float = PATIENCE_S
) -> Conversation[bytes]:
    """Shows what there is and what comes, until the container is over; returns b"".

    A server that restarts meanwhile is waited for.
    """
    offset = 0
    patience = Patience(patience_s)
    while True:
        chunk = Chunk(b"", complete=False)
        with patience.outlast_absence():
            chunk = yield part(container, stream, offset)
        if chunk.advance:
            yield Yielded(chunk.shown)
            offset += chunk.advance
        if chunk.complete:
            return b""
        if not chunk.advance:
            yield Pause(pace_s)


def last_lines(container: str, stream: str, count: int) -> Conversation[str]:
    """The last `count` lines, of which at most 64 KiB; the rest of a long log is not read."""
    size = yield from _size(container, stream)
    offset = max(0, size - TAIL_BYTES)
    chunk = yield part(container, stream, offset, TAIL_BYTES)
    lines = chunk.data.decode(errors="replace").splitlines()
    if offset and len(lines) > 1:
        del lines[0]  # it began before
    return "\n".join(lines[-count:])


def failure(calls: Calls, application: str | int, lines: int) -> Conversation[str]:
    """The end of what the last failed container wrote to stderr, else to stdout; may be ""."""
    container = last_failed((yield calls.containers(application)))
    if container is None:
        return ""
    for stream in ("stderr", "stdout"):
        try:
            text = yield from last_lines(container.id, stream, lines)
        except Refused:  # its files are already cleaned away
            continue
        if text.strip():
            return text
    return ""


def _size(container: str, stream: str) -> Conversation[int]:
    """How long a log is now: a few questions of one byte each, doubling and then halving."""
    low, high = 0, TAIL_BYTES
    while (yield part(container, stream, high, 1)).data:
        low, high = high, high * 2
    while low and high - low > TAIL_BYTES // 4:
        middle = (low + high) // 2
        if (yield part(container, stream, middle, 1)).data:
            low = middle
        else:
            high = middle
    return high
