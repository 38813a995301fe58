"""Owns the meaning of a cron line: five fields and a time zone give instants.

The fields are those of Debian's cron, also where clocks change: what is due in an hour that is left
out runs once when it is over, and in an hour that comes twice only once (decision 14). Knows no
cron job.
"""

import datetime
import os
import zoneinfo
from pathlib import Path
from typing import Final

from cronsim import CronSim, CronSimError

LONGEST_LINE: Final = 200
HOW_TO_WRITE: Final = (
    "write minute, hour, day of the month, month and day of the week, such as '30 2 * * mon-fri',"
    " or @daily"
)
ALIASES: Final = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_LOCAL: Final = Path("/etc/localtime")


def parse_line(text: str) -> str:
    """The five fields of a cron line. Raises ValueError.

    >>> parse_line("@daily"), parse_line(" 5  4 * * sun ")
    ('0 0 * * *', '5 4 * * sun')
    """
    if len(text) > LONGEST_LINE:
        raise ValueError(f"a cron line has at most {LONGEST_LINE} characters")
    fields = ALIASES.get(text.strip().lower(), text).split()
    if len(fields) != 5:
        raise ValueError(f"{text!r} is not a cron line: {HOW_TO_WRITE}")
    line = " ".join(fields)
    try:
        CronSim(line, datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC))
    except CronSimError as error:
        problem = str(error).lower().replace("bad", "wrong", 1)
        raise ValueError(f"{text!r} is not a cron line ({problem}): {HOW_TO_WRITE}") from error
    return line


def zone_of(name: str) -> datetime.tzinfo:
    """A time zone by name. Raises ValueError."""
    if name == "UTC":
        return datetime.UTC
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(
            f"{name!r} is not a time zone that the server knows: write one such as Europe/Berlin,"
            " or UTC"
        ) from error


def local_zone() -> str:
    """The name of this machine's time zone; UTC if it cannot be found out."""
    names = [os.environ.get("TZ", "").lstrip(":")]
    if _LOCAL.is_symlink():
        names.append(str(_LOCAL.readlink()).rpartition("zoneinfo/")[2])
    for name in names:
        try:
            zone_of(name)
        except ValueError:
            continue
        return name
    return "UTC"


def next_ms(line: str, zone: str, after_ms: int) -> int | None:
    """The first instant after another one; None if there is none within 50 years."""
    return _found(line, zone, after_ms, back=False)


def last_ms(line: str, zone: str, until_ms: int) -> int | None:
    """The last instant that is not after another one; None if there is none within 50 years."""
    return _found(line, zone, until_ms + 1_000, back=True)


def _found(line: str, zone: str, from_ms: int, *, back: bool) -> int | None:
    start = datetime.datetime.fromtimestamp(from_ms // 1_000, zone_of(zone))
    try:
        found = next(CronSim(line, start, reverse=back))
    except (StopIteration, OverflowError):
        return None
    return int(found.timestamp()) * 1_000
