"""Owns how values become bytes, and about how much memory they take before that."""

import itertools
import marshal
import pickle
import sys
from collections.abc import Iterable
from typing import Any

LARGEST_SAMPLE = 100
"""Of a collection so many entries are looked at."""

DEPTH = 2
"""So deep are collections within collections looked at. (They may even contain themselves.)"""


def dumped(values: list[Any]) -> bytes:
    """Plain data is marshalled, which takes a fraction of the time; all else is pickled."""
    try:
        return marshal.dumps(values)
    except ValueError:
        pass
    try:
        return pickle.dumps(values, pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError):
        import cloudpickle  # a class came with the functions

        data: bytes = cloudpickle.dumps(values)
        return data


def footprint(thing: Any, depth: int = DEPTH) -> int:
    """About how many bytes a key or value takes in memory, with all that it holds.

    What several hold is counted for each of them, so it is rather too much. A tuple of a text of 7
    letters and 1.5 takes 56 bytes, and the text 56, and the number 24.
    """
    kind = type(thing)
    if kind is int and -6 < thing < 257:
        return 0  # such ints are there anyway
    size = sys.getsizeof(thing)
    if kind in (str, bytes, int, float, bool, type(None)):
        return size
    if depth and kind in (tuple, list, set, frozenset):
        return size + _extrapolated(thing, len(thing), depth)
    if depth and kind is dict:
        entries = itertools.chain.from_iterable(thing.items())
        return size + _extrapolated(entries, 2 * len(thing), depth)
    # Of any other object we know no parts; in memory they are about twice what they are pickled as.
    return max(size, 2 * len(dumped([thing])))


def _extrapolated(things: Iterable[Any], number: int, depth: int) -> int:
    """What many things take, of which only the first are looked at."""
    seen = [footprint(thing, depth - 1) for thing in itertools.islice(things, LARGEST_SAMPLE)]
    return sum(seen) * number // max(1, len(seen))
