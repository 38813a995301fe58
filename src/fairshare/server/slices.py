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


class Slices:
    """Work in slices; between two of them the loop runs other ready tasks."""

    def __init__(self) -> None:
        self._began_s = time.perf_counter()
        self._before_s = 0.0

    @property
    def cost_s(self) -> float:
        """How long all of it has held the loop."""
        return self._before_s + time.perf_counter() - self._began_s

    async def end(self) -> bool:
        """End the slice if it has taken long enough; whether it has, so that the state may have
        changed."""
        took_s = time.perf_counter() - self._began_s
        if took_s < SLICE_S:
            return False
        self._before_s += took_s
        await asyncio.sleep(0)
        self._began_s = time.perf_counter()
        return True


async def sliced(items: Iterable[Item]) -> AsyncIterator[Item]:
    """The items; after each slice the loop runs other ready tasks.

    The state may change in between: callers that need one instant must not use this.
    """
    slices = Slices()
    for count, item in enumerate(items, start=1):
        yield item
        if count % LOOKED_AFTER == 0:
            await slices.end()


async def made_in_slices(steps: Steps[Made], slices: Slices | None = None) -> Made:
    """What the steps make; after each slice the loop runs other ready tasks, and the state may
    change."""
    slices = slices or Slices()
    while True:
        try:
            next(steps)
        except StopIteration as made:
            value: Made = made.value
            return value
        await slices.end()
