"""Pairs of functions stay within the memory they are given, whatever their keys and values are.

What Python allocates is counted exactly, by tracemalloc.
"""

import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fairshare.mapreduce.counters import Counters
from fairshare.mapreduce.map_task import Spills
from fairshare.mapreduce.pairs import Combiner, PairBuffer, footprint, partition_of

LIMIT_BYTES = 1 << 20
MOST = 1.3
"""Beside what is held, blocks are read and written."""

PAIRS = 15_000

KINDS: dict[str, Callable[[int], tuple[object, object]]] = {
    "short keys that differ": lambda n: (f"x{n}", 1),
    "long keys that differ": lambda n: (f"{n}" + "long" * 40, 1),
    "numbers as keys": lambda n: (n * 10**9, n),
    "tuples as keys": lambda n: ((f"a{n}", n % 7), 1),
    "one key for all": lambda n: ("key", n * 10**12),
    "large values": lambda n: (f"x{n % 100}", f"value {n} " * 12),
    "values of many parts": lambda n: (f"x{n}", [f"a{n}", (n * 10**6, 1.5, f"b{n}"), {"c": n}]),
}


def add(key: object, values: Iterator[int]) -> Iterator[tuple[object, int]]:
    """A combiner for numbers."""
    yield key, sum(values)


def peak_bytes(folder: Path, pair: Callable[[int], tuple[object, object]], combines: bool) -> int:
    """The most that collecting, spilling and merging pairs takes at once."""
    counters = Counters()
    combiner = Combiner(add, LIMIT_BYTES, counters) if combines else None
    combine = combiner.combine if combiner else None
    spills = Spills(folder, 2, partition_of(2, None), 4, counters, combine)
    buffer = PairBuffer(LIMIT_BYTES, spills.put, combiner)
    tracemalloc.start()
    try:
        buffer.collect(pair(number) for number in range(PAIRS))
        buffer.flush()
        spills.finish(folder / "result", folder / "index")
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", KINDS)
def test_pairs_take_hardly_more_memory_than_they_are_given(tmp_path: Path, kind: str) -> None:
    assert peak_bytes(tmp_path, KINDS[kind], combines=False) < MOST * LIMIT_BYTES


@pytest.mark.parametrize("kind", ["short keys that differ", "long keys that differ"])
def test_what_a_combiner_makes_takes_no_more_either(tmp_path: Path, kind: str) -> None:
    assert peak_bytes(tmp_path, KINDS[kind], combines=True) < MOST * LIMIT_BYTES


def test_a_value_that_contains_itself_has_a_size() -> None:
    value: list[object] = [1]
    value.append(value)
    assert 50 < footprint(value) < 2_000


def test_a_footprint_counts_what_a_value_holds() -> None:
    parts = (("seven77", 1.5), "seven77", 1.5)  # each release of Python has sizes of its own
    assert footprint(parts[0]) == sum(map(sys.getsizeof, parts))
    assert footprint(["x" * 1000] * 10_000) > 10_000_000
    assert footprint({"a": "b" * 500}) > 700
    assert footprint(7) == 0
