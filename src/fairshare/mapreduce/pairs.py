"""Owns the way of the pairs of Python functions from a map to a reduce: the buffer, the groups.

Values of one key are kept together, so a key is written once for all its values in a buffer, and a
combiner can be run in memory again and again before anything is written.
"""

import itertools
import marshal
import operator
import pickle
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from fairshare.mapreduce.counters import COMBINE_INPUT_RECORDS, COMBINE_OUTPUT_RECORDS, Counters
from fairshare.mapreduce.failure import TaskFailed
from fairshare.mapreduce.footprint import dumped, footprint
from fairshare.mapreduce.functions import Pair, Partitioner, Reducer
from fairshare.mapreduce.keys import decoded, encoded
from fairshare.mapreduce.runs import BLOCK_BYTES, Batch, Groups

BATCH_PAIRS = 4096
FIRST_BATCH_PAIRS = 16
BATCHES = 16
"""So many batches of pairs fit at least into the memory that there is."""

KEY_BYTES = 400
"""What a key costs beside its values: its encoded form in the end, with a list and an entry, and
its place in two tables, of which one may grow. Keys of `SHORT_KEY_BYTES` are contained in that."""

SHORT_KEY_BYTES = 64
REFERENCE_BYTES = 16
"""What a value costs in its list, of which some is room for more."""

ENCODED_KEY_BYTES = 260
ENTRY_BYTES = 110
"""What a key costs beside itself when it is encoded (its place in a table, which is there twice
while it grows, its list), and each of its entries beside its bytes."""

Packed = list[tuple[int, bytes]]

_PICKLED = 0x80
"""The first byte of a pickle, and of nothing that is marshalled."""


def partition_of(reduces: int, partitioner: Partitioner | None) -> Callable[[bytes], int]:
    """How to find the reduce of an encoded key."""
    crc32 = zlib.crc32
    if partitioner is None:
        return lambda key: crc32(key) % reduces

    def chosen(key: bytes) -> int:
        number = partitioner(decoded(key), reduces)
        if not 0 <= number < reduces:
            raise TaskFailed(
                f"the partitioner gave {number!r} for {decoded(key)!r}: a whole number from 0 to"
                f" {reduces - 1} is needed"
            )
        return number

    return chosen


def packed(values: list[Any]) -> Packed:
    """Some values as bytes, no entry larger than a block unless a single value is."""
    if len(values) > BATCH_PAIRS:  # never all at once: a key may have all values that there are
        slices = range(0, len(values), BATCH_PAIRS)
        return [entry for at in slices for entry in packed(values[at : at + BATCH_PAIRS])]
    data = dumped(values)
    if len(data) <= BLOCK_BYTES or len(values) == 1:
        return [(len(values), data)]
    half = len(values) // 2
    return packed(values[:half]) + packed(values[half:])


def unpacked(payload: Packed) -> Iterator[Any]:
    """The values again."""
    for _, data in payload:
        if data[0] == _PICKLED:
            yield from pickle.loads(data)  # noqa: S301 - written by another task of this job
        else:
            yield from marshal.loads(data)  # noqa: S302


def grouped(batches: Iterable[Batch]) -> Iterator[tuple[Any, Iterator[Any]]]:
    """Each key with all its values, which are read while they are taken."""
    flat = ((key, groups[key]) for keys, groups in batches for key in keys)
    for key, same in itertools.groupby(flat, operator.itemgetter(0)):
        yield decoded(key), _values(same)


def _values(same: Iterator[tuple[bytes, Packed]]) -> Iterator[Any]:
    for _, payload in same:
        yield from unpacked(payload)


def _held_bytes(key: bytes, entries: Packed) -> int:
    """About what an encoded key with its entries costs in memory.

    A key of 7 bytes with one entry of 13 bytes costs 260 + 7 + 110 + 13 = 390.
    """
    return ENCODED_KEY_BYTES + len(key) + sum(ENTRY_BYTES + len(data) for _, data in entries)


class Combiner:
    """A combiner function with its counters.

    Where a key has one value there is nothing to combine, and it is not called: Hadoop promises
    as little how often a combiner runs.
    """

    def __init__(self, function: Reducer, limit_bytes: int, counters: Counters) -> None:
        self._function = function
        self._limit_bytes = limit_bytes
        self._counters = counters

    def compact(self, groups: defaultdict[Any, list[Any]]) -> None:
        """Combine the values of each key where they are."""
        before = after = 0
        others: list[Pair] = []
        gone = []
        for key, values in groups.items():
            if len(values) == 1:
                continue
            before += len(values)
            kept = []
            for new, value in self._function(key, iter(values)):
                after += 1
                if new == key:
                    kept.append(value)
                else:
                    others.append((new, value))
            if kept:
                groups[key] = kept
            else:
                gone.append(key)
        for key in gone:
            del groups[key]
        for key, value in others:
            groups[key].append(value)
        self._counters.add(COMBINE_INPUT_RECORDS, before)
        self._counters.add(COMBINE_OUTPUT_RECORDS, after)

    def combine(self, batches: Iterable[Batch]) -> Iterator[Groups]:
        """What it makes of runs that are merged, in parts that fit into memory."""
        found: dict[bytes, Packed] = {}
        weight = 0
        for keys, groups in batches:
            for key in keys:
                payload = groups[key]
                made = {key: payload}
                if len(payload) > 1 or payload[0][0] > 1:
                    made = self._combined(key, payload)
                for new, entries in made.items():
                    found[new] = found[new] + entries if new in found else entries
                    weight += _held_bytes(new, entries)
                if weight > self._limit_bytes:
                    yield found
                    found, weight = {}, 0
        yield found

    def _combined(self, key: bytes, payload: Packed) -> dict[bytes, Packed]:
        found: defaultdict[Any, list[Any]] = defaultdict(list)
        for new, value in self._function(decoded(key), unpacked(payload)):
            found[new].append(value)
        self._counters.add(COMBINE_INPUT_RECORDS, sum(count for count, _ in payload))
        self._counters.add(COMBINE_OUTPUT_RECORDS, sum(map(len, found.values())))
        return {encoded(new): packed(values) for new, values in found.items()}


class PairBuffer:
    """Pairs in memory, up to about `limit_bytes`; with more of them, `full` is given all, encoded.

    What they cost is estimated from one pair of each batch.
    """

    def __init__(
        self, limit_bytes: int, full: Callable[[Groups], None], combiner: Combiner | None = None
    ) -> None:
        self._limit_bytes = limit_bytes
        self._full = full
        self._combiner = combiner
        self._groups: defaultdict[Any, list[Any]] = defaultdict(list)
        self._held = 0  # values in memory
        self._key_bytes = 0.0  # of one key, beyond KEY_BYTES
        self._value_bytes = 0.0
        self.records = 0

    def collect(self, pairs: Iterable[Pair]) -> None:
        """Take pairs, however many."""
        pairs = iter(pairs)
        number = FIRST_BATCH_PAIRS
        while some := list(itertools.islice(pairs, number)):
            self.add(some)
            # What is on its way is not counted, so it must be little.
            pair_bytes = KEY_BYTES + self._key_bytes + self._value_bytes
            number = max(1, min(BATCH_PAIRS, int(self._limit_bytes / BATCHES / pair_bytes)))

    def add(self, pairs: list[Pair]) -> None:
        """Take a few pairs."""
        groups = self._groups
        try:
            for key, value in pairs:
                groups[key].append(value)
        except (TypeError, ValueError) as error:
            raise TaskFailed(
                f"a mapper or combiner must yield pairs of a key and a value: {error}"
            ) from error
        self.records += len(pairs)
        self._held += len(pairs)
        key, value = pairs[len(pairs) // 2]
        self._key_bytes = _larger(self._key_bytes, max(0, footprint(key) - SHORT_KEY_BYTES))
        self._value_bytes = _larger(self._value_bytes, footprint(value) + REFERENCE_BYTES)
        if self._cost() > self._limit_bytes:
            self._relieve()

    def _cost(self) -> float:
        return len(self._groups) * (KEY_BYTES + self._key_bytes) + self._held * self._value_bytes

    def _relieve(self) -> None:
        if self._combiner is not None:
            self._combiner.compact(self._groups)
            self._held = sum(map(len, self._groups.values()))
            if self._cost() <= self._limit_bytes / 2:
                return
        self._give()

    def flush(self) -> None:
        """Give away what is there."""
        if self._combiner is not None and self._groups:
            self._combiner.compact(self._groups)
        if self._groups:
            self._give()

    def _give(self) -> None:
        groups, self._groups = self._groups, defaultdict(list)
        self._held = 0
        found: dict[bytes, Packed] = {}
        while groups:  # so that no value is there twice for long
            key, values = groups.popitem()
            found[encoded(key)] = packed(values)
        self._full(found)


def _larger(before: float, sample: int) -> float:
    """A mean that rises at once and falls slowly."""
    return max(sample, before * 0.9 + sample * 0.1)
