"""Owns intermediate merges of runs, which limit how many runs a merge reads at once."""

from pathlib import Path

from fairshare.mapreduce.counters import SPILLED_RECORDS, Counters
from fairshare.mapreduce.runs import RunWriter, Segment, merged, records_of


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
