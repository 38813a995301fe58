"""The output of one map on disk: the spills, and finally one merged file.

Each spill has a sorted run for each partition. A single spill is the result; otherwise spills are
merged. With three or more of them the combiner runs once more, as in Hadoop.
"""

import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from fairshare.mapreduce.counters import SPILLED_RECORDS, Counters
from fairshare.mapreduce.runs import (
    Batch,
    Groups,
    Merger,
    RunWriter,
    Segment,
    merged,
    records_of,
    write_index,
)

COMBINE_SPILLS = 3
"""Hadoop's mapreduce.map.combine.minspills."""

Combine = Callable[[Iterable[Batch]], Iterator[Groups]]
"""Runs a combiner over batches in order; yields unordered parts."""


class Spills:
    """The spills of one attempt in its directory.

    `partition` returns, for the key of a record, one of `partitions`.
    """

    def __init__(
        self,
        folder: Path,
        partitions: int,
        partition: Callable[[bytes], int],
        merge_factor: int,
        counters: Counters,
        combine: Combine | None = None,
    ) -> None:
        self._folder = folder
        self._partitions = partitions
        self._partition = partition
        self._factor = merge_factor
        self._counters = counters
        self._combine = combine
        self._runs: list[list[Segment]] = []
        self._paths: list[Path] = []

    def put(self, groups: Groups) -> None:
        """Write records to a spill; keeps no reference to them."""
        path = self._folder / f"spill-{len(self._paths)}"
        with RunWriter(path) as writer:
            for keys in self._divided(sorted(groups)):
                writer.write(keys, groups)
                writer.end_partition()
        self._counters.add(SPILLED_RECORDS, records_of(groups))
        self._paths.append(path)
        self._runs.append(writer.segments)

    def _divided(self, keys: list[bytes]) -> list[list[bytes]]:
        if self._partitions == 1:
            return [keys]
        parts: list[list[bytes]] = [[] for _ in range(self._partitions)]
        partition = self._partition
        for key in keys:
            parts[partition(key)].append(key)
        return parts

    def finish(self, result: Path, index: Path) -> int:
        """Create the merged file and its index; returns its size in bytes."""
        if not self._paths:
            self.put({})
        if len(self._paths) == 1:
            segments = self._runs[0]
            self._paths[0].replace(result)
        else:
            segments = self._merged(result)
            for path in self._paths:
                path.unlink()
        write_index(index, segments)
        return result.stat().st_size

    def _merged(self, result: Path) -> list[Segment]:
        records = 0
        with RunWriter(result) as writer:
            for number in range(self._partitions):
                for keys, groups in merged(self._final(number)):
                    writer.write(keys, groups)
                    records += records_of(groups)
                writer.end_partition()
                shutil.rmtree(self._merges(number))
        self._counters.add(SPILLED_RECORDS, records)
        return writer.segments

    def _merges(self, number: int) -> Path:
        return self._folder / f"merges-{number}"

    def _final(self, number: int) -> list[Segment]:
        """The runs of a partition, combined if there are enough, and few enough for one merge."""
        folder = self._merges(number)
        folder.mkdir()
        merger = Merger(folder, self._factor, self._counters)
        for segments in self._runs:
            merger.add(segments[number])
        final = merger.final()
        if self._combine is not None and len(self._paths) >= COMBINE_SPILLS:
            return self._recombined(self._combine(merged(final)), folder)
        return final

    def _recombined(self, parts: Iterable[Groups], folder: Path) -> list[Segment]:
        """The runs of a combiner's output for a whole partition, few enough for one merge."""
        merger = Merger(folder, self._factor, self._counters)
        segments: list[Segment] = []
        for groups in parts:
            with RunWriter(folder / f"combined-{len(segments)}") as writer:
                writer.write(sorted(groups), groups)
                segments.append(writer.end_partition())
            self._counters.add(SPILLED_RECORDS, records_of(groups))
            # Frees this part before the generator creates the next one. (`enumerate` would keep a
            # reference, too.)
            del groups
        for segment in segments:
            merger.add(segment)
        return merger.final()
