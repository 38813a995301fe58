"""A job's input: the selection of its files, their division into splits, and the records of one.

A path is a file, a directory (all files in it; with `recursive` all files below it), or a pattern
with `*`, `?` and `[...]`. An existing path is taken literally, even with these characters. As in
Hadoop, directories and patterns skip files whose names start with `_` or `.`.

The size of a split is max(least, min(goal, size)), where the goal is the size of all input divided
by the requested number of maps. A file's last split may be a tenth larger, so that no split is
tiny. With a size of 64 MB, 134 MB become 64 + 70 (Hadoop's FileInputFormat).

A record is a line, which ends with a line feed; the last one may end with the file. A split that
starts within a file skips all bytes up to its first line feed, and continues to the first line feed
at or after its end, as in Hadoop's LineRecordReader. So, with f(x) the position after the first
line feed at or after x and f(0) = 0, the split [s, e) has the bytes from f(s) to f(e), and the
splits of a file cover it exactly, for any boundaries.

    "ab\\ncd\\nef\\n" in [0, 4), [4, 9):  "ab\\ncd\\n" and "ef\\n"

Nothing is decoded: records are bytes.
"""

import bz2
import glob
import gzip
import lzma
import os
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator
from io import BufferedIOBase
from pathlib import Path

from fairshare.mapreduce.job import Split, TaskFailed

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


CHUNK_BYTES = 1 << 18

OPENERS: dict[str, Callable[[str], BufferedIOBase]] = {
    ".gz": gzip.GzipFile,
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
}
"""The functions that open compressed files, by suffix. Compressed files are never divided."""


def is_compressed(path: str) -> bool:
    """Whether a file is compressed, so that it cannot be divided."""
    return Path(path).suffix in OPENERS


def chunks(split: Split, size: int = CHUNK_BYTES) -> Iterator[bytes]:
    """The bytes of a split's records, in parts with arbitrary boundaries. Raises TaskFailed."""
    try:
        if is_compressed(split.path):
            yield from _decompressed(split.path, size)
        else:
            yield from _divided(split, size)
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise TaskFailed(f"cannot decompress the input {split.path!r}: {error}") from error
    except OSError as error:
        reason = error.strerror or error
        raise TaskFailed(f"cannot read the input {split.path!r}: {reason}") from error


def _decompressed(path: str, size: int) -> Iterator[bytes]:
    with OPENERS[Path(path).suffix](path) as file:
        while chunk := file.read(size):
            yield chunk


def _divided(split: Split, size: int) -> Iterator[bytes]:
    with open(split.path, "rb", buffering=0) as file:  # noqa: PTH123 - hot, and a plain string
        position = split.start
        end = split.start + split.length
        file.seek(position)
        skipping = position > 0
        while chunk := file.read(size):
            begin = 0
            if skipping:
                begin = chunk.find(b"\n") + 1
                if not begin:
                    position += len(chunk)
                    continue
                if position + begin > end:  # no record starts before the end
                    return
                skipping = False
            if position + len(chunk) > end:
                # The last record contains the byte at `end`, and ends after it.
                last = chunk.find(b"\n", max(begin, end - position)) + 1
                if last:
                    yield chunk[begin:last]
                    return
            if begin < len(chunk):
                yield chunk[begin:] if begin else chunk
            position += len(chunk)


def line_lists(parts: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Lists of whole lines, without line feeds, from parts with arbitrary boundaries.

    >>> list(line_lists([b"a\\nb", b"c\\n\\nd"]))
    [[b'a'], [b'bc', b''], [b'd']]
    """
    begun: list[bytes] = []
    for part in parts:
        lines = part.split(b"\n")
        if len(lines) == 1:
            begun.append(part)
            continue
        if begun:
            begun.append(lines[0])
            lines[0] = b"".join(begun)
        rest = lines.pop()
        begun = [rest] if rest else []
        yield lines
    last = b"".join(begun)
    if last:
        yield [last]
