"""Owns what all readers of workloads are told, and how they open files."""

import gzip
import zlib
from pathlib import Path
from typing import Literal

import msgspec

from fairshare.config.problems import Place, Problems
from fairshare.model.resources import ResourceTypes

QueueSource = Literal["default", "queue", "group", "partition", "user"]


class ReaderOptions(msgspec.Struct, frozen=True):
    """What the reading depends on besides the file.

    `queue_from` says which column of a trace names the queue; `default` leaves the choice to the
    placement rules. `processors_per_task` divides a job that wants many processors into tasks.
    `memory_per_processor_mb` is taken where a trace does not say how much memory a job needs.
    """

    types: ResourceTypes = ResourceTypes()
    queue_from: QueueSource = "default"
    processors_per_task: int = 1
    memory_per_processor_mb: int = 1024


def read_text(path: Path, problems: Problems) -> str | None:
    """A file's text, unpacked if its name ends in `.gz`; None if it cannot be read (reported)."""
    try:
        data = path.read_bytes()
        if path.suffix.lower() == ".gz":
            data = gzip.decompress(data)
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
