"""A file of aggregated logs, as `yarn logs` reads it: a TFile without compression, whose records
are the containers of one node.

Source: Hadoop 3.4.1, AggregatedLogFormat, and io.file.tfile: TFile, BCFile, Chunk, Utils.
"""

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

_MAGIC: Final = bytes.fromhex("d111d36891b5d7b639df414092bae150")
_VERSION: Final = struct.pack(">hh", 1, 0)
_BLOCK_BYTES: Final = 256 * 1024
_CHUNK_BYTES: Final = 1024 * 1024


class LogPart(NamedTuple):
    """One log of a container; `pieces` have `size` bytes together."""

    name: str
    size: int
    pieces: Iterable[bytes]


class LogFile:
    """Such a file, whose bytes `write` gets in their order.

    `acls` are users and groups by the name of the access: VIEW_APP, MODIFY_APP. After the last
    container, `close` makes it complete.
    """

    def __init__(
        self, write: Callable[[bytes], object], user: str, acls: Mapping[str, str]
    ) -> None:
        self._write = write
        self._at = 0
        self._put(_MAGIC)
        self._block_at = self._at
        self._records = self._records_of_block = 0
        self._first_key = self._last_key = b""
        self._blocks: list[bytes] = []
        self._ends: list[bytes] = []  # the last key, and the number of records, of each block
        self._add("VERSION", struct.pack(">i", 1))
        self._add("APPLICATION_ACL", b"".join(_utf(word) for pair in acls.items() for word in pair))
        self._add("APPLICATION_OWNER", _utf(user))

    def add(self, container: str, parts: Iterable[LogPart]) -> None:
        """Add the logs of a container."""
        self._put_key(container)
        held = b""
        for piece in _content(parts):
            held += piece
            if len(held) >= _CHUNK_BYTES:
                self._put(_number(-len(held)) + held)
                held = b""
        self._put(_sized(held))
        self._end_record()

    def close(self) -> None:
        """Write what is behind the records."""
        if self._records_of_block:
            self._end_block()
        contents = {
            "TFile.meta": _VERSION + _number(self._records) + _text(""),
            "TFile.index": _sized(_sized(self._first_key)) + b"".join(map(_sized, self._ends)),
            "BCFile.index": _text("none") + _number(len(self._blocks)) + b"".join(self._blocks),
        }
        regions = {}
        for name, content in contents.items():
            regions[name] = _region(self._at, len(content))
            self._put(content)
        end = self._at
        self._put(_number(len(regions)))
        for name, region in sorted(regions.items()):
            self._put(_text(f"data:{name}") + _text("none") + region)
        self._put(struct.pack(">q", end) + _VERSION + _MAGIC)

    def _put(self, content: bytes) -> None:
        self._write(content)
        self._at += len(content)

    def _add(self, name: str, value: bytes) -> None:
        self._put_key(name)
        self._put(_sized(value))
        self._end_record()

    def _put_key(self, name: str) -> None:
        self._last_key = _utf(name)
        self._first_key = self._first_key or self._last_key
        self._put(_sized(self._last_key))

    def _end_record(self) -> None:
        self._records += 1
        self._records_of_block += 1
        if self._at - self._block_at >= _BLOCK_BYTES:
            self._end_block()

    def _end_block(self) -> None:
        self._blocks.append(_region(self._block_at, self._at - self._block_at))
        self._ends.append(_sized(self._last_key) + _number(self._records_of_block))
        self._block_at, self._records_of_block = self._at, 0


def _content(parts: Iterable[LogPart]) -> Iterator[bytes]:
    for part in parts:
        yield _utf(part.name) + _utf(str(part.size))
        yield from part.pieces


def _utf(text: str) -> bytes:
    """As DataOutputStream.writeUTF, for texts without NUL and of the basic plane."""
    content = text.encode(errors="replace")
    return struct.pack(">H", len(content)) + content


def _text(text: str) -> bytes:
    return _sized(text.encode())


def _sized(content: bytes) -> bytes:
    return _number(len(content)) + content


def _region(at: int, size: int) -> bytes:
    return _number(at) + 2 * _number(size)


_SHORT: Final = ((2, 20, 52), (3, 16, 88), (4, 8, 112))
"""The forms of 2 to 4 bytes: the first byte, without its offset, is less than a bound."""


def _number(value: int) -> bytes:
    """Utils.writeVLong: one byte from -32 to 127, else 2 to 9.

    >>> [_number(one).hex() for one in (127, 128, -33, 5_000, 6_000, 2**27 - 1, 2**27)]
    ['7f', 'cc80', 'cbdf', 'df88', 'a81770', '97ffffff', '8308000000']
    """
    if -32 <= value < 128:
        return value.to_bytes(1, signed=True)
    for size, bound, offset in _SHORT:
        first, rest = value >> 8 * (size - 1), value & (1 << 8 * (size - 1)) - 1
        if -bound <= first < bound:
            return (first - offset).to_bytes(1, signed=True) + rest.to_bytes(size - 1)
    size = (value if value >= 0 else ~value).bit_length() // 8 + 1
    return (size - 129).to_bytes(1, signed=True) + value.to_bytes(size, signed=True)
