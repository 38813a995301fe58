"""Owns the order of jobs: by arrival, whatever the order of their file. Knows no format."""

import heapq
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import IO, Final

import msgspec

from fairshare.simulate.traces.records import TraceJob
from fairshare.simulate.traces.rows import TraceUnreadable
from fairshare.wording import cause

IN_MEMORY: Final = 200_000
"""How many jobs are sorted in memory; more are sorted in parts of so many, in temporary files."""

_Arrival = tuple[float, TraceJob]


def in_order(jobs: Iterable[_Arrival]) -> Iterator[TraceJob]:
    """Jobs with the seconds of their arrival, sorted, with times since the first one."""
    with ExitStack() as files:
        parts: list[Iterator[_Arrival]] = []
        part: list[_Arrival] = []
        for arrival in jobs:
            part.append(arrival)
            if len(part) >= IN_MEMORY:
                file = files.enter_context(_file())
                parts.append(_written(sorted(part, key=_key), file))
                part = []
        parts.append(iter(sorted(part, key=_key)))
        first_s: float | None = None
        for at_s, job in heapq.merge(*parts, key=_key):
            first_s = at_s if first_s is None else first_s
            yield msgspec.structs.replace(job, at_ms=round((at_s - first_s) * 1000))


def _file() -> IO[bytes]:
    try:
        return tempfile.TemporaryFile()
    except OSError as error:
        raise TraceUnreadable(_no_room(error)) from error


def _no_room(error: OSError) -> str:
    return (
        f"cannot sort the jobs of the trace in a temporary file: {cause(error)}; set TMPDIR to a"
        " directory with room"
    )


def _key(arrival: _Arrival) -> tuple[float, int]:
    return arrival[0], arrival[1].line


def _written(part: list[_Arrival], file: IO[bytes]) -> Iterator[_Arrival]:
    """Write a sorted part; returns what reads it again. Each job follows its length."""
    encode = msgspec.msgpack.Encoder().encode
    try:
        for arrival in part:
            encoded = encode(arrival)
            file.write(len(encoded).to_bytes(4, "big") + encoded)
        file.seek(0)
    except OSError as error:
        raise TraceUnreadable(_no_room(error)) from error
    return _read(file)


def _read(file: IO[bytes]) -> Iterator[_Arrival]:
    decode = msgspec.msgpack.Decoder(_Arrival).decode
    while length := file.read(4):
        yield decode(file.read(int.from_bytes(length, "big")))
