"""One attempt of a reduce: it reads its partition of every map, and writes a part.

It may start before all maps are done: it polls for committed maps, and merges meanwhile.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path

from fairshare.mapreduce import counters as names
from fairshare.mapreduce import lines
from fairshare.mapreduce.commands import Command, environment_of
from fairshare.mapreduce.counters import Reporter
from fairshare.mapreduce.functions import Functions, line_of
from fairshare.mapreduce.job import INDEX, MAP, RESULT, Job, Layout
from fairshare.mapreduce.map_task import measured
from fairshare.mapreduce.pairs import grouped
from fairshare.mapreduce.runs import Batch, Merger, Segment, merged, read_index, records_of

PACE_S = 0.1
"""The interval at which a reduce polls for committed maps."""

FETCHED = 1 / 3
"""The progress of a reduce that has all its input, as in Hadoop."""


class ReduceTask:
    """One attempt in its directory."""

    def __init__(
        self, job: Job, index: int, attempt: str, layout: Layout, folder: Path, reporter: Reporter
    ) -> None:
        self._job = job
        self._index = index
        self._layout = layout
        self._folder = folder
        self._reporter = reporter
        self._counters = reporter.counters
        self._environment = environment_of("reduce", index, attempt, job)

    def run(self, functions: Functions | None) -> None:
        """Run the attempt; raises TaskFailed, or what a function raises."""
        batches = self._batches(self._fetch())
        result = self._folder / RESULT
        if functions is not None:
            os.environ.update(self._environment)
            self._reduce_functions(functions, batches, result)
        else:
            self._reduce_command(batches, result)
        records, size = measured(result)
        self._counters.add(names.REDUCE_OUTPUT_RECORDS, records)
        self._counters.add(names.BYTES_WRITTEN, size, names.OUTPUT_FORMAT)

    def _fetch(self) -> list[Segment]:
        """The runs of this partition of all maps, few enough for one merge."""
        merger = Merger(self._folder, self._job.merge_factor, self._counters)
        missing = list(range(self._job.maps))
        while missing:
            later = []
            for number in missing:
                folder = self._layout.task(MAP, number)
                if not folder.exists():
                    later.append(number)
                    continue
                segment = read_index(folder / INDEX, folder / RESULT, self._index)
                self._counters.add(names.SHUFFLED_MAPS, 1)
                self._counters.add(names.SHUFFLE_BYTES, segment.length)
                self._counters.add(names.MERGED_OUTPUTS, bool(segment.length))
                merger.add(segment)
                merger.relieve()
            missing = later
            self._reporter.progress(FETCHED * (1 - len(missing) / max(1, self._job.maps)))
            if missing:
                time.sleep(PACE_S)
        return merger.final()

    def _batches(self, segments: list[Segment]) -> Iterator[Batch]:
        """The records to reduce; counts them while they are read."""
        key_of = lines.key_of(self._job)
        pairs = self._job.functions
        total = sum(segment.length for segment in segments) or 1
        records = done = seen = 0
        last: bytes | None = None
        for keys, groups in merged(segments):
            for key in keys:
                own = key if pairs else key_of(key)
                if own != last:
                    seen += 1
                    last = own
            records += records_of(groups)
            done += sum(map(len, keys))  # less than was read: never too much progress
            self._reporter.progress(FETCHED + (1 - FETCHED) * done / total)
            yield keys, groups
        self._counters.add(names.REDUCE_INPUT_RECORDS, records)
        self._counters.add(names.REDUCE_INPUT_GROUPS, seen)

    def _reduce_command(self, batches: Iterator[Batch], result: Path) -> None:
        with result.open("wb") as file:
            command = Command(
                self._job.reducer or "cat",
                "reducer",
                self._job,
                lines.written(batches),
                self._reporter,
                self._environment,
                stdout=file,
            )
            with command:
                command.end()

    def _reduce_functions(
        self, functions: Functions, batches: Iterator[Batch], result: Path
    ) -> None:
        with result.open("wb") as file:
            for key, values in grouped(batches):
                if functions.reducer is None:
                    for value in values:
                        file.write(line_of((key, value)) + b"\n")
                else:
                    for line in functions.reducer(key, values):
                        file.write(line_of(line) + b"\n")
