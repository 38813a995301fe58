"""Owns the slicing of long work, so that decisions and other requests run in between."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Generator, Iterable
from typing import Final

from starlette.responses import Response, StreamingResponse

from fairshare.server.row_cache import Item, Key, Row, RowCache
from fairshare.web.answers import encoded

SLICE_S: Final = 0.002
"""How long one slice may delay other work."""

LOOKED_AFTER: Final = 16
"""Items between two readings of the clock."""

ROUNDS: Final = 4
"""How often items that changed meanwhile are renewed in slices."""

PIECE_BYTES: Final = 64 * 1024

FEW: Final = 30
"""How many items may remain for the final unsliced step: about one slice of work."""


async def sliced(items: Iterable[Item]) -> AsyncIterator[Item]:
    """The items; after each slice the loop runs other ready tasks.

    The state may change in between: callers that need one instant must not use this.
    """
    began_s = time.perf_counter()
    for count, item in enumerate(items, start=1):
        yield item
        if count % LOOKED_AFTER == 0 and time.perf_counter() - began_s >= SLICE_S:
            await asyncio.sleep(0)
            began_s = time.perf_counter()


async def made_in_slices(steps: Generator[None, None, Item]) -> Item:
    """What the steps make; after each slice the loop runs other ready tasks, and the state may
    change."""
    began_s = time.perf_counter()
    while True:
        try:
            next(steps)
        except StopIteration as made:
            value: Item = made.value
            return value
        if time.perf_counter() - began_s >= SLICE_S:
            await asyncio.sleep(0)
            began_s = time.perf_counter()


def listing(name: str, items: Iterable[object]) -> Response:
    """`{"name": [...]}` as JSON, written and sent in slices."""

    async def pieces() -> AsyncIterator[bytes]:
        written, between = bytearray(b'{"%s":[' % name.encode()), b""
        async for item in sliced(items):
            written += between + encoded(item)
            between = b","
            if len(written) >= PIECE_BYTES:
                yield bytes(written)
                written.clear()
        yield bytes(written) + b"]}"

    return StreamingResponse(pieces(), media_type="application/json")


async def rows_of_one_instant(
    cache: RowCache[Key, Item, Row], items: Callable[[], Iterable[Item]]
) -> tuple[list[Item], list[Row]]:
    """The items that there are, and their rows, all of the instant in which this returns.

    Outdated rows are renewed in slices until few are left; items that change faster than they are
    renewed are renewed at once in the end.
    """
    for rounds in range(ROUNDS, -1, -1):
        found = list(items())
        rows = cache.current(found)
        if not rounds or rows.count(None) <= FEW:
            break
        async for item in sliced(one for one, row in zip(found, rows, strict=True) if row is None):
            cache.renewed(item)
    return found, [
        cache.renewed(item) if row is None else row for item, row in zip(found, rows, strict=True)
    ]
