"""The records of the ledger: what queues were entitled to, got, lent, borrowed and were owed."""

from typing import Final

import msgspec

from fairshare.api.showing import framed, shown

LEDGER_GROUPS: Final = ("hour", "queue", "user", "label")
"""What the ledger can be divided by, besides the resource types."""


class LedgerLine(msgspec.Struct, frozen=True, kw_only=True):
    """Amounts of one resource type, in its units times milliseconds: MB x ms, vcore x ms.

    `delivered` is what containers had, `borrowed` the part of it beyond the share. Of the share,
    `lent` was not asked for and others had it, `idle` was not asked for and unused, and `owed` was
    asked for and not given, by cause: `entitled = delivered - borrowed + lent + idle + owed`. A
    line has the hour, queue, user and partition (node label) that it is about, or None; what is
    lent or idle belongs to the user "".
    """

    resource: str
    hour_ms: int | None = None
    queue: str | None = None
    user: str | None = None
    label: str | None = None
    entitled: int = 0
    delivered: int = 0
    borrowed: int = 0
    lent: int = 0
    idle: int = 0
    owed: dict[str, int] = {}


class LedgerGap(msgspec.Struct, frozen=True):
    """A span of time of which the ledger knows nothing."""

    since_ms: int
    until_ms: int


class Ledger(msgspec.Struct, frozen=True):
    """The ledger of all hours of which a part is between `since_ms` and `until_ms`. It begins at
    `begin_ms`, and is complete up to `complete_ms`, but for the `gaps`, whose records the journal
    no longer had. `causes` has what each cause of debts means; `more`: there are further lines."""

    by: tuple[str, ...]
    since_ms: int
    until_ms: int
    begin_ms: int
    complete_ms: int
    causes: dict[str, str]
    lines: tuple[LedgerLine, ...]
    more: bool = False
    gaps: tuple[LedgerGap, ...] = ()

    _repr_html_ = shown
    to_frame = framed
