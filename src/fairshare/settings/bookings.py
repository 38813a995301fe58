"""`[bookings]` of fairshare.toml: how what `fairshare reserve` promises is kept.

[bookings]
ahead_s = "1h"                  # before a booking only tasks that end by its start get its room
preempt_after_s = "10m"         # after its start; without it nothing is preempted
"""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from fairshare.core.model.bookings import BookingRules

SECTION: Final = "bookings"
_LONGEST_S: Final = 31 * 86_400


class BookingSettings(msgspec.Struct, frozen=True):
    """From `ahead_s` before the start of a booking on, only tasks whose time limit ends by then get
    what it needs. `preempt_after_s` after the start, what still uses that is preempted; none: it
    runs to its end."""

    ahead_s: Annotated[int, Meta(ge=0, le=_LONGEST_S)] = 3_600
    preempt_after_s: Annotated[int, Meta(ge=0, le=_LONGEST_S)] | None = None


def booking_rules_of(settings: BookingSettings) -> BookingRules:
    """The settings as the core has them."""
    after_s = settings.preempt_after_s
    return BookingRules(settings.ahead_s * 1_000, None if after_s is None else after_s * 1_000)
