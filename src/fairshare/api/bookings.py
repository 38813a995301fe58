"""The records of bookings: resources that are promised to a queue, or to a user there."""

from typing import Annotated, Literal

import msgspec

from fairshare.api.values import WORD, ActorBody, Amounts, QueueName, Resources, User

BookingName = Annotated[str, msgspec.Meta(min_length=1, max_length=80, pattern=WORD)]
Instant = Annotated[int, msgspec.Meta(ge=0, le=2**53)]


class BookedSpan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One time of a booking, in milliseconds; from 0 on is from now on."""

    from_ms: Instant
    until_ms: Instant


class BookingBody(ActorBody, frozen=True, kw_only=True):
    """A booking for a queue and all below it, or for the user `holder` in a leaf queue. `replace`:
    in place of the one that has this name."""

    name: BookingName
    queue: QueueName
    holder: User | None = None
    resources: Resources
    spans: Annotated[tuple[BookedSpan, ...], msgspec.Meta(max_length=1_000)]
    replace: bool = False


class Booking(msgspec.Struct, frozen=True, kw_only=True):
    """A booking with its spans that are not over. `state` is that of the first: it is on, or its
    room is kept for it (`near`), or not yet (`later`). `used` is what its holder uses now, also of
    types that are not booked. `missing` is what is not sure to be free at its start, as tasks have
    no time limit that ends by then: of a new booking, and of those that are near or on."""

    name: str
    queue: str
    holder: str = ""
    resources: Amounts
    spans: tuple[BookedSpan, ...]
    state: Literal["on", "near", "later"]
    used: Amounts = {}
    missing: Amounts = {}
    made_by: str = ""


class Bookings(msgspec.Struct, frozen=True, kw_only=True):
    """All bookings, in the order of their next times, beside the resources of the cluster.
    `preempt_after_s` null: nothing is preempted for them."""

    at_ms: int
    total: Amounts
    ahead_s: int
    preempt_after_s: int | None
    bookings: tuple[Booking, ...]
