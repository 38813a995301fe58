"""Owns how durations are written: `90s`, `1h30m`, `1.5h`, `250ms`, `2d`. Knows nothing else."""

import re

_UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_PART = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)(ms|s|m|h|d)")


def parse_duration_ms(text: str) -> int:
    """The milliseconds of a duration; raises ValueError that says how it is written.

    >>> parse_duration_ms("1h30m"), parse_duration_ms("1.5s"), parse_duration_ms("0")
    (5400000, 1500, 0)
    """
    text = text.strip()
    if text == "0":
        return 0
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"{text!r} is not a duration: write 30s, 250ms, 1h30m or 2d")
    return sum(round(float(number) * _UNITS_MS[unit]) for number, unit in parts)
