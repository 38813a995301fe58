"""Owns the grammar of instants in options: dates, times and ages, in the caller's time zone.

Every function raises ValueError with a sentence that says what to write instead.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from fairshare.documents.durations import parse_duration_ms

HOW_TO_WRITE: Final = "write 2026-11-23, '2026-11-23 14:30', today, yesterday, or an age such as 7d"
_MONTH: Final = re.compile(r"([0-9]{4})-([0-9]{2})")


def parse_moment_ms(text: str, now: datetime) -> int:
    """An instant, in milliseconds; an age counts back from `now`, a day means its beginning.

    >>> noon = datetime(2026, 11, 23, 12).astimezone()
    >>> parse_moment_ms("today", noon) == parse_moment_ms("2026-11-23", noon)
    True
    >>> parse_moment_ms("12h", noon) == parse_moment_ms("today", noon)
    True
    """
    trimmed = text.strip()
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    days = {"today": 0, "yesterday": 1}.get(trimmed.lower())
    if days is not None:
        return _ms(midnight - timedelta(days=days))
    try:
        age_ms = parse_duration_ms(trimmed)
    except ValueError:
        pass
    else:
        return max(0, _ms(now) - age_ms)
    try:
        return _ms(datetime.fromisoformat(trimmed))
    except (ValueError, OverflowError, OSError) as error:
        raise ValueError(f"{text!r} is not an instant: {HOW_TO_WRITE}") from error


def parse_month_ms(text: str) -> tuple[int, int]:
    """The beginning of a month, `2026-11`, and that of the next one, in milliseconds.

    >>> begin, end = parse_month_ms("2026-02")
    >>> (end - begin) // 86_400_000
    28
    """
    found = _MONTH.fullmatch(text.strip())
    try:
        if found is None:
            raise ValueError(text)
        begin = datetime.fromisoformat(f"{found[1]}-{found[2]}-01")
        end = (begin + timedelta(days=32)).replace(day=1)
        return _ms(begin), _ms(end)
    except (ValueError, OverflowError, OSError) as error:
        raise ValueError(f"{text!r} is not a month: write one such as 2026-11") from error


def moment_text(at_ms: int | None) -> str:
    """An instant as the caller's clock shows it, to the second; empty if there is none."""
    if at_ms is None:
        return ""
    return f"{datetime.fromtimestamp(at_ms / 1_000, UTC).astimezone():%Y-%m-%d %H:%M:%S}"


def _ms(moment: datetime) -> int:
    """An instant; one without a time zone is the caller's."""
    found = round(moment.timestamp() * 1_000)
    if found < 0:
        raise ValueError("before 1970")
    return found
