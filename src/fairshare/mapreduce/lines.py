"""Owns the way of a command's lines from a map to a reduce: keys, partitions, the buffer.

A line is a key and a value; between them stands the first tab, or whatever the job says. A line
without it is all key, and gets a tab at its end, as Hadoop Streaming gives it to the reducer.

Lines are ordered by all their bytes, as `LC_ALL=C sort` does. Those of one key stand together, for
they begin with the same key and tab. Equal lines are kept once, with their number: text has many of
them, and what is not there need not be sorted, written or read.
"""

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from fairshare.mapreduce.job import TAB, Job
from fairshare.mapreduce.records import line_lists
from fairshare.mapreduce.runs import Batch, Groups

ENTRY_BYTES = 120
"""What a line costs beside its own bytes: the object, its place in the table and in the order."""

WRITE_BYTES = 1 << 18

Key = Callable[[bytes], bytes]


def key_of(job: Job) -> Key:
    """How to find the key of a line that stands in a run.

    >>> key_of(Job(name="", maps=1, reduces=1, mapper="", key_fields=2))(b"a\\tb\\tc")
    b'a\\tb'
    """
    return _head(sent_form(job).fields)


def _head(fields: int) -> Key:
    if fields == 1:
        return lambda line: line.partition(b"\t")[0]
    return lambda line: b"\t".join(line.split(b"\t", fields)[:fields])


def partition_of(job: Job) -> Callable[[bytes], int]:
    """How to find the reduce of a line: by a sum of its key, the same on every machine."""
    reduces, fields = job.reduces, job.partition_fields
    crc32 = zlib.crc32
    if fields and job.field_separator != TAB:
        separator = job.field_separator.encode()
        key = key_of(job)

        def by_fields(line: bytes) -> int:
            parts = key(line).split(separator, fields)[:fields]
            return crc32(separator.join(parts)) % reduces

        return by_fields
    if job.field_separator != TAB or (fields or job.key_fields) == 1:
        return lambda line: crc32(line.partition(b"\t")[0]) % reduces
    head = _head(fields or job.key_fields)
    return lambda line: crc32(head(line)) % reduces


class Form(NamedTuple):
    """What the key of a line is: so many fields."""

    separator: bytes = b"\t"
    fields: int = 1


def printed_form(job: Job) -> Form:
    """The form of what a mapper prints."""
    return Form(job.field_separator.encode(), job.key_fields)


def sent_form(job: Job) -> Form:
    """The form of what is sent: of what a combiner and a reducer read, and a combiner prints."""
    return printed_form(job) if job.field_separator == TAB else Form()


def normalised(counts: dict[bytes, int], form: Form) -> dict[bytes, int]:
    """The lines with exactly one tab between key and value; takes the mapping over.

    >>> normalised({b"a": 2, b"a\\t": 1, b"b\\tc": 1}, Form())
    {b'a\\t': 3, b'b\\tc': 1}
    """
    separator, fields = form
    if separator == b"\t" and fields == 1:
        bare = [line for line in counts if b"\t" not in line]
        bare.reverse()
        while bare:  # an old line goes before the next new one comes
            line = bare.pop()
            number = counts.pop(line)
            line += b"\t"
            counts[line] = counts.get(line, 0) + number
        return counts
    found: dict[bytes, int] = {}
    while counts:
        line, number = counts.popitem()
        parts = line.split(separator, fields)
        value = parts.pop() if len(parts) > fields else b""
        whole = separator.join(parts) + b"\t" + value
        found[whole] = found.get(whole, 0) + number
    return found


def tabbed(parts: Iterable[bytes]) -> Iterator[bytes]:
    """The same text with a tab at the end of lines without one, where a whole part has none.

    That is what `normalised` would do later to each line by itself, and is much quicker.

    >>> b"".join(tabbed([b"a\\tb", b"c\\nd\\ne", b"f\\n"]))
    b'a\\tbc\\nd\\t\\nef\\t\\n'
    """
    has_tab = False  # the line that has begun
    for part in parts:
        if b"\t" in part:
            has_tab = part.rfind(b"\t") > part.rfind(b"\n")
            yield part
        elif has_tab:
            first, end, rest = part.partition(b"\n")
            has_tab = not end
            yield first + end + rest.replace(b"\n", b"\t\n")
        else:
            yield part.replace(b"\n", b"\t\n")


class LineBuffer:
    """Lines in memory, up to about `limit_bytes`; with more of them, `full` is given all.

    They came in one form, and are given as they are sent.
    """

    def __init__(
        self, limit_bytes: int, form: Form, full: Callable[[dict[bytes, int]], None]
    ) -> None:
        self._limit_bytes = limit_bytes
        self._form = form
        self._full = full
        self._counts: Counter[bytes] = Counter()
        self._known = 0  # lines whose exact size is in `_exact_bytes`
        self._exact_bytes = 0
        self._came_bytes = 0  # since then
        self.records = 0
        self.bytes = 0

    def collect(self, parts: Iterable[bytes]) -> None:
        """Take all lines of a text whose parts end anywhere."""
        for _ in self.collecting(parts):
            pass

    def collecting(self, parts: Iterable[bytes]) -> Iterator[None]:
        """The same, step by step: the caller may look whether `full` was called."""
        text = self._measured(parts)
        for lines in line_lists(tabbed(text) if self._form == Form() else text):
            self._counts.update(lines)
            self.records += len(lines)
            new = len(self._counts) - self._known
            # Never too low: whatever came may be new lines. So the exact size is seldom needed.
            if self._exact_bytes + self._came_bytes + new * ENTRY_BYTES > self._limit_bytes:
                self._measure()
            yield

    def _measured(self, parts: Iterable[bytes]) -> Iterator[bytes]:
        for part in parts:
            self.bytes += len(part)
            self._came_bytes += len(part)
            yield part

    def _measure(self) -> None:
        counts = self._counts
        self._known = len(counts)
        self._exact_bytes = sum(map(len, counts)) + len(counts) * ENTRY_BYTES
        self._came_bytes = 0
        if self._exact_bytes > self._limit_bytes * 3 // 4:
            self.flush()

    def flush(self) -> None:
        """Give away what is there."""
        if self._counts:
            self._full(normalised(self._counts, self._form))
        self._counts = Counter()
        self._known = self._exact_bytes = self._came_bytes = 0


def written(batches: Iterable[Batch]) -> Iterator[bytes]:
    """The text of lines in order, each as often as it is there, in parts of some size."""
    parts: list[bytes] = []
    weight = 0
    for keys, groups in batches:
        for line, number in repeated(keys, groups):
            parts.append((line + b"\n") * number)
            weight += len(parts[-1])
            if weight >= WRITE_BYTES:
                yield b"".join(parts)
                parts, weight = [], 0
    if parts:
        yield b"".join(parts)


def repeated(keys: Iterable[bytes], groups: Groups) -> Iterator[tuple[bytes, int]]:
    """Each line with its number; one that would be too much at once comes several times."""
    for line in keys:
        left: int = groups[line]
        most = max(1, WRITE_BYTES // (len(line) + 1))
        while left > most:
            yield line, most
            left -= most
        yield line, left
