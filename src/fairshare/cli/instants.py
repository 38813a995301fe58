"""Owns how instants are written in options and job files: `22:30`, `2026-11-24T06:00`, `+2h`."""

import re
import time
from datetime import datetime, timedelta
from typing import Final

from fairshare.documents import durations

_CLOCK: Final = re.compile(r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?")
_AHEAD: Final = re.compile(r"(?:now)?\s*\+\s*(.+)")


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
    ahead = _AHEAD.fullmatch(word)
    if ahead is not None:
        return now_ms + durations.parse_duration_ms(ahead[1], least_ms=0)
    clock = _CLOCK.fullmatch(word)
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
