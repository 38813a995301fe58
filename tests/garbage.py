"""What only Python's garbage collector would free."""

import gc


def left_for_the_collector() -> list[object]:
    """The objects of ours that have become unreachable, but not at once."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        gc.collect()
        return [one for one in gc.garbage if type(one).__module__.startswith("fairshare.")]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
