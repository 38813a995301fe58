"""When a server looks for garbage among all its objects: while it is idle, or when its memory has
doubled since the last time."""

import asyncio
import gc
import resource
import time
from typing import Final

INTERVAL_S: Final = 10.0

IDLE: Final = 0.1
"""The part of a core below which a server counts as idle."""

LEAST_GROWTH_KB: Final = 512 * 1024
"""By so much memory has grown at least when a busy server collects: it stops for 0.35 s then."""


def peak_kb() -> int:
    """The most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def is_time(busy: float, most_kb: int, before_kb: int) -> bool:
    """Whether to collect now: `busy` is the part of a core that is used, `most_kb` the most memory
    until now, and `before_kb` until the last time."""
    return busy < IDLE or most_kb > before_kb + max(before_kb, LEAST_GROWTH_KB)


async def watch_collections() -> None:
    """Collect when it is time, until cancelled."""
    before_kb = peak_kb()
    used_s, passed_s = time.process_time(), time.monotonic()
    while True:
        await asyncio.sleep(INTERVAL_S)
        busy = (time.process_time() - used_s) / (time.monotonic() - passed_s)
        # Without a collection of the middle generation the oldest one is what it was.
        has_grown = gc.isenabled() and gc.get_count()[2] > 0
        if has_grown and is_time(busy, peak_kb(), before_kb):
            gc.collect()
            before_kb = peak_kb()
        used_s, passed_s = time.process_time(), time.monotonic()
