"""When a server looks for garbage among all its objects.

While it is idle it looks at those that are new since the last time; the others, of which nearly all
stay, are left out (`gc.freeze`). At all of them it looks when its memory has doubled.
"""

import asyncio
import gc
import resource
import time
from typing import Final

INTERVAL_S: Final = 10.0

IDLE: Final = 0.1
"""The part of a core below which a server counts as idle."""

LEAST_GROWTH_KB: Final = 512 * 1024
"""By so much memory has grown at least when all objects are looked at: the server stops for 0.2 s
for each 400 MB then."""


def peak_kb() -> int:
    """The most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def has_doubled(most_kb: int, before_kb: int) -> bool:
    """Whether the most memory until now is so much more than it was the last time."""
    return most_kb > before_kb + max(before_kb, LEAST_GROWTH_KB)


def collect(*, everything: bool) -> None:
    """Free the garbage among the objects that are new since the last time, or among all."""
    if everything:
        gc.unfreeze()
    gc.collect()
    gc.freeze()


async def watch_collections() -> None:
    """Collect when it is time, until cancelled."""
    before_kb = peak_kb()
    used_s, passed_s = time.process_time(), time.monotonic()
    while True:
        await asyncio.sleep(INTERVAL_S)
        busy = (time.process_time() - used_s) / (time.monotonic() - passed_s)
        if gc.isenabled():
            if has_doubled(peak_kb(), before_kb):
                collect(everything=True)
                before_kb = peak_kb()
            # Without a collection of the middle generation the oldest one is what it was.
            elif busy < IDLE and gc.get_count()[2] > 0:
                collect(everything=False)
        used_s, passed_s = time.process_time(), time.monotonic()
