"""The grammar of memory sizes in scenarios, jobs, workloads, fairshare.toml and options.

    size = number [unit]                  512m   512 MB   512MiB   1.5g   2t   2048
    unit = k | m | g | t  [[i]b]          in upper or lower case, binary: 1g is 1024 MB

The unit of a number without one is MB, or what the caller passes. Every error is a ValueError that
says what to write.
"""

import re
from typing import Final, Literal

Unit = Literal["KB", "MB"]

MEMORY: Final = "memory-mb"
"""The resource type whose amounts are sizes."""

MEBIBYTE: Final = 1024 * 1024
"""The bytes of one MB, as all amounts of memory are counted."""

MOST: Final = 2**63 - 1
"""The largest amount: amounts are 64-bit integers."""
MOST_CHARACTERS: Final = 100

# Not compiled here, which every command would wait for: `re` keeps what it has compiled.
_SIZE: Final = r"([0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*(?:([kmgt])(?:i?b)?)?"
_FLAGS: Final = re.ASCII | re.IGNORECASE
_UNITS_KB: Final = {"k": 1, "m": 1024, "g": 1024**2, "t": 1024**3}


def parse_size(text: str, unit: Unit = "MB") -> int:
    """Parse a size into a whole number of `unit`, which is also the unit of a number without one;
    raises ValueError.

    >>> parse_size("1.5g"), parse_size("2048"), parse_size("1m", "KB")
    (1536, 2048, 1024)
    """
    letter = unit[0].lower()
    if len(text) > MOST_CHARACTERS:
        raise ValueError(
            f"a size has at most {MOST_CHARACTERS} characters, and this one has {len(text)}:"
            f" write 512m, 1g or a number of {unit}"
        )
    match = re.fullmatch(_SIZE, text.strip(), _FLAGS)
    if not match:
        raise ValueError(f"{text!r} is not a size: write 512m, 1g or a number of {unit}")
    whole, _, decimals = match[1].partition(".")
    scale: int = 10 ** len(decimals)
    kilobytes = int(whole + decimals) * _UNITS_KB[(match[2] or letter).lower()]  # times `scale`
    amount, rest = divmod(kilobytes, _UNITS_KB[letter] * scale)
    if rest:
        raise ValueError(
            f"{text!r} is not a whole number of {unit}: write it in {unit}, such as 512{letter}"
        )
    if amount > MOST:
        raise ValueError(f"{text!r} is more than can be counted: no machine has that")
    return amount


def parse_memory_mb(text: str) -> int:
    """Parse the memory of a container or a node into MB, at least 1; raises ValueError.

    >>> parse_memory_mb("512m"), parse_memory_mb("1.5g"), parse_memory_mb("2048")
    (512, 1536, 2048)
    """
    memory_mb = parse_size(text)
    if memory_mb == 0:
        raise ValueError(f"{text!r} is too little: a container needs at least 1m")
    return memory_mb
