"""The pairs of Python functions between map and reduce: how keys are encoded, buffer and groups.

Keys are str, bytes, int, or tuples of these, encoded as bytes that keep their order and contain
neither tabs nor line feeds.

    str    by code points     bytes  by bytes     int  by value     tuple  entry by entry

Keys of different types are never equal; their order is bytes, int, str, tuple.
(Control characters within a string are ordered slightly differently.)

Values are grouped by key, so that a key is written once for all its values in a buffer, and a
combiner can run repeatedly in memory before anything is written. Sizes of values in memory are
estimated.
"""

import itertools
import marshal
import operator
import pickle
import sys
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from fairshare.mapreduce.counters import COMBINE_INPUT_RECORDS, COMBINE_OUTPUT_RECORDS, Counters
from fairshare.mapreduce.functions import Pair, Partitioner, Reducer
from fairshare.mapreduce.job import TaskFailed
from fairshare.mapreduce.runs import BLOCK_BYTES, Batch, Groups

Key = Any
"""str | bytes | int | tuple of keys."""

_ESCAPE = b"\x01"
_ESCAPES = (
    (b"\x01", b"\x01\x04"),
    (b"\x00", b"\x01\x01"),
    (b"\t", b"\x01\x02"),
    (b"\n", b"\x01\x03"),
)
_END = b"\x00"
"""The terminator of each entry of a tuple: lower than every byte within an entry."""

_INVERTED = bytes.maketrans(b"0123456789", b"9876543210")
_DIGITS = 4
"""The number of digits that encode the length of an int."""

_MOST_BITS = 14_000
"""Python converts at most 4300 digits at once."""


def encoded(key: Key) -> bytes:
    """The encoding of a key; raises TaskFailed for one of another type.

    >>> sorted([3, -20, 100, -3], key=encoded)
    [-20, -3, 3, 100]
    """
    kind = type(key)
    if kind is str:
        return b"s" + _escaped(key.encode("utf-8", "surrogateescape"))
    if kind is int:
        return _number(key)
    if kind is bytes:
        return b"b" + _escaped(key)
    if kind is tuple:
        return b"t" + b"".join([encoded(entry) + _END for entry in key])
    raise TaskFailed(
        f"{key!r} cannot be a key: keys are str, bytes, int, or tuples of these,"
        f" not {kind.__name__}"
    )


def decoded(data: bytes) -> Key:
    """The key of an encoding."""
    key, rest = _taken(data)
    assert not rest
    return key


def _escaped(data: bytes) -> bytes:
    if data.isalnum():
        return data
    for plain, escape in _ESCAPES:
        if plain in data:
            data = data.replace(plain, escape)
    return data


def _number(key: int) -> bytes:
    if key.bit_length() > _MOST_BITS:
        raise TaskFailed(f"an int of {key.bit_length()} bits cannot be a key")
    digits = b"%d" % abs(key)
    text = b"%0*d" % (_DIGITS, len(digits)) + digits
    return b"i-" + text.translate(_INVERTED) if key < 0 else b"i1" + text


def _taken(data: bytes) -> tuple[Key, bytes]:
    """The first key of some bytes, and the remaining bytes."""
    kind, body = data[:1], data[1:]
    if kind == b"t":
        entries = []
        while body and not body.startswith(_END):
            entry, body = _taken(body)
            entries.append(entry)
            body = body[1:]
        return tuple(entries), body
    content, end, rest = body.partition(_END)
    rest = end + rest
    if kind == b"i":
        return _number_of(content), rest
    if _ESCAPE in content:
        for plain, escape in reversed(_ESCAPES):
            content = content.replace(escape, plain)
    return (content.decode("utf-8", "surrogateescape") if kind == b"s" else content), rest


def _number_of(text: bytes) -> int:
    if text.startswith(b"-"):
        return -int(text[1:].translate(_INVERTED)[_DIGITS:])
    return int(text[1 + _DIGITS :])


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


BATCH_PAIRS = 4096
FIRST_BATCH_PAIRS = 16
BATCHES = 16
"""The minimum number of batches of pairs that fit into the memory."""

KEY_BYTES = 400
"""The memory of a key besides its values: its encoded form, with a list and an entry, and its
entries in two tables, one of which may grow. Includes keys of up to `SHORT_KEY_BYTES`."""

SHORT_KEY_BYTES = 64
REFERENCE_BYTES = 16
"""The memory of a value's reference in its list, including the list's spare capacity."""

ENCODED_KEY_BYTES = 260
ENTRY_BYTES = 110
"""The memory of an encoded key besides its bytes (its entry in a table, which exists twice while it
grows, and its list), and of each of its entries besides its bytes."""

Packed = list[tuple[int, bytes]]

_PICKLED = 0x80
"""The first byte of every pickle, and of no marshalled data."""


def partition_of(reduces: int, partitioner: Partitioner | None) -> Callable[[bytes], int]:
    """A function that returns the reduce of an encoded key."""
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
    """Values as bytes, each entry at most a block unless a single value is larger."""
    if len(values) > BATCH_PAIRS:  # not all at once: one key may have all values of the input
        slices = range(0, len(values), BATCH_PAIRS)
        return [entry for at in slices for entry in packed(values[at : at + BATCH_PAIRS])]
    data = dumped(values)
    if len(data) <= BLOCK_BYTES or len(values) == 1:
        return [(len(values), data)]
    half = len(values) // 2
    return packed(values[:half]) + packed(values[half:])


def unpacked(payload: Packed) -> Iterator[Any]:
    """The values of a packed payload."""
    for _, data in payload:
        if data[0] == _PICKLED:
            yield from pickle.loads(data)  # noqa: S301 - written by another task of this job
        else:
            yield from marshal.loads(data)  # noqa: S302


def grouped(batches: Iterable[Batch]) -> Iterator[tuple[Any, Iterator[Any]]]:
    """Each key with all its values, which are read lazily."""
    flat = ((key, groups[key]) for keys, groups in batches for key in keys)
    for key, same in itertools.groupby(flat, operator.itemgetter(0)):
        yield decoded(key), _values(same)


def _values(same: Iterator[tuple[bytes, Packed]]) -> Iterator[Any]:
    for _, payload in same:
        yield from unpacked(payload)


def _held_bytes(key: bytes, entries: Packed) -> int:
    """The approximate memory of an encoded key with its entries.

    A key of 7 bytes with one entry of 13 bytes costs 260 + 7 + 110 + 13 = 390.
    """
    return ENCODED_KEY_BYTES + len(key) + sum(ENTRY_BYTES + len(data) for _, data in entries)


class Combiner:
    """A combiner function with its counters.

    It is not called for a key with a single value: Hadoop does not guarantee how often a combiner
    runs either.
    """

    def __init__(self, function: Reducer, limit_bytes: int, counters: Counters) -> None:
        self._function = function
        self._limit_bytes = limit_bytes
        self._counters = counters

    def compact(self, groups: defaultdict[Any, list[Any]]) -> None:
        """Combine the values of each key in place."""
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
        """The combined records of merged runs, in parts that fit into memory."""
        combined: dict[bytes, Packed] = {}
        weight = 0
        for keys, groups in batches:
            for key in keys:
                payload = groups[key]
                made = {key: payload}
                if len(payload) > 1 or payload[0][0] > 1:
                    made = self._combined(key, payload)
                for new, entries in made.items():
                    combined[new] = combined[new] + entries if new in combined else entries
                    weight += _held_bytes(new, entries)
                if weight > self._limit_bytes:
                    yield combined
                    combined, weight = {}, 0
        yield combined

    def _combined(self, key: bytes, payload: Packed) -> dict[bytes, Packed]:
        by_key: defaultdict[Any, list[Any]] = defaultdict(list)
        for new, value in self._function(decoded(key), unpacked(payload)):
            by_key[new].append(value)
        self._counters.add(COMBINE_INPUT_RECORDS, sum(count for count, _ in payload))
        self._counters.add(COMBINE_OUTPUT_RECORDS, sum(map(len, by_key.values())))
        return {encoded(new): packed(values) for new, values in by_key.items()}


class PairBuffer:
    """Pairs in memory, up to about `limit_bytes`; above that, all are passed to `full`, encoded.

    Their size is estimated from one pair of each batch.
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
        """Add any number of pairs."""
        pairs = iter(pairs)
        number = FIRST_BATCH_PAIRS
        while some := list(itertools.islice(pairs, number)):
            self.add(some)
            # Pairs in the current batch are not counted, so that a batch must be small.
            pair_bytes = KEY_BYTES + self._key_bytes + self._value_bytes
            number = max(1, min(BATCH_PAIRS, int(self._limit_bytes / BATCHES / pair_bytes)))

    def add(self, pairs: list[Pair]) -> None:
        """Add one batch of pairs."""
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
        """Pass on all buffered pairs."""
        if self._combiner is not None and self._groups:
            self._combiner.compact(self._groups)
        if self._groups:
            self._give()

    def _give(self) -> None:
        groups, self._groups = self._groups, defaultdict(list)
        self._held = 0
        combined: dict[bytes, Packed] = {}
        while groups:  # frees values while they are encoded
            key, values = groups.popitem()
            combined[encoded(key)] = packed(values)
        self._full(combined)


def _larger(before: float, sample: int) -> float:
    """A moving average that rises at once and falls slowly."""
    return max(sample, before * 0.9 + sample * 0.1)
