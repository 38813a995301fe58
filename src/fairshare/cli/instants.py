"""The grammar of instants in options and job files, in the caller's time zone: those to come, such
as `22:30` and `+2h`, and those of the past, such as `yesterday` and `7d`.

Every function raises ValueError with a sentence that says what to write instead.
"""

import re
import time
from datetime import UTC, datetime, timedelta
from typing import Final

from fairshare.documents import durations
from fairshare.documents.durations import parse_duration_ms

# Not compiled here, which every command would wait for: `re` keeps what it has compiled.
_CLOCK: Final = r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?"
_AHEAD: Final = r"(?:now)?\s*\+\s*(.+)"


def parse_instant_ms(text: str, now_ms: int | None = None) -> int:
    """An instant in ms since 1970: the next 22:30, a date with a time, or a duration from now on.

    Times without an offset are of this machine's time zone. Raises ValueError.

    >>> parse_instant_ms("+1h30m", 1_000), parse_instant_ms("now+10s", 0)
    (5401000, 10000)
    >>> parse_instant_ms("2026-11-24T06:00:00+00:00")
    1795500000000
    """
    now_ms = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    word = text.strip()
    ahead = re.fullmatch(_AHEAD, word)
    if ahead is not None:
        return now_ms + durations.parse_duration_ms(ahead[1], least_ms=0)
    clock = re.fullmatch(_CLOCK, word)
    try:
        if clock is not None:
            now = datetime.fromtimestamp(now_ms / 1_000).astimezone()
            hour, minute, second = (int(part or 0) for part in clock.groups())
            at = now.replace(tzinfo=None, hour=hour, minute=minute, second=second, microsecond=0)
            if at.astimezone() <= now:
                at += timedelta(days=1)  # of the calendar, also where clocks change
            return round(at.astimezone().timestamp() * 1_000)
        if re.match(r"[0-9]{4}-", word):
            return round(datetime.fromisoformat(word).astimezone().timestamp() * 1_000)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text!r} does not exist: {error}") from error
    raise ValueError(f"{text!r} is not an instant: write 22:30, 2026-11-24T06:00, or +2h")


HOW_TO_WRITE: Final = "write 2026-11-23, '2026-11-23 14:30', today, yesterday, or an age such as 7d"
_MONTH: Final = r"([0-9]{4})-([0-9]{2})"


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
        return _past_ms(midnight - timedelta(days=days))
    try:
        age_ms = parse_duration_ms(trimmed)
    except ValueError:
        pass
    else:
        return max(0, _past_ms(now) - age_ms)
    try:
        return _past_ms(datetime.fromisoformat(trimmed))
    except (ValueError, OverflowError, OSError) as error:
        raise ValueError(f"{text!r} is not an instant: {HOW_TO_WRITE}") from error


def parse_month_ms(text: str) -> tuple[int, int]:
    """The beginning of a month, `2026-11`, and that of the next one, in milliseconds.

    >>> begin, end = parse_month_ms("2026-02")
    >>> (end - begin) // 86_400_000
    28
    """
    match = re.fullmatch(_MONTH, text.strip())
    try:
        if match is None:
            raise ValueError(text)
        begin = datetime.fromisoformat(f"{match[1]}-{match[2]}-01")
        end = (begin + timedelta(days=32)).replace(day=1)
        return _past_ms(begin), _past_ms(end)
    except (ValueError, OverflowError, OSError) as error:
        raise ValueError(f"{text!r} is not a month: write one such as 2026-11") from error


def moment_text(at_ms: int | None) -> str:
    """An instant as the caller's clock shows it, to the second; empty if there is none."""
    if at_ms is None:
        return ""
    return f"{datetime.fromtimestamp(at_ms / 1_000, UTC).astimezone():%Y-%m-%d %H:%M:%S}"


def _past_ms(moment: datetime) -> int:
    """An instant; one without a time zone is the caller's."""
    found = round(moment.timestamp() * 1_000)
    if found < 0:
        raise ValueError("before 1970")
    return found
