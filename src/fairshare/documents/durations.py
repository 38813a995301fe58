"""The grammar of durations in scenarios, jobs, workloads, fairshare.toml and options.

    duration = "0" | span {span} | clock  1h30m   1h 30m   1.5h   .5h   250ms
    span     = number unit                blanks are allowed around both
    unit     = ms | s | m | h | d         in upper or lower case
    clock    = [days-]hours:min:s         01:30:00   2-12:00:00, as Slurm writes them
             | days-hours[:min]           7-0   2-12:30

Where a number without a unit was valid before this grammar, it still is, and the caller passes that
unit. Every error is a ValueError that says what to write.
"""

import re
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from fractions import Fraction

Unit = Literal["ms", "s", "m", "h", "d"]

MOST_MS: Final = 2**53
"""About 285,000 years: the largest integer that JSON represents exactly."""
MOST_CHARACTERS: Final = 100
HOW_TO_WRITE: Final = "write 500ms, 30s, 10m, 1h30m or 2d, or 01:30:00 (hours first)"
NO_DURATION: Final = f"is not a duration: {HOW_TO_WRITE}"
"""The end of a message about an invalid duration, after the value."""

_UNITS_MS: Final[dict[str, int]] = {
    "ms": 1,
    "s": 1_000,
    "m": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
}
_NAMES: Final[dict[Unit, str]] = {
    "ms": "milliseconds",
    "s": "seconds",
    "m": "minutes",
    "h": "hours",
    "d": "days",
}
_NUMBER: Final = r"[0-9]+(?:\.[0-9]+)?|\.[0-9]+"
# Not compiled here, which would take 7 ms of every command: `re` keeps what it has compiled.
_SPAN: Final = rf"({_NUMBER})\s*(ms|s|m|h|d)\s*"
_DURATION: Final = f"(?:{_SPAN})+"
_CLOCK: Final = (
    r"(?:([0-9]+)-)?([0-9]+):([0-5][0-9]):([0-5][0-9])",
    r"([0-9]+)-([0-9]+)(?::([0-5][0-9]))?()",
)
_FLAGS: Final = re.ASCII | re.IGNORECASE


def parse_duration_ms(text: str, *, bare_unit: Unit | None = None, least_ms: int = 0) -> int:
    """Parse a duration into milliseconds, rounded; raises ValueError.

    `bare_unit` is the unit of a number without one; if None, only 0 is valid without a unit.

    >>> parse_duration_ms("1h30m"), parse_duration_ms("1.5 s"), parse_duration_ms("0")
    (5400000, 1500, 0)
    >>> parse_duration_ms("3", bare_unit="s"), parse_duration_ms("1-02:00:30")
    (3000, 93630000)
    """
    exact_ms = _exact_ms(text, bare_unit)
    if exact_ms < least_ms:
        what = "no time at all" if least_ms == 1 else "too short"
        raise ValueError(f"{text!r} is {what}: write at least {least_ms}ms")
    if exact_ms > MOST_MS:
        raise ValueError(f"{text!r} is longer than can be counted: write a shorter time")
    return round(exact_ms)


def parse_duration(text: str, unit: Unit) -> int:
    """Parse a duration into a whole number of `unit`, which is also the unit of a number without
    one; raises ValueError.

    >>> parse_duration("90m", "s"), parse_duration("7d", "h"), parse_duration("168", "h")
    (5400, 168, 168)
    """
    exact_ms = _exact_ms(text, unit)
    if exact_ms > MOST_MS:
        raise ValueError(f"{text!r} is longer than can be counted: write a shorter time")
    amount, rest = divmod(exact_ms, _UNITS_MS[unit])
    if rest:
        near = max(1, round(exact_ms / _UNITS_MS[unit]))
        raise ValueError(f"{text!r} is not a whole number of {_NAMES[unit]}: write {near}{unit}")
    return amount


def _exact_ms(text: str, bare_unit: Unit | None) -> "int | Fraction":
    if len(text) > MOST_CHARACTERS:
        raise ValueError(
            f"a duration has at most {MOST_CHARACTERS} characters, and this one has {len(text)}:"
            f" {HOW_TO_WRITE}"
        )
    trimmed = text.strip()
    if re.fullmatch(_NUMBER, trimmed):
        number = _number(trimmed)
        if bare_unit is None and number:
            raise ValueError(f"{text!r} has no unit: write {trimmed}s or {trimmed}m")
        return number * _UNITS_MS[bare_unit or "ms"]
    for clock in _CLOCK:
        if (found := re.fullmatch(clock, trimmed)) is not None:
            amounts = zip("dhms", found.groups(), strict=True)
            return sum(int(amount or 0) * _UNITS_MS[unit] for unit, amount in amounts)
    if not re.fullmatch(_DURATION, trimmed, _FLAGS):
        raise ValueError(f"{text!r} {NO_DURATION}")
    spans = re.findall(_SPAN, trimmed, _FLAGS)
    return sum(_number(number) * _UNITS_MS[unit.lower()] for number, unit in spans)


def _number(text: str) -> "int | Fraction":
    # Workloads have many thousands of durations, mostly integers, which int() parses faster.
    if text.isdigit():
        return int(text)
    from fractions import Fraction  # which few commands need

    return Fraction(text)
