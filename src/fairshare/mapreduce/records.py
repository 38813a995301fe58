"""The reading of splits: the records of a split, and compressed files.

A record is a line, which ends with a line feed; the last one may end with the file. A split that
starts within a file skips all bytes up to its first line feed, and continues to the first line feed
at or after its end, as in Hadoop's LineRecordReader. So, with f(x) the position after the first
line feed at or after x and f(0) = 0, the split [s, e) has the bytes from f(s) to f(e), and the
splits of a file cover it exactly, for any boundaries.

    "ab\\ncd\\nef\\n" in [0, 4), [4, 9):  "ab\\ncd\\n" and "ef\\n"

Nothing is decoded: records are bytes.
"""

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterable, Iterator
from io import BufferedIOBase
from pathlib import Path

from fairshare.mapreduce.job import Split, TaskFailed

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
