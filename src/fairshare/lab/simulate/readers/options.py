"""The options of workload readers, and how they open files."""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

import msgspec

from fairshare.core.model.resources import ResourceTypes
from fairshare.documents.problems import Place, Problems
from fairshare.lab.simulate.traces.rows import DamagedLine, TraceUnreadable, lines_of

QueueSource = Literal["default", "queue", "group", "partition", "user"]


class ReaderOptions(msgspec.Struct, frozen=True):
    """The options for reading a workload.

    `queue_from` is the column of a trace that names the queue; with `default` the placement rules
    choose. `processors_per_task` divides the processors of a job into tasks.
    `memory_per_processor_mb` applies to jobs without a memory request in the trace.
    """

    types: ResourceTypes = ResourceTypes()
    queue_from: QueueSource = "default"
    processors_per_task: int = 1
    memory_per_processor_mb: int = 1024


MOST: Final = 1_000_000
"""The most equal nodes, applications or tasks that one entry of a workload describes."""


def read_lines(path: Path, problems: Problems) -> Iterator[tuple[int, str]]:
    """The numbered lines of a file as they are read, decompressed; a problem ends them."""
    try:
        yield from lines_of(path)
    except DamagedLine as error:
        problems.error(Place(str(path), error.line), "file", error.reason)
    except TraceUnreadable as error:
        problems.error(Place(str(path)), "file", str(error))


def read_text(path: Path, problems: Problems, mebibytes: int) -> str | None:
    """A file's text, decompressed if its name ends in `.gz`; None, with a problem reported, if it
    cannot be read, or is larger than so many MiB."""
    most = mebibytes * 2**20
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
            data = file.read(most + 1)
        if len(data) > most:
            problems.error(Place(str(path)), "file", f"is larger than {mebibytes:,} MiB")
            return None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        problems.error(Place(str(path)), "file", f"is not what gzip writes: {error}")
        return None
    except OSError as error:
        problems.error(Place(str(path)), "file", f"cannot be read: {error.strerror or error}")
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problems.error(Place(str(path), line), "file", "is not UTF-8 text")
        return None
