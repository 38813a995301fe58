"""The lines of commands between map and reduce: keys, partitions, the buffer.

A line consists of a key and a value, separated by the first tab, or by the job's separator. A line
without a separator is a key, and gets a tab at its end, as Hadoop Streaming passes it to the
reducer.

Lines are ordered by all their bytes, as by `LC_ALL=C sort`. Lines of the same key are adjacent,
because they start with the same key and tab. Equal lines are stored once, with their number, since
they are frequent, and sorting, writing and reading them would cost time.
"""

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from fairshare.mapreduce.inputs import line_lists
from fairshare.mapreduce.job import TAB, Job
from fairshare.mapreduce.runs import Batch, Groups

ENTRY_BYTES = 120
"""The memory of a line besides its bytes: the object, and its entries in table and order."""

WRITE_BYTES = 1 << 18

Key = Callable[[bytes], bytes]


def key_of(job: Job) -> Key:
    """A function that returns the key of a line in a run.

    >>> key_of(Job(name="", maps=1, reduces=1, mapper="", key_fields=2))(b"a\\tb\\tc")
    b'a\\tb'
    """
    return _head(sent_form(job).fields)


def _head(fields: int) -> Key:
    if fields == 1:
        return lambda line: line.partition(b"\t")[0]
    return lambda line: b"\t".join(line.split(b"\t", fields)[:fields])


def partition_of(job: Job) -> Callable[[bytes], int]:
    """A function that returns the reduce of a line: by a checksum of its key, the same on every
    machine."""
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
    """The form of lines: the separator, and the number of fields of the key."""

    separator: bytes = b"\t"
    fields: int = 1


def printed_form(job: Job) -> Form:
    """The form of a mapper's output."""
    return Form(job.field_separator.encode(), job.key_fields)


def sent_form(job: Job) -> Form:
    """The form of lines between map and reduce: the input of combiners and reducers, and the output
    of combiners."""
    return printed_form(job) if job.field_separator == TAB else Form()


def normalised(counts: dict[bytes, int], form: Form) -> dict[bytes, int]:
    """The lines with exactly one tab between key and value; modifies the mapping.

    >>> normalised({b"a": 2, b"a\\t": 1, b"b\\tc": 1}, Form())
    {b'a\\t': 3, b'b\\tc': 1}
    """
    separator, fields = form
    if separator == b"\t" and fields == 1:
        bare = [line for line in counts if b"\t" not in line]
        bare.reverse()
        while bare:  # frees an old line before it adds the next one
            line = bare.pop()
            number = counts.pop(line)
            line += b"\t"
            counts[line] = counts.get(line, 0) + number
        return counts
    entries: dict[bytes, int] = {}
    while counts:
        line, number = counts.popitem()
        parts = line.split(separator, fields)
        value = parts.pop() if len(parts) > fields else b""
        whole = separator.join(parts) + b"\t" + value
        entries[whole] = entries.get(whole, 0) + number
    return entries


def tabbed(parts: Iterable[bytes]) -> Iterator[bytes]:
    """The same text, with a tab appended to lines without one if a whole part has none.

    `normalised` would do this later for each line separately, which is much slower.

    >>> b"".join(tabbed([b"a\\tb", b"c\\nd\\ne", b"f\\n"]))
    b'a\\tbc\\nd\\t\\nef\\t\\n'
    """
    has_tab = False  # of the incomplete line
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
    """Lines in memory, up to about `limit_bytes`; above that, all are passed to `full`.

    Lines are added in one form, and passed on in the form between map and reduce.
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
        self._came_bytes = 0  # added since then
        self.records = 0
        self.bytes = 0

    def collect(self, parts: Iterable[bytes]) -> None:
        """Add all lines of a text, given in parts with arbitrary boundaries."""
        for _ in self.collecting(parts):
            pass

    def collecting(self, parts: Iterable[bytes]) -> Iterator[None]:
        """The same, step by step, so that the caller can check whether `full` was called."""
        text = self._measured(parts)
        for lines in line_lists(tabbed(text) if self._form == Form() else text):
            self._counts.update(lines)
            self.records += len(lines)
            new = len(self._counts) - self._known
            # An upper bound, as if all bytes were of new lines: the exact size is rarely needed.
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
        """Pass on all buffered lines."""
        if self._counts:
            self._full(normalised(self._counts, self._form))
        self._counts = Counter()
        self._known = self._exact_bytes = self._came_bytes = 0


def written(batches: Iterable[Batch]) -> Iterator[bytes]:
    """The text of lines in order, including repetitions, in parts of limited size."""
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
    """Each line with its number of repetitions, divided if they would be too large at once."""
    for line in keys:
        left: int = groups[line]
        most = max(1, WRITE_BYTES // (len(line) + 1))
        while left > most:
            yield line, most
            left -= most
        yield line, left
