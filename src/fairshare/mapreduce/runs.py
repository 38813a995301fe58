"""Sorted runs on disk: records by their keys, in blocks.

A record is a key (bytes) with a payload. For lines of text the key is the whole line and the
payload the number of its repetitions, so that a thousand equal lines cost no more than one. For
pairs of Python functions the payload is a list of entries (n, bytes of a list of n values).
Payloads of the same key are joined by `+`.

A file contains one run for each partition, one after the other. Only the interpreter version that
wrote it can read it: blocks are marshalled. Intermediate merges limit how many runs a merge reads
at once.
"""

import bisect
import json
import marshal
import struct
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from fairshare.mapreduce.counters import SPILLED_RECORDS, Counters
from fairshare.mapreduce.job import TaskFailed

Payload = Any
"""int | list[tuple[int, bytes]]"""

Groups = Mapping[bytes, Payload]
Batch = tuple[list[bytes], Groups]
"""Keys in order, and their payloads."""

BLOCK_BYTES = 1 << 16
"""The size of the blocks that are written and read at once; one record may be larger."""

BLOCK_RECORDS = 4096

ENTRY_BYTES = 200
"""The memory of a key with an entry besides its bytes: several objects."""

_HEAD = struct.Struct("<Q")


def records_of(groups: Groups) -> int:
    """The number of records, including repetitions.

    >>> records_of({b"a\\t": 3, b"b\\t": 1}), records_of({b"sa": [(2, b"..."), (1, b"...")]})
    (4, 3)
    """
    return sum(
        payload if payload.__class__ is int else sum(count for count, _ in payload)
        for payload in groups.values()
    )


class Segment(NamedTuple):
    """One run: a range of a file."""

    path: str
    start: int
    length: int

    def blocks(self) -> Iterator[tuple[list[bytes], list[Payload]]]:
        """Keys and payloads, block by block. Raises TaskFailed if the file is truncated."""
        with open(self.path, "rb") as file:  # noqa: PTH123 - a plain string
            file.seek(self.start)
            left = self.length
            while left > 0:
                head = file.read(_HEAD.size)
                size = _HEAD.unpack(head)[0] if len(head) == _HEAD.size else -1
                data = file.read(size) if 0 <= size <= left else b""
                if len(data) != size:
                    raise TaskFailed(f"{self.path!r} is damaged: a block is not whole")
                yield marshal.loads(data)  # noqa: S302 - written by another task of this job
                left -= _HEAD.size + size


class RunWriter:
    """Writes runs into a file, one partition after the other; a context manager."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO = path.open("wb")
        self._start = 0
        self._keys: list[bytes] = []
        self._payloads: list[Payload] = []
        self._weight = 0
        self.segments: list[Segment] = []

    def write(self, keys: list[bytes], groups: Groups) -> None:
        """Append records to the partition; their keys must not be less than earlier ones."""
        if not keys:
            return
        if groups[keys[0]].__class__ is int:
            self._keys += keys
            self._payloads += map(groups.__getitem__, keys)
            self._weight += sum(map(len, keys))
        else:
            for key in keys:
                payload = groups[key]
                # Entries that merging has joined are divided again.
                for part in [payload] if len(payload) == 1 else [[entry] for entry in payload]:
                    self._keys.append(key)
                    self._payloads.append(part)
                    self._weight += ENTRY_BYTES + len(key) + len(part[0][1])
        if self._weight >= BLOCK_BYTES or len(self._keys) >= BLOCK_RECORDS:
            self._flush()

    def _flush(self) -> None:
        keys, payloads = self._keys, self._payloads
        if keys:
            mean = self._weight // len(keys) + 1
            step = max(1, min(BLOCK_RECORDS, BLOCK_BYTES // mean))
            for start in range(0, len(keys), step):
                self._emit(keys[start : start + step], payloads[start : start + step])
            self._keys, self._payloads, self._weight = [], [], 0

    def _emit(self, keys: list[bytes], payloads: list[Payload]) -> None:
        data = marshal.dumps((keys, payloads))
        if len(data) > 4 * BLOCK_BYTES and len(keys) > 1:  # a few very large records
            middle = len(keys) // 2
            self._emit(keys[:middle], payloads[:middle])
            self._emit(keys[middle:], payloads[middle:])
            return
        self._file.write(_HEAD.pack(len(data)))
        self._file.write(data)

    def end_partition(self) -> Segment:
        """End the current partition and return its run."""
        self._flush()
        end = self._file.tell()
        segment = Segment(str(self._path), self._start, end - self._start)
        self._start = end
        self.segments.append(segment)
        return segment

    def __enter__(self) -> "RunWriter":
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file. Raises OSError if the disk is full."""
        self._file.close()


def write_index(path: Path, segments: Iterable[Segment]) -> None:
    """Write the position of each partition of a file."""
    path.write_text(json.dumps([[part.start, part.length] for part in segments]))


def read_index(path: Path, file: Path, partition: int) -> Segment:
    """The run of one partition."""
    start, length = json.loads(path.read_text())[partition]
    return Segment(str(file), start, length)


class _Head:
    """The position of a merge in one run."""

    __slots__ = ("blocks", "keys", "payloads", "position")

    def __init__(self, segment: Segment) -> None:
        self.blocks = segment.blocks()
        self.keys: list[bytes] = []
        self.payloads: list[Payload] = []
        self.position = 0

    def advance(self) -> bool:
        """Advance to the next block; False at the end."""
        block = next(self.blocks, None)
        if block is None:
            return False
        self.keys, self.payloads = block
        self.position = 0
        return True


def merged(segments: Iterable[Segment]) -> Iterator[Batch]:
    """All records of some runs, in order, in batches. A key may occur again in the next batch.

    One block of each run is in memory. All records up to the least of the blocks' last keys are
    available: they are taken from each block, and sorted at once. Python's sort detects the runs
    and merges them, which is many times faster than a heap that returns one record at a time.
    """
    heads = [head for segment in segments if (head := _Head(segment)).advance()]
    while heads:
        bound = min(head.keys[-1] for head in heads)
        groups: dict[bytes, Payload] = {}
        alive = []
        for head in heads:
            keys, start = head.keys, head.position
            end = bisect.bisect_right(keys, bound, start)
            whole = start == 0 and end == len(keys)
            part = zip(
                keys if whole else keys[start:end],
                head.payloads if whole else head.payloads[start:end],
                strict=True,
            )
            for key, payload in part:
                groups[key] = groups[key] + payload if key in groups else payload
            head.position = end
            if end < len(keys) or head.advance():
                alive.append(head)
        heads = alive
        yield sorted(groups), groups


class Merger:
    """Collects the runs of one partition, and merges some of them if there are too many.

    `factor` is the maximum number of runs merged at once. The smallest are merged first, so that
    merged runs are read again as late as possible.
    """

    def __init__(self, folder: Path, factor: int, counters: Counters) -> None:
        self._folder = folder
        self._factor = max(2, factor)
        self._counters = counters
        self._made: set[str] = set()
        self._number = 0
        self._segments: list[Segment] = []

    def add(self, segment: Segment) -> None:
        """Add a run."""
        if segment.length:
            self._segments.append(segment)

    def relieve(self) -> None:
        """Merge some runs if there are at least `factor` more than one final merge can read."""
        while len(self._segments) >= 2 * self._factor:
            self._merge_some(self._factor)

    def final(self) -> list[Segment]:
        """The runs, merged until one merge can read them all."""
        while (excess := len(self._segments) - self._factor) > 0:
            self._merge_some(min(self._factor, excess + 1))
        return self._segments

    def _merge_some(self, count: int) -> None:
        # The smallest first; sorting keeps the order of arrival of equal ones.
        self._segments.sort(key=lambda segment: segment.length)
        chosen = self._segments[:count]
        self._number += 1
        path = self._folder / f"merge-{self._number}"
        records = 0
        with RunWriter(path) as writer:
            for keys, groups in merged(chosen):
                writer.write(keys, groups)
                records += records_of(groups)
            segment = writer.end_partition()
        self._counters.add(SPILLED_RECORDS, records)
        for old in chosen:
            if old.path in self._made:
                Path(old.path).unlink()
        self._made.add(segment.path)
        self._segments[:count] = [segment]
