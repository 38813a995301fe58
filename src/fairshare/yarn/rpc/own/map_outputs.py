"""The outputs of maps on this machine, as MapReduce and Tez write them: `file.out` with the parts
of all reduces one behind the other, and their places in `file.out.index`.

An application's account owns the directory, and all in it is opened with that account's rights.
Source: Hadoop 3.4.1, mapred.SpillRecord, mapred.IndexCache.
"""

import os
import stat
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from fairshare.engines.rights import Rights, acting_as
from fairshare.wording import cause
from fairshare.yarn.rpc.wire.tokens import write_vint

FOLDER = "output"
FILE, INDEX = "file.out", "file.out.index"
MOST_INDEX_BYTES = 64 * 1024 * 1024
"""An index of 2.8 million reduces."""

_RECORD = struct.Struct(">qqq")
_CHECKSUM = struct.Struct(">q")


class MissingOutput(Exception):
    """A map has no output for a reduce. The message says why, in Hadoop's words."""


class Part(NamedTuple):
    """What one map wrote for one reduce: `length` bytes from `start` of its file, `raw_length` of
    them when they are decompressed and decrypted."""

    map_name: str
    reduce: int
    start: int
    length: int
    raw_length: int

    @property
    def header(self) -> bytes:
        """What is sent in front of these bytes (Hadoop: ShuffleHeader)."""
        name = self.map_name.encode()
        numbers = (self.length, self.raw_length, self.reduce)
        return write_vint(len(name)) + name + b"".join(map(write_vint, numbers))


class MapOutputs:
    """The outputs of one application, below its local directory. `name` is what messages call that
    directory. Methods wait for the disk; they raise MissingOutput."""

    def __init__(self, directory: Path, name: str) -> None:
        self._directory = directory
        self._name = name

    def part(self, map_name: str, reduce: int) -> Part:
        """The place of a part, whose file is there and can be opened."""
        with self._opened(map_name, INDEX) as descriptor:
            size = os.fstat(descriptor).st_size
            content = os.pread(descriptor, min(size, MOST_INDEX_BYTES), 0)
        count, rest = divmod(len(content) - _CHECKSUM.size, _RECORD.size)
        if rest or count < 0:
            raise MissingOutput(f"Error Reading IndexFile: {self._path(map_name, INDEX)} is cut")
        (checksum,) = _CHECKSUM.unpack_from(content, count * _RECORD.size)
        if zlib.crc32(content[: -_CHECKSUM.size]) != checksum:
            raise MissingOutput(
                "Error Reading IndexFileChecksum error reading spill index: "
                + self._path(map_name, INDEX)
            )
        if reduce >= count:
            raise MissingOutput(
                f"Invalid request  Map Id = {map_name} Reducer = {reduce}"
                f" Index Info Length = {count}"
            )
        if reduce < 0:
            raise MissingOutput("")
        start, raw_length, length = _RECORD.unpack_from(content, reduce * _RECORD.size)
        if start < 0 or length < 0:
            raise MissingOutput(
                f"Error Reading IndexFile: {self._path(map_name, INDEX)} has a negative number"
            )
        with self._opened(map_name, FILE):
            return Part(map_name, reduce, start, length, raw_length)

    @contextmanager
    def file(self, map_name: str) -> Iterator[int]:
        """The file of a map, open as a descriptor."""
        with self._opened(map_name, FILE) as descriptor:
            yield descriptor

    def _path(self, map_name: str, file: str) -> str:
        return f"{self._name}/{FOLDER}/{map_name}/{file}"

    @contextmanager
    def _opened(self, map_name: str, file: str) -> Iterator[int]:
        descriptor = self._open(map_name, file)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def _open(self, map_name: str, file: str) -> int:
        missing = f"Could not find {self._path(map_name, file)} in any of the directories"
        if "/" in map_name or "\0" in map_name or map_name in ("", ".", ".."):
            raise MissingOutput(missing)
        try:
            with acting_as(Rights.of_owner(self._directory.lstat())):
                descriptor = os.open(
                    self._directory / FOLDER / map_name / file,
                    os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC,
                )
        except (FileNotFoundError, NotADirectoryError):
            raise MissingOutput(missing) from None
        except OSError as error:
            raise MissingOutput(f"{self._path(map_name, file)}: {cause(error)}") from error
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise MissingOutput(f"{self._path(map_name, file)} is not a regular file")
        return descriptor
