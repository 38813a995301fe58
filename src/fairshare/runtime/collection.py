"""How often Python looks for garbage in cycles of references.

Nearly all objects here are freed when the last reference to them goes; decision 20 lists the
cycles that are left.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


def collect_rarely() -> None:
    """Let this process look at its youngest objects after 20,000 more of them, and at all objects
    hardly ever.

    By default it is after 700, and at all when their number has grown by a quarter, which takes 0.1
    to 0.3 s in a process with 50,000 containers. A larger number than 20,000 saves nothing more,
    and makes each stop longer; so does a look at those that survived after more than three times.
    """
    gc.set_threshold(20_000, 3, 10_000)


@contextmanager
def without_collection() -> Iterator[None]:
    """Let Python not look for garbage among the many objects that are made meanwhile."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()
