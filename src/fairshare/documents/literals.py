"""How Hadoop reads numbers and words from text, for the files that are Hadoop's.

What is written in our own files follows `fairshare.documents`.

Each function takes the text as it is in a file and raises ValueError with a message that can follow
the text: `'two' is not a whole number`. Blanks are Java's: all characters up to U+0020.
"""

import math
import re
import struct
from typing import Final

BLANKS = "".join(map(chr, range(0x21)))
"""What Java trims."""

_WHOLE = re.compile(r"[+-]?[0-9]+")
_HEXADECIMAL = re.compile(r"(-?)0[xX]([0-9a-fA-F]+)")
_DECIMAL = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?")
_DURATION = re.compile(r"([+-]?[0-9]+)\s*(ns|us|ms|s|m|h|d)?", re.ASCII)

_NANOSECONDS: Final = {
    "ns": 1,
    "us": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
    "d": 86400 * 10**9,
}


def trim(text: str) -> str:
    """The text without Java's blanks around it."""
    return text.strip(BLANKS)


def integer(text: str) -> int:
    """A whole number of 32 bits."""
    return _whole(text, 32)


def long(text: str) -> int:
    """A whole number of 64 bits."""
    return _whole(text, 64)


def exact_integer(text: str) -> int:
    """A whole number of 32 bits that Hadoop reads without removing blanks (Integer.valueOf)."""
    if text != trim(text):
        raise ValueError(f"{text!r} is not a whole number: there must be no blank around it")
    return _whole(text, 32)


def _whole(text: str, bits: int) -> int:
    trimmed = trim(text)
    if not _WHOLE.fullmatch(trimmed):
        raise ValueError(f"{trimmed!r} is not a whole number")
    # More digits than 64 bits hold are refused before they cost time to convert.
    if len(trimmed) > 200 or not -(2 ** (bits - 1)) <= int(trimmed) < 2 ** (bits - 1):
        raise ValueError(f"{trimmed[:40]!r} is too large: a whole number of {bits} bits is needed")
    return int(trimmed)


def property_integer(text: str, bits: int) -> int:
    """A whole number of a *-site.xml file, where Hadoop also reads `0x7f`."""
    match = _HEXADECIMAL.fullmatch(trim(text))
    if not match:
        return _whole(text, bits)
    return _whole(match.group(1) + str(int(match.group(2)[:40], 16)), bits)


def double(text: str) -> float:
    """A number as Java's doubles are written: `0.5`, `1e3`, `1.0f`, `.5`.

    Infinity and NaN, which Java reads too, are refused: no setting can mean them.
    """
    trimmed = trim(text)
    match = _DECIMAL.fullmatch(trimmed)
    if not match:
        raise ValueError(f"{trimmed!r} is not a number")
    return _finite(float(match.group(1)), trimmed)


def single(text: str) -> float:
    """A number, rounded to 32 bits: `single("0.2") == 0.20000000298023224`."""
    return _finite(to_single(double(text)), trim(text))


def _finite(value: float, text: str) -> float:
    if math.isinf(value):
        raise ValueError(f"{text[:40]!r} is too large")
    return value


def to_single(value: float) -> float:
    """The nearest number that 32 bits can hold."""
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return rounded


def boolean(text: str) -> bool | None:
    """`true` or `false` in any case; None for anything else."""
    return {"true": True, "false": False}.get(trim(text).lower())


def duration_ms(text: str, unit: str = "ms") -> int:
    """A time with one of Hadoop's suffixes ns, us, ms, s, m, h, d; `unit` counts without one.

    Fractions of a millisecond are cut off: `duration_ms("1500us") == 1`.
    """
    trimmed = trim(text).lower()
    match = _DURATION.fullmatch(trimmed)
    if not match:
        raise ValueError(f"{trimmed!r} is not a time such as 500ms, 10s, 5m, 2h or 1d")
    count = _whole(match.group(1), 64)
    nanoseconds = count * _NANOSECONDS[match.group(2) or unit]
    # Java cuts towards zero.
    milliseconds = abs(nanoseconds) // 10**6
    return milliseconds if nanoseconds >= 0 else -milliseconds
