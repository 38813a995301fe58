"""Owns the limit on a container's output: the beginning and the end of each stream are kept.

The bytes in between are freed on disk while the container continues to write. The file keeps its
length, so that offsets stay valid; `stdout.dropped` beside `stdout.log` names the removed range.
Must stay light: supervisors use it.
"""

import ctypes
import json
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from fairshare.engines.local.directories import write_atomically

_LIBC = ctypes.CDLL(None, use_errno=True)
_KEEP_SIZE = 1
_PUNCH_HOLE = 2
_BLOCK_BYTES = 4096
_MEBIBYTE = 1024 * 1024

_CALM_S = 1.0
_HURRIED_S = 0.1
"""Between two checks: a container that prints a quarter of its limit in one interval is checked
more often."""


class Kept:
    """One stream. A quarter of `limit_bytes` is for its beginning, the rest for its end.

    Up to a 32nd more may be kept, since the excess is removed in pieces.
    """

    def __init__(self, path: Path, limit_bytes: int) -> None:
        self._path = path
        self._limit_bytes = limit_bytes
        self._head_bytes = max(_BLOCK_BYTES, limit_bytes // 4 // _BLOCK_BYTES * _BLOCK_BYTES)
        self._tail_bytes = max(0, limit_bytes - self._head_bytes)
        self._slack_bytes = limit_bytes // 32
        self._size = 0
        self.dropped_to = self._head_bytes

    def look(self) -> bool:
        """Remove the excess; returns whether much was written since the last call. Raises OSError.

        With a limit of 100 MB, the first 25 and the last 75 of 200 MB are kept.
        """
        try:
            size = os.lstat(self._path).st_size
        except FileNotFoundError:
            return False
        grown, self._size = size - self._size, size
        kept_bytes = self._head_bytes + size - self.dropped_to
        if kept_bytes > self._limit_bytes + self._slack_bytes:
            self._drop((size - self._tail_bytes) // _BLOCK_BYTES * _BLOCK_BYTES)
        return grown > self._limit_bytes // 4

    @property
    def dropped_bytes(self) -> int:
        """The number of removed bytes."""
        return self.dropped_to - self._head_bytes

    def _drop(self, end: int) -> None:
        # The range is written first, so that a reader never takes the gap for output.
        said = {"from": self._head_bytes, "to": end}
        write_atomically(self._path.with_suffix(".dropped"), json.dumps(said).encode())
        descriptor = os.open(self._path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                _punch(descriptor, self.dropped_to, end - self.dropped_to)
        finally:
            os.close(descriptor)
        self.dropped_to = end


def cannot_leave_out(limit_bytes: int, failure: int) -> str:
    """Why a container that printed more than its limit was ended; `failure` is an errno."""
    return (
        f"killed: it printed more than {limit_bytes // _MEBIBYTE} MB, and nothing can be left out "
        f"of a file here: {os.strerror(failure)}"
    )


def left_out(dropped: Sequence[int], limit_bytes: int) -> str:
    """The message about the bytes removed from stdout and stderr; empty if both are complete."""
    return "; ".join(
        f"{name}: {dropped_bytes:,} bytes in the middle were left out (the limit is"
        f" {limit_bytes // _MEBIBYTE} MB)"
        for name, dropped_bytes in zip(("stdout", "stderr"), dropped, strict=False)
        if dropped_bytes
    )


class LogLimit:
    """Both streams of a container. `limit_bytes` 0: no limit."""

    def __init__(self, paths: tuple[Path, ...], limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._streams = [Kept(path, limit_bytes) for path in paths] if limit_bytes else []
        self.failure = 0  # the errno of what `look` could not do
        self.look_at: float | None = 0.0 if limit_bytes else None

    def look(self, now: float) -> str:
        """Remove the excess, if a check is due. Returns why the container must end if that fails;
        otherwise empty."""
        if self.look_at is None or now < self.look_at:
            return ""
        try:
            hurried = [stream.look() for stream in self._streams]
        except OSError as error:
            self.look_at = None
            self.failure = error.errno or 0
            return cannot_leave_out(self._limit_bytes, self.failure)
        self.look_at = now + (_HURRIED_S if any(hurried) else _CALM_S)
        return ""

    @property
    def dropped(self) -> tuple[int, ...]:
        """The number of bytes removed from each stream."""
        return tuple(stream.dropped_bytes for stream in self._streams)


def _punch(descriptor: int, offset: int, length: int) -> None:
    mode = _KEEP_SIZE | _PUNCH_HOLE
    where = ctypes.c_longlong(offset), ctypes.c_longlong(length)
    if length > 0 and _LIBC.fallocate(descriptor, mode, *where) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
