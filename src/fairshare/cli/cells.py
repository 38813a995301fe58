"""How single values are displayed: amounts, times, bars, names.

Texts from users (names, diagnostics) may contain anything; `wording.plain` makes them safe for a
terminal.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from fairshare.api.applications import Container
from fairshare.client.answers import Amounts
from fairshare.documents.bounds import LATEST_MS

if TYPE_CHECKING:
    from fairshare.api.accounting import PastContainer

MEMORY = "memory-mb"
VCORES = "vcores"
NOTHING = "-"

AS_MUCH_AS_THERE_IS = 2**31 - 1
"""Amounts from this value on are Hadoop's representation of no limit."""


def memory_text(mb: int) -> str:
    """An amount of memory with up to three digits.

    >>> memory_text(512), memory_text(1536), memory_text(10240), memory_text(3 * 1024**2)
    ('512M', '1.5G', '10G', '3T')
    """
    amount, unit = float(mb), "M"
    for larger in "GTP":
        if abs(amount) < 1024:
            break
        amount, unit = amount / 1024, larger
    # Decimals up to three digits in all, without trailing zeros.
    decimals = 2 if abs(amount) < 10 else 1 if abs(amount) < 100 else 0
    digits = f"{amount:.{decimals}f}"
    return (digits.rstrip("0").rstrip(".") if decimals else digits) + unit


def amounts_text(amounts: Mapping[str, int] | None) -> str:
    """A resource vector; further types with the last part of their names.

    >>> amounts_text({"memory-mb": 1536, "vcores": 2, "yarn.io/gpu": 1})
    '1.5G 2c 1 gpu'
    >>> amounts_text({"memory-mb": 0, "vcores": 0}), amounts_text({"memory-mb": 2**63 - 1})
    ('0', 'no limit')
    """
    if amounts is None:
        return NOTHING
    limited = {name: n for name, n in amounts.items() if n < AS_MUCH_AS_THERE_IS}
    if amounts and not limited:
        return "no limit"
    if not any(limited.values()):
        return "0"
    return " ".join(
        _amount_text(name, amount)
        for name, amount in limited.items()
        if amount or name in (MEMORY, VCORES)
    )


def share_text(amounts: Mapping[str, int] | None) -> str:
    """A share, without the types that the policy of its queue does not divide: it has 0 of them.

    >>> share_text({"memory-mb": 4096, "vcores": 0}), share_text({"memory-mb": 0, "vcores": 0})
    ('4G', '0')
    """
    divided = amounts and {name: amount for name, amount in amounts.items() if amount}
    return amounts_text(divided or amounts)


def _amount_text(name: str, amount: int) -> str:
    if name == MEMORY:
        return memory_text(amount)
    if name == VCORES:
        return f"{amount}c"
    return f"{amount} {name.rpartition('/')[2]}"


def peak_text(mb: int) -> str | None:
    """The most memory that was in use, if it was measured."""
    return memory_text(mb) if mb else None


def task_text(container: "Container | PastContainer") -> str:
    """The task of a container: `map/3`, `driver`, or unknown."""
    if container.group is not None and container.task is not None:
        return f"{container.group}/{container.task}"
    return "driver" if container.master else NOTHING


def duration_text(ms: int) -> str:
    """A duration with its two largest units.

    >>> duration_text(999), duration_text(192_000), duration_text(7_500_000)
    ('0s', '3m 12s', '2h 05m')
    """
    seconds = max(0, ms) // 1000
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if days:
        return f"{days}d {hours % 24:02d}h"
    if hours:
        return f"{hours}h {minutes % 60:02d}m"
    if minutes:
        return f"{minutes}m {seconds % 60:02d}s"
    return f"{seconds}s"


def fine_duration_text(ms: float) -> str:
    """A duration with tenths of a second below a minute.

    >>> fine_duration_text(1_250), fine_duration_text(192_000)
    ('1.2s', '3m 12s')
    """
    return f"{ms / 1000:.1f}s" if ms < 60_000 else duration_text(round(ms))


def change_text(ms: float) -> str:
    """A change of a duration: with its sign.

    >>> change_text(1_250), change_text(-192_000)
    ('+1.2s', '-3m 12s')
    """
    return ("-" if ms < 0 else "+") + fine_duration_text(abs(ms))


def instant_text(ms: int) -> str:
    """An instant in this machine's time zone: `2026-11-24 06:00:00`."""
    return (
        datetime.fromtimestamp(min(ms, LATEST_MS) / 1_000)
        .astimezone()
        .strftime("%Y-%m-%d %H:%M:%S")
    )


def dominant_fraction(part: Amounts | None, total: Amounts) -> float:
    """The largest fraction of any type in `total` that `part` has; at least 0.

    >>> dominant_fraction({"memory-mb": 1024, "vcores": 3}, {"memory-mb": 4096, "vcores": 4})
    0.75
    """
    given = part or {}
    return max((given.get(name, 0) / n for name, n in total.items() if n > 0), default=0.0)


def bar(fraction: float, width: int, mark: float | None = None, *, ascii_only: bool = False) -> str:
    """A bar of `width` cells that is full at 1.0, with a mark at a second fraction.

    The bar shows the usage, the mark the share: a bar beyond its mark is above its share. A
    fraction above 0 fills at least one cell.

    >>> bar(0.5, 8, ascii_only=True), bar(0.25, 8, 0.5, ascii_only=True)
    ('####....', '##.|....')
    """
    full, empty, here = "#.|" if ascii_only else "█░┃"
    cells = round(min(1.0, max(0.0, fraction)) * width)
    if fraction > 0 and cells == 0:
        cells = 1
    drawn = [full if cell < cells else empty for cell in range(width)]
    if mark is not None and mark > 0:
        drawn[min(width, max(1, round(min(1.0, mark) * width))) - 1] = here
    return "".join(drawn)


def short_queue(name: str) -> str:
    """A queue's name without the prefix of the root, which all have; that of applications which
    were refused before they had one is empty.

    >>> short_queue("root.research.ads"), short_queue("root"), short_queue("")
    ('research.ads', 'root', '-')
    """
    return name.removeprefix("root.") or NOTHING
