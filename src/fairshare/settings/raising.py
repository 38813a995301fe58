"""Limits that can be raised: of one reason to wait, the setting that makes it, and the settings
with each larger value.

A scheduler's family finds them (`SchedulerFamily.raised`); `lab/branch/proving.py` searches the
smallest value that suffices.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from fairshare.core.model.resources import NO_LIMIT, Resource, ResourceTypes
from fairshare.core.schedulers.reasons import Reason

MOST_STEPS: Final = 64
"""Of values that are tried for one limit; the last one lifts it."""


class Raise(msgspec.Struct, frozen=True):
    """A limit that may be raised, or preemption that may be switched on, as `verb` says. `setting`
    is its name in the files, with that of its queue or user; `values` ascend, and `settings` makes
    the whole settings with one of them."""

    setting: str
    values: Sequence[Any]
    text: Callable[[Any], str]
    settings: Callable[[Any], Any]
    verb: str = "is raised to"
    price: int = 2


OF_PREEMPTION: Final = 5
"""The price of preemption, which ends containers."""

TIMEOUT_S: Final = 60
"""After which a queue counts as starved, if none is set."""

FACTORS: Final = (1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0)
"""By which a weight is multiplied."""


def amounts_above(reason: Reason, limit: Resource, most: Resource) -> list[Resource]:
    """Amounts that let 1, 2, 3 ... more containers of a reason in, and at last `most`; in no type
    smaller than the limit.

    >>> from fairshare.core.schedulers.reasons import Cause
    >>> reason = Reason(cause=Cause.QUEUE_MAXIMUM, used=(2, 1), wanted=(2, 1), containers=2)
    >>> amounts_above(reason, (3, 8), (9, 9))
    [(4, 8), (6, 8), (9, 9)]
    """
    used, wanted = reason.used or limit, reason.wanted or limit
    steps = [
        tuple(
            max(old, amount + count * more)
            for old, amount, more in zip(limit, used, wanted, strict=True)
        )
        for count in range(1, min(max(reason.containers, 1), MOST_STEPS) + 1)
    ]
    last = tuple(max(old, amount) for old, amount in zip(limit, most, strict=True))
    return [*(step for step in steps if step != last), last]


def counts_above(count: int) -> list[int]:
    """The next larger numbers, and at last no limit."""
    return [*range(count + 1, count + MOST_STEPS), NO_LIMIT]


def fractions_above(share: float) -> list[float]:
    """The larger multiples of 1/20, up to 1."""
    return [step / 20 for step in range(1, 21) if step / 20 > share]


def amount_text(types: ResourceTypes, amount: Resource) -> str:
    """An amount as the files of schedulers have it: `3072 mb, 3 vcores`."""
    words = {"memory-mb": "mb"}
    return ", ".join(
        f"{value} {words.get(name, name)}"
        for name, value in types.mapping(amount).items()
        if value or name in words
    )
