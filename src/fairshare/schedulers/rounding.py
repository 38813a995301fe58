"""Owns the rounding of doubles to 32 bits, where Hadoop computes in Java's float."""

import math
import struct

_SINGLE = struct.Struct("f")


def single(value: float) -> float:
    """The nearest 32-bit float, as a double: `single(0.2) == 0.20000000298023224`."""
    if math.isinf(value) or math.isnan(value):
        return value
    rounded: float = _SINGLE.unpack(_SINGLE.pack(value))[0]
    return rounded
