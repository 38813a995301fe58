"""Past states of many objects, of which few change from one moment to the next.

A track is one thing's rows, each with the moment from which on it held. Rows are packed; what did
not change is not written again, so ten thousand idle applications cost nothing.
"""

import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

import msgspec

Key = TypeVar("Key", int, str)
Row = TypeVar("Row", bound=msgspec.Struct)

OVERHEAD_BYTES = 64
"""What one packed row costs beside its own bytes."""

_encoder = msgspec.json.Encoder()  # which knows numbers of any size, as demands may be


class _Track:
    """One object: `rows[n]` is its state from `instants[n]` on; None: it did not exist."""

    __slots__ = ("instants", "rows")

    def __init__(self, instants: list[int], rows: list[bytes | None]) -> None:
        self.instants = instants
        self.rows = rows

    def at(self, at_ms: int) -> bytes | None:
        """The row that held at an instant."""
        place = bisect_right(self.instants, at_ms)
        return self.rows[place - 1] if place else None


class RowHistory(Generic[Key, Row]):
    """All things of one kind by their key; `form` is what their rows are.

    `take` and `thin` are called by one thread; others may read meanwhile.
    """

    def __init__(self, form: type[Row]) -> None:
        self.size = 0
        self._form = form
        fields = msgspec.structs.fields(form)
        self._names = [field.name for field in fields]
        self._decoder = msgspec.json.Decoder(tuple[tuple(f.type for f in fields)])  # type: ignore[misc]
        self._tracks: dict[Key, _Track] = {}
        self._last: Mapping[Key, Row] = {}

    def __len__(self) -> int:
        return len(self._tracks)

    def take(self, at_ms: int, rows: Mapping[Key, Row]) -> None:
        """Store all objects at an instant, which is later than all others.

        Rows that are equal to those of last time cost nothing. The mapping is kept, and must not be
        changed afterwards.
        """
        last = self._last
        if rows is last:
            return
        missing = len(last)
        for key, row in rows.items():
            before = last.get(key)
            if before is not None:
                missing -= 1
            if before is not row and before != row:
                content = _encoder.encode(msgspec.structs.astuple(row))
                self._write(key, at_ms, zlib.compress(content, 1))
        if missing:
            for key in last:
                if key not in rows:
                    self._write(key, at_ms, None)
        self._last = rows

    def _write(self, key: Key, at_ms: int, packed: bytes | None) -> None:
        track = self._tracks.get(key)
        if track is None:
            track = self._tracks[key] = _Track([], [])
        track.rows.append(packed)  # first, so that concurrent readers find a row for each instant
        track.instants.append(at_ms)
        self.size += OVERHEAD_BYTES + len(packed or b"")

    def at(self, at_ms: int) -> dict[Key, Row]:
        """All things that were there, in the order in which they were first seen."""
        found = {}
        for key, track in list(self._tracks.items()):
            packed = track.at(at_ms)
            if packed is not None:
                found[key] = self._row(packed)
        return found

    def one(self, key: Key, at_ms: int) -> Row | None:
        """One object at a past instant; None if it did not exist, or is not remembered."""
        track = self._tracks.get(key)
        packed = None if track is None else track.at(at_ms)
        return None if packed is None else self._row(packed)

    def _row(self, packed: bytes) -> Row:
        values = self._decoder.decode(zlib.decompress(packed))
        return self._form(**dict(zip(self._names, values, strict=True)))

    def thin(self, kept: Sequence[int]) -> None:
        """Only these moments are remembered from now on, and they stay as they were.

        A row that began between two of them begins with the later one, if it still held then.
        """
        tracks: dict[Key, _Track] = {}
        size = 0
        for key, track in self._tracks.items():
            thinned = _thinned(track, kept)
            if thinned is not None:
                tracks[key] = thinned
                size += sum(OVERHEAD_BYTES + len(row or b"") for row in thinned.rows)
        self._tracks, self.size = tracks, size


def _thinned(track: _Track, kept: Sequence[int]) -> _Track | None:
    """The track at these moments alone; None if it was never there in any of them."""
    rows: dict[int, bytes | None] = {}
    for instant, row in zip(track.instants, track.rows, strict=True):
        place = bisect_left(kept, instant)
        if place < len(kept):
            rows[kept[place]] = row
    while rows and rows[first := next(iter(rows))] is None:
        del rows[first]  # what was not there before the first moment need not be remembered
    return _Track(list(rows), list(rows.values())) if rows else None
