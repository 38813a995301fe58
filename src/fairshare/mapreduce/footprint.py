"""Owns the serialisation of values, and estimates of their size in memory."""

import itertools
import marshal
import pickle
import sys
from collections.abc import Iterable
from typing import Any

LARGEST_SAMPLE = 100
"""The number of entries of a collection that are measured."""

DEPTH = 2
"""The maximum depth of nested collections that are measured; they may even contain themselves."""


def dumped(values: list[Any]) -> bytes:
    """Serialise values: plain data is marshalled, which is much faster, other data is pickled."""
    try:
        return marshal.dumps(values)
    except ValueError:
        pass
    try:
        return pickle.dumps(values, pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError):
        import cloudpickle  # a class of the job's functions

        data: bytes = cloudpickle.dumps(values)
        return data


def footprint(thing: Any, depth: int = DEPTH) -> int:
    """The approximate size, in bytes, of a key or value in memory, including its contents.

    Shared contents are counted repeatedly, so that the estimate is rather too high. A tuple of a
    string of 7 letters and 1.5 takes 56 bytes, plus 56 for the string and 24 for the number.
    """
    kind = type(thing)
    if kind is int and -6 < thing < 257:
        return 0  # the interpreter caches these ints
    size = sys.getsizeof(thing)
    if kind in (str, bytes, int, float, bool, type(None)):
        return size
    if depth and kind in (tuple, list, set, frozenset):
        return size + _extrapolated(thing, len(thing), depth)
    if depth and kind is dict:
        entries = itertools.chain.from_iterable(thing.items())
        return size + _extrapolated(entries, 2 * len(thing), depth)
    # The contents of other objects are unknown; in memory they take about twice their pickled size.
    return max(size, 2 * len(dumped([thing])))


def _extrapolated(things: Iterable[Any], number: int, depth: int) -> int:
    """The size of many objects, extrapolated from the first ones."""
    seen = [footprint(thing, depth - 1) for thing in itertools.islice(things, LARGEST_SAMPLE)]
    return sum(seen) * number // max(1, len(seen))
