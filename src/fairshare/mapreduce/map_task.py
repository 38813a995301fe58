"""One attempt of a map: it reads its split, and writes partitions, or a part of the result.

Partitions are written as spills, each of which has a sorted run for each partition, and finally as
one merged file. A single spill is the result; otherwise spills are merged. With three or more of
them the combiner runs once more, as in Hadoop.
"""

import itertools
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from fairshare.mapreduce import counters as names
from fairshare.mapreduce import lines, pairs
from fairshare.mapreduce.commands import Command, environment_of
from fairshare.mapreduce.counters import SPILLED_RECORDS, Counters, Reporter
from fairshare.mapreduce.functions import Functions, line_of
from fairshare.mapreduce.inputs import chunks, is_compressed, line_lists
from fairshare.mapreduce.job import INDEX, RESULT, Job, Split
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


READ = 2 / 3
"""The progress of a map that has read all its input, as in Hadoop.

So a map that hangs with all its input in a pipe does not seem to be done.
"""


class MapTask:
    """One attempt in its directory."""

    def __init__(
        self, job: Job, split: Split, index: int, attempt: str, folder: Path, reporter: Reporter
    ) -> None:
        self._job = job
        self._split = split
        self._folder = folder
        self._reporter = reporter
        self._counters = reporter.counters
        self._environment = {
            **environment_of("map", index, attempt, job),
            "mapreduce_map_input_file": split.path,
            "mapreduce_map_input_start": str(split.start),
            "mapreduce_map_input_length": str(split.length),
        }

    def run(self, functions: Functions | None) -> None:
        """Run the attempt; raises TaskFailed, or what a function raises."""
        if functions is not None:
            os.environ.update(self._environment)
        if self._job.reduces:
            if functions is not None:
                self._map_functions(functions)
            else:
                self._map_command()
            return
        result = self._folder / RESULT
        with result.open("wb") as file:
            if functions is not None:
                for pair in self._pairs(functions):
                    file.write(line_of(pair) + b"\n")
            else:
                with self._command("mapper", self._job.mapper, self._input(), file) as command:
                    command.end()
        self._count_part(result)

    def _input(self) -> Iterator[bytes]:
        """The bytes of the split, which end with a line feed; counts them."""
        split, last = self._split, b"\n"
        records = done = 0
        for part in chunks(split):
            records += part.count(b"\n")
            done += len(part)
            last = part
            if split.length:
                self._reporter.progress(READ * done / split.length)
            yield part
        if not last.endswith(b"\n"):
            records += 1
            yield b"\n"
        read = split.length if is_compressed(split.path) else done
        self._counters.add(names.MAP_INPUT_RECORDS, records)
        self._counters.add(names.BYTES_READ, read, names.INPUT_FORMAT)

    # Commands.

    def _command(
        self, role: str, line: str, parts: Iterable[bytes], stdout: IO[bytes] | None = None
    ) -> Command:
        return Command(line, role, self._job, parts, self._reporter, self._environment, stdout)

    def _map_command(self) -> None:
        job = self._job
        combine = self._combine_lines if job.combiner else None
        spills = self._spills(lines.partition_of(job), combine)

        def spill(groups: Groups) -> None:
            for part in combine([(sorted(groups), groups)]) if combine else [groups]:
                spills.put(part)
                del part  # frees it before the next one is created

        buffer = lines.LineBuffer(job.sort_memory_bytes, lines.printed_form(job), spill)
        with self._command("mapper", job.mapper, self._input()) as command:
            buffer.collect(command.output())
            command.end()
        buffer.flush()
        self._counters.add(names.MAP_OUTPUT_BYTES, buffer.bytes)
        self._finish(spills, buffer.records)

    def _combine_lines(self, batches: Iterable[Batch]) -> Iterator[Groups]:
        """Run the combiner's command over lines in order; yields its lines in parts."""
        parts: list[Groups] = []
        form = lines.sent_form(self._job)
        buffer = lines.LineBuffer(self._job.sort_memory_bytes, form, parts.append)
        text = _counting(lines.written(batches), self._counters, names.COMBINE_INPUT_RECORDS)
        with self._command("combiner", self._job.combiner or "", text) as command:
            for _ in buffer.collecting(command.output()):
                while parts:
                    yield parts.pop(0)
            command.end()
        buffer.flush()
        self._counters.add(names.COMBINE_OUTPUT_RECORDS, buffer.records)
        while parts:
            yield parts.pop(0)

    # Functions.

    def _pairs(self, functions: Functions) -> Iterator[Any]:
        lists: Iterator[list[Any]] = line_lists(self._input())
        if not self._job.binary:
            lists = ([line.decode("utf-8", "surrogateescape") for line in some] for some in lists)
        records = itertools.chain.from_iterable(lists)
        return itertools.chain.from_iterable(map(functions.mapper, records))

    def _map_functions(self, functions: Functions) -> None:
        job = self._job
        combiner = None
        if functions.combiner is not None:
            combiner = pairs.Combiner(functions.combiner, job.sort_memory_bytes, self._counters)
        spills = self._spills(
            pairs.partition_of(job.reduces, functions.partitioner),
            combiner.combine if combiner else None,
        )
        buffer = pairs.PairBuffer(job.sort_memory_bytes, spills.put, combiner)
        buffer.collect(self._pairs(functions))
        buffer.flush()
        self._finish(spills, buffer.records)

    # Both.

    def _spills(self, partition: Callable[[bytes], int], combine: Combine | None) -> Spills:
        job = self._job
        return Spills(
            self._folder, job.reduces, partition, job.merge_factor, self._counters, combine
        )

    def _finish(self, spills: Spills, records: int) -> None:
        size = spills.finish(self._folder / RESULT, self._folder / INDEX)
        self._counters.add(names.MAP_OUTPUT_RECORDS, records)
        self._counters.add(names.MATERIALIZED_BYTES, size)

    def _count_part(self, result: Path) -> None:
        records, size = measured(result)
        self._counters.add(names.MAP_OUTPUT_RECORDS, records)
        self._counters.add(names.BYTES_WRITTEN, size, names.OUTPUT_FORMAT)


def measured(path: Path) -> tuple[int, int]:
    """The lines and the bytes of a file; a last line without its line feed counts too."""
    records = size = 0
    last = b"\n"
    with path.open("rb", buffering=0) as file:
        while part := file.read(1 << 18):
            records += part.count(b"\n")
            size += len(part)
            last = part
    return records + (not last.endswith(b"\n")), size


def _counting(parts: Iterable[bytes], counters: names.Counters, name: str) -> Iterator[bytes]:
    for part in parts:
        counters.add(name, part.count(b"\n"))
        yield part
