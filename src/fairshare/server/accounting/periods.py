"""Owns the division of time into months and days of the server's time zone. Pure, except that it
asks for that zone."""

from datetime import UTC, datetime, timedelta
from typing import Final, Literal

import msgspec

MAX_DAYS: Final = 100
MAX_MONTHS: Final = 1_200
"""A report by days or months has at most so many of them."""


class Period(msgspec.Struct, frozen=True):
    """A month, a day, or any other period; `end_ms` is not within."""

    label: str
    start_ms: int
    end_ms: int


def divided(since_ms: int, until_ms: int, unit: Literal["month", "day"]) -> list[Period]:
    """The months or days of a period; the first and the last may be cut. Raises ValueError if
    there are too many.

    >>> [one.label for one in divided(1_790_000_000_000, 1_796_000_000_000, "month")]
    ['2026-09', '2026-10', '2026-11']
    """
    most = MAX_MONTHS if unit == "month" else MAX_DAYS
    found: list[Period] = []
    start_ms = since_ms
    while start_ms < until_ms:
        if len(found) == most:
            raise ValueError(f"the period has more than {most} {unit}s: ask for a shorter one")
        end_ms = min(until_ms, _next(start_ms, unit))
        moment = _local(start_ms)
        label = f"{moment:%Y-%m}" if unit == "month" else f"{moment:%Y-%m-%d}"
        found.append(Period(label, start_ms, end_ms))
        start_ms = end_ms
    return found


def _next(at_ms: int, unit: Literal["month", "day"]) -> int:
    """The beginning of the next month or day."""
    day = _local(at_ms).replace(hour=0, minute=0, second=0, microsecond=0)
    if unit == "month":
        following = (day.replace(day=1) + timedelta(days=32)).replace(day=1)
    else:
        following = day + timedelta(days=1)
    return round(following.timestamp() * 1_000)


def _local(at_ms: int) -> datetime:
    """An instant as clocks on the wall show it."""
    return datetime.fromtimestamp(at_ms / 1_000, UTC).astimezone().replace(tzinfo=None)
