"""Owns the reading of what containers print: all of it, as it grows, or its end.

A log is bytes that only ever grow; it is complete when its container is over and all was sent.
Nothing is decoded here.
"""

import time
from collections.abc import Iterator

import msgspec

from fairshare.client.connection import Connection, segment

CHUNK_BYTES = 1 << 20
TAIL_BYTES = 1 << 16
PACE_S = 0.5
"""How often a log that grows is looked at: the server does not tell when somebody prints."""

STREAMS = ("stdout", "stderr")


class Chunk(msgspec.Struct, frozen=True):
    """A part of a log. `complete`: nothing comes after it, now or later."""

    data: bytes
    complete: bool


def read(
    connection: Connection, container: str, stream: str, offset: int, limit: int = CHUNK_BYTES
) -> Chunk:
    """At most `limit` bytes from `offset`; empty when there are none yet."""
    path = f"/containers/{segment(container)}/logs/{segment(stream)}"
    response = connection.get_response(path, offset=offset, limit=limit)
    complete = response.headers.get("X-Fairshare-Complete", "").lower() == "true"
    return Chunk(response.content, complete)


def read_all(connection: Connection, container: str, stream: str) -> Iterator[bytes]:
    """What there is now, in parts."""
    offset = 0
    while True:
        chunk = read(connection, container, stream, offset)
        if chunk.data:
            yield chunk.data
        if chunk.complete or not chunk.data:
            return
        offset += len(chunk.data)


def follow(
    connection: Connection, container: str, stream: str, pace_s: float = PACE_S
) -> Iterator[bytes]:
    """What there is and what comes, until the container is over."""
    offset = 0
    while True:
        chunk = read(connection, container, stream, offset)
        if chunk.data:
            yield chunk.data
            offset += len(chunk.data)
        if chunk.complete:
            return
        if not chunk.data:
            time.sleep(pace_s)


def last_lines(connection: Connection, container: str, stream: str, count: int) -> str:
    """The last `count` lines, of which at most 64 KiB; the rest of a long log is not read."""
    size = _size(connection, container, stream)
    offset = max(0, size - TAIL_BYTES)
    text = read(connection, container, stream, offset, TAIL_BYTES).data.decode(errors="replace")
    lines = text.splitlines()
    if offset and len(lines) > 1:
        del lines[0]  # it began before
    return "\n".join(lines[-count:])


def _size(connection: Connection, container: str, stream: str) -> int:
    """How long a log is now: a few questions of one byte each, doubling and then halving."""

    def holds(offset: int) -> bool:
        return bool(read(connection, container, stream, offset, 1).data)

    low, high = 0, TAIL_BYTES
    while holds(high):
        low, high = high, high * 2
    while low and high - low > TAIL_BYTES // 4:
        middle = (low + high) // 2
        if holds(middle):
            low = middle
        else:
            high = middle
    return high
