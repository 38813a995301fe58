"""Owns the rounding of doubles to 32 bits, where Hadoop computes with Java's float."""

import struct

_SINGLE = struct.Struct("f")
pack, unpack = _SINGLE.pack, _SINGLE.unpack
"""For hot code, where a call of `single` costs as much as the rounding."""

SPLIT = float(2**29 + 1)
"""For the hottest code: with `high = value * SPLIT`, `high - (high - value)` is `single(value)` for
0 and for magnitudes from 2**-126 up to 2**127, without a call (Veltkamp's splitting of 53 bits into
29 and 24; ties go to even)."""


def single(value: float) -> float:
    """The nearest 32-bit float, as a double: `single(0.2) == 0.20000000298023224`.

    Infinity and NaN are returned unchanged.
    """
    rounded: float = unpack(pack(value))[0]
    return rounded
