"""The slicing of long work, so that decisions and other requests run in between."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Final

from fairshare.core.schedulers.protocol import Made, Steps
from fairshare.server.row_cache import Item, Key, Row, RowCache

SLICE_S: Final = 0.002
"""How long one slice may delay other work."""

LOOKED_AFTER: Final = 16
"""Items between two readings of the clock."""

ROUNDS: Final = 4
"""How often items that changed meanwhile are renewed in slices."""

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


async def made_in_slices(steps: Steps[Made]) -> Made:
    """What the steps make; after each slice the loop runs other ready tasks, and the state may
    change."""
    began_s = time.perf_counter()
    while True:
        try:
            next(steps)
        except StopIteration as made:
            value: Made = made.value
            return value
        if time.perf_counter() - began_s >= SLICE_S:
            await asyncio.sleep(0)
            began_s = time.perf_counter()


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
