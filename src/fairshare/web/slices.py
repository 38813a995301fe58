"""Owns how long work is done in slices, so that decisions and other callers come in between."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Final, TypeVar

from starlette.responses import Response, StreamingResponse

from fairshare.web.answers import encoded

Item = TypeVar("Item")

SLICE_S: Final = 0.002
"""How long others wait for one slice."""

LOOKED_AFTER: Final = 16
"""Items between two looks at the clock."""

ROUNDS: Final = 4
"""How often what has changed meanwhile is done again in slices."""

PIECE_BYTES: Final = 64 * 1024

FEW: Final = 30
"""So many items are left to be done at once: about as long as a slice."""


async def sliced(items: Iterable[Item]) -> AsyncIterator[Item]:
    """The items; whenever a slice is over, whatever else is ready goes first.

    Other things may have changed then: who needs one instant must not use this.
    """
    began_s = time.perf_counter()
    for count, item in enumerate(items, start=1):
        yield item
        if count % LOOKED_AFTER == 0 and time.perf_counter() - began_s >= SLICE_S:
            await asyncio.sleep(0)
            began_s = time.perf_counter()


def listing(name: str, items: Iterable[object]) -> Response:
    """`{"name": [...]}` as JSON, written in slices and sent as it is written."""

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


async def brought_up_to_date(
    items: Callable[[], Iterable[Item]],
    outdated: Callable[[Item], bool],
    renew: Callable[[Item], object],
    most: int,
) -> None:
    """Renew what is outdated, in slices, until hardly anything is: whoever then looks at one
    instant has that little to do. What changes faster than it is renewed is left to him.

    `most` is how many can be outdated at most: if that is little, there is nothing to look for.
    """
    if most <= FEW:
        return
    for _ in range(ROUNDS):
        count = 0
        async for item in sliced(list(items())):
            if outdated(item):
                renew(item)
                count += 1
        if count <= FEW:
            return
