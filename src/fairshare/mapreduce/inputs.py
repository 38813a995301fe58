"""The selection of a job's input files, and their division into splits. Does not read them.

A path is a file, a directory (all files in it; with `recursive` all files below it), or a pattern
with `*`, `?` and `[...]`. An existing path is taken literally, even with these characters. As in
Hadoop, directories and patterns skip files whose names start with `_` or `.`.

The size of a split is max(least, min(goal, size)), where the goal is the size of all input divided
by the requested number of maps. A file's last split may be a tenth larger, so that no split is
tiny. With a size of 64 MB, 134 MB become 64 + 70 (Hadoop's FileInputFormat).
"""

import glob
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from fairshare.mapreduce.job import Split
from fairshare.mapreduce.records import is_compressed

SPLIT_BYTES = 128 << 20
"""The default size of a split: the block size of Hadoop's file system."""

SLOP = 1.1


def find_files(
    paths: Iterable[str], *, recursive: bool = False
) -> tuple[list[tuple[str, int]], list[str]]:
    """All input files with their sizes, in the order of the paths and then of the names.

    A file that is named twice is read twice. The second list has the problems, one sentence each.
    """
    files: list[tuple[str, int]] = []
    problems: list[str] = []
    for path in paths:
        for file in _matching(path, problems):
            _add(file, files, problems, recursive=recursive)
    return files, problems


def _matching(path: str, problems: list[str]) -> list[str]:
    if os.path.lexists(path):
        return [path]
    if glob.has_magic(path):
        names = sorted(name for name in glob.glob(path) if not _hidden(name))  # noqa: PTH207
        if not names:
            problems.append(f"input pattern {path!r} matches no file")
        return names
    problems.append(f"input path {path!r} does not exist")
    return []


def _add(path: str, found: list[tuple[str, int]], problems: list[str], *, recursive: bool) -> None:
    try:
        status = Path(path).stat()
        if stat.S_ISREG(status.st_mode):
            if os.access(path, os.R_OK):
                found.append((os.path.abspath(path), status.st_size))  # noqa: PTH100
            else:
                problems.append(f"input file {path!r} may not be read by you")
            return
        if not stat.S_ISDIR(status.st_mode):
            problems.append(f"input {path!r} is neither a file nor a directory")
            return
        for name in sorted(entry.name for entry in Path(path).iterdir()):
            inner = os.path.join(path, name)  # noqa: PTH118
            if _hidden(name):
                continue
            if Path(inner).is_dir() and not recursive:
                problems.append(
                    f"input directory {path!r} has a directory {name!r} in it: take --recursive to"
                    " read what is below, or name the files"
                )
                continue
            _add(inner, found, problems, recursive=recursive)
    except OSError as error:
        problems.append(f"input {path!r} cannot be looked at: {error.strerror}")


def _hidden(path: str) -> bool:
    return os.path.basename(path).startswith(("_", "."))  # noqa: PTH119


def splits_of(
    files: Iterable[tuple[str, int]],
    *,
    maps: int = 1,
    split_bytes: int = SPLIT_BYTES,
) -> list[Split]:
    """The splits of files, given with their sizes; the largest first, as in Hadoop.

    An empty file has one empty split. A compressed file is never divided.

    >>> [split.length for split in splits_of([("a", 134), ("b", 10)], split_bytes=64)]
    [70, 64, 10]
    """
    files = list(files)
    goal = sum(size for _, size in files) // max(1, maps)
    size_bytes = max(1, min(goal, split_bytes))
    splits: list[Split] = []
    for path, size in files:
        start = 0
        if not is_compressed(path):
            while (size - start) / size_bytes > SLOP:
                splits.append(Split(path, start, size_bytes))
                start += size_bytes
        if start < size or not size:
            splits.append(Split(path, start, size - start))
    return sorted(splits, key=lambda split: -split.length)
