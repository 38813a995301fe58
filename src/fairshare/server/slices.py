"""The slicing of long work, so that decisions and other requests run in between."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from typing import Final, TypeVar

from fairshare.core.schedulers.protocol import Made, Steps

Item = TypeVar("Item")

SLICE_S: Final = 0.002
"""How long one slice may delay other work."""

LOOKED_AFTER: Final = 16
"""Items between two readings of the clock."""


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
