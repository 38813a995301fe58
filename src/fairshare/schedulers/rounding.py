"""Owns the rounding of doubles to 32 bits, where Hadoop computes with Java's float."""

import struct

_SINGLE = struct.Struct("f")
pack, unpack = _SINGLE.pack, _SINGLE.unpack
"""For the hottest code, where a call of `single` costs as much as the rounding."""


def single(value: float) -> float:
    """The nearest 32-bit float, as a double: `single(0.2) == 0.20000000298023224`.

    Infinity and NaN are returned unchanged.
    """
    rounded: float = unpack(pack(value))[0]
    return rounded
