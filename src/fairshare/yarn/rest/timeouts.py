"""The document of an application's timeout, and the text format of its instant.

There is one kind, LIFETIME: when it is over the application is killed
(Hadoop: RMWebServices.updateApplicationTimeout).
"""

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

from fairshare.core.model.applications import Application
from fairshare.yarn.views.documents import Document

LIFETIME: Final = "LIFETIME"
UNLIMITED: Final = "UNLIMITED"
_LAST_MS = 253_402_300_799_999
"""The end of the year 9999."""
_INSTANT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,3}))?(Z|[+-]\d\d:?\d\d)"
)


class Timeout(Document):
    """One timeout. -1: there is none; 0: it is over."""

    type: str
    expiryTime: str
    remainingTimeInSeconds: int


class Timeouts(Document):
    """All timeouts of an application."""

    timeout: list[Timeout]


def timeouts_of(application: Application, now_ms: int) -> Timeouts:
    """The timeouts of an application."""
    return Timeouts([timeout_of(application, now_ms)])


def timeout_of(application: Application, now_ms: int) -> Timeout:
    """Its lifetime. The remaining time of a finished application is 0."""
    expires_ms = application.expires_ms
    if expires_ms is None:
        return Timeout(LIFETIME, UNLIMITED, -1)
    remaining_ms = 0 if application.over else max(0, expires_ms - now_ms)
    return Timeout(LIFETIME, instant_text(expires_ms), remaining_ms // 1_000)


def instant_text(instant_ms: int) -> str:
    """Milliseconds since 1970 as YARN writes them, in UTC.

    >>> instant_text(1927893846789)
    '2031-02-03T14:04:06.789+0000'
    """
    instant_ms = min(instant_ms, _LAST_MS)  # a lifetime may end beyond Python's calendar
    instant = datetime.fromtimestamp(instant_ms // 1_000, UTC)
    return f"{instant:%Y-%m-%dT%H:%M:%S}.{instant_ms % 1_000:03d}+0000"


def read_instant(text: str) -> int:
    """Milliseconds since 1970; raises ValueError. Zones: `+0530`, `+05:30` and `Z`.

    >>> read_instant("2031-02-03T14:04:06.789+0000")
    1927893846789
    """
    match = _INSTANT.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not an instant such as 2031-02-03T04:05:06.789+0000")
    year, month, day, hour, minute, second = (int(match[n]) for n in range(1, 7))
    zone = UTC if match[8] == "Z" else _zone(match[8])
    moment = datetime(year, month, day, hour, minute, second, tzinfo=zone)
    return int(moment.timestamp()) * 1_000 + int((match[7] or "0").ljust(3, "0"))


def _zone(text: str) -> timezone:
    hours, minutes = int(text[1:3]), int(text[-2:])
    offset = timedelta(hours=hours, minutes=minutes)
    return timezone(offset if text[0] == "+" else -offset)
