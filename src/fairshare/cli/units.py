"""Owns how amounts of memory and spans of time are written by people. Knows no option and no file.

    memory     512m  1g  1.5g  2t  or a bare number of MB      binary: 1g is 1024 MB
    time       500ms  45s  10m  1h30m  2d                      always with a unit

Every function raises ValueError with a sentence that says what to write instead.
"""

import re
from fractions import Fraction

MOST = 2**63 - 1
"""Of anything that is counted: amounts are kept in 64 bits."""
OF_THEIR_OWN = {"memory-mb": "--memory 512m", "vcores": "--vcores 2"}
"""The resource types that every container has."""

MOST_MS = 2**53
MOST_S = 2**40
LONGEST_TAG = 100

_MEMORY = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([kmgt])(?:i?b)?)?", re.IGNORECASE)
_MEMORY_MB = {"k": Fraction(1, 1024), "m": Fraction(1), "g": Fraction(1024), "t": Fraction(1024**2)}

_SPAN = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", re.IGNORECASE)
_SPAN_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def parse_memory_mb(text: str) -> int:
    """A whole number of MB, at least 1.

    >>> parse_memory_mb("512m"), parse_memory_mb("1.5g"), parse_memory_mb("2048")
    (512, 1536, 2048)
    """
    match = _MEMORY.fullmatch(text.strip())
    if not match:
        raise ValueError(f"{text!r} is no amount of memory: write 512m, 1g or a number of MB")
    amount = Fraction(match.group(1)) * _MEMORY_MB[(match.group(2) or "m").lower()]
    if amount.denominator != 1:
        raise ValueError(f"{text!r} is no whole number of MB: write it in MB, such as 512m")
    if amount == 0:
        raise ValueError(f"{text!r} is no memory at all: a container needs at least 1m")
    if amount > MOST:
        raise ValueError(f"{text!r} is more memory than can be counted: no machine has that")
    return int(amount)


def parse_lifetime_s(text: str) -> int:
    """A whole number of seconds, at least 1.

    >>> parse_lifetime_s("90s"), parse_lifetime_s("1h")
    (90, 3600)
    """
    duration_ms = parse_duration_ms(text)
    if duration_ms % 1_000:
        raise ValueError(f"{text!r} is no whole number of seconds: write 90s, 10m or 2h")
    if duration_ms > MOST_S * 1_000:
        raise ValueError(f"{text!r} is longer than can be counted: leave it out for no limit")
    return duration_ms // 1_000


def parse_name(text: str) -> str:
    """A name that says something.

    >>> parse_name("ann")
    'ann'
    """
    if not text.strip():
        raise ValueError("an empty name names nobody: leave the option out, or write a name")
    return text


def parse_duration_ms(text: str) -> int:
    """A whole number of milliseconds, at least 1. Spans can be joined.

    >>> parse_duration_ms("10m"), parse_duration_ms("1h30m"), parse_duration_ms("1.5s")
    (600000, 5400000, 1500)
    """
    compact = text.strip().replace(" ", "")
    spans = _SPAN.findall(compact)
    if not spans or "".join(number + unit for number, unit in spans) != compact:
        if compact.isdigit():
            raise ValueError(f"{text!r} has no unit: write {compact}s or {compact}m")
        raise ValueError(f"{text!r} is no span of time: write 45s, 10m or 1h30m")
    total = sum(Fraction(number) * _SPAN_MS[unit.lower()] for number, unit in spans)
    if total < 1:
        raise ValueError(f"{text!r} is no time at all: write at least 1ms")
    if total > MOST_MS:
        raise ValueError(f"{text!r} is longer than can be counted: write a shorter time")
    return int(total)


def parse_tag(text: str) -> str:
    """A word to find an application by, of 1 to 100 characters.

    >>> parse_tag("nightly")
    'nightly'
    """
    if not text or len(text) > LONGEST_TAG:
        raise ValueError(f"a tag has 1 to {LONGEST_TAG} characters, and this one has {len(text)}")
    return text


def parse_amount(text: str) -> tuple[str, int]:
    """A resource type and how much of it.

    >>> parse_amount("yarn.io/gpu=2")
    ('yarn.io/gpu', 2)
    """
    name, _, amount = text.partition("=")
    if not name or not (amount.isascii() and amount.isdigit()):
        raise ValueError(f"{text!r} is no amount: write NAME=N, such as yarn.io/gpu=1")
    if name in OF_THEIR_OWN:
        raise ValueError(f"{name} has an option of its own: write {OF_THEIR_OWN[name]}")
    if int(amount) == 0:
        raise ValueError(f"{text!r} is nothing: write 1 or more, or leave the option out")
    if int(amount) > MOST:
        raise ValueError(f"{text!r} is more than can be counted: no machine has that")
    return name, int(amount)


def parse_variable(text: str) -> tuple[str, str]:
    """An environment variable and its value.

    >>> parse_variable("MODE=a=b")
    ('MODE', 'a=b')
    """
    name, sign, value = text.partition("=")
    if not name or not sign:
        raise ValueError(f"{text!r} sets no variable: write NAME=VALUE")
    return name, value
