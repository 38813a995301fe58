"""Bookings: resources that are promised to a queue, or to a user there, for a time or several.

    fairshare reserve course --gpus 4 --for root.teaching --from ... --until ... --weekly-until ...

The word is booking, since a reservation is the room of a node that is kept for one application.

A booking is a list of spans, of which a course has one for each week. From `ahead_ms` before its
start until its end a span is *kept*: `BookingsAdvanced` lists the kept ones at the instants at
which that changes (`next_change_ms`), and `schedulers/bookings.py` has what that means for
asks.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from fairshare.core.model.resources import Resource, add, subtract

MOST_SPANS: Final = 400
"""Of one booking: each day of a year, and some."""

MOST_BOOKINGS: Final = 1_000


class BookingRules(msgspec.Struct, frozen=True, omit_defaults=True):
    """How bookings are kept. From `ahead_ms` before a span on, only tasks that end by its start get
    what it needs. `preempt_after_ms` after its start, containers of others are preempted for it;
    None: they never are."""

    ahead_ms: int = 3_600_000
    preempt_after_ms: int | None = None


RULES: Final = BookingRules()


class Span(msgspec.Struct, frozen=True, order=True):
    """From an instant until before another one."""

    from_ms: int
    until_ms: int


class Booking(msgspec.Struct, frozen=True, omit_defaults=True):
    """Resources of the cluster for a queue and all below it, or for one user in a leaf queue, in
    each of its spans, which are in order. `made_by` is the user who asked for it."""

    name: str
    queue: str
    resource: Resource
    spans: tuple[Span, ...]
    user: str = ""
    made_by: str = ""

    @property
    def holder(self) -> "Holder":
        """Whom it is for."""
        return self.queue, self.user


Holder = tuple[str, str]
"""A queue, and a user there; an empty user is the whole queue."""


class Kept(msgspec.Struct, frozen=True, omit_defaults=True):
    """A span of a booking, from `ahead_ms` before its start until its end. `begun` and `preempts`:
    its start is over, and so is the time until others are preempted."""

    name: str
    queue: str
    user: str
    resource: Resource
    from_ms: int
    until_ms: int
    begun: bool = False
    preempts: bool = False

    @property
    def holder(self) -> Holder:
        """Whom it is for."""
        return self.queue, self.user


def rules_of(state: object) -> BookingRules:
    """The rules in force in a cluster."""
    settings: Any = getattr(state, "settings", None)
    rules: BookingRules = getattr(settings, "bookings", RULES)
    return rules


def left_at(bookings: Mapping[str, Booking], now_ms: int) -> dict[str, Booking]:
    """The bookings with the spans that are not over; one without any is gone."""
    left: dict[str, Booking] = {}
    for name, booking in bookings.items():
        if booking.spans[0].until_ms > now_ms:  # nearly always
            left[name] = booking
        elif spans := tuple(span for span in booking.spans if span.until_ms > now_ms):
            left[name] = msgspec.structs.replace(booking, spans=spans)
    return left


def kept_at(bookings: Mapping[str, Booking], rules: BookingRules, now_ms: int) -> tuple[Kept, ...]:
    """The spans that are kept at an instant, of bookings without those that are over.

    >>> course = Booking("course", "root.a", (1024, 4), (Span(10_000, 20_000),))
    >>> rules = BookingRules(ahead_ms=1_000)
    >>> [len(kept_at({"course": course}, rules, now_ms)) for now_ms in (8_999, 9_000, 19_999)]
    [0, 1, 1]
    """
    kept: list[Kept] = []
    after_ms = rules.preempt_after_ms
    for booking in bookings.values():
        for span in booking.spans:
            if now_ms < span.from_ms - rules.ahead_ms:
                break
            kept.append(
                Kept(
                    booking.name,
                    booking.queue,
                    booking.user,
                    booking.resource,
                    span.from_ms,
                    span.until_ms,
                    now_ms >= span.from_ms,
                    after_ms is not None and now_ms >= span.from_ms + after_ms,
                )
            )
    return tuple(kept)


def next_change_ms(bookings: Iterable[Booking], rules: BookingRules, now_ms: int) -> int | None:
    """When the kept spans are others, or in another state, for the first time after an instant."""
    after_ms = rules.preempt_after_ms
    instants: list[int] = []
    for booking in bookings:
        for span in booking.spans:
            instants += [span.from_ms - rules.ahead_ms, span.from_ms, span.until_ms]
            if after_ms is not None and span.from_ms + after_ms < span.until_ms:
                instants.append(span.from_ms + after_ms)
            if span.from_ms - rules.ahead_ms > now_ms:  # all others are later
                break
    return min((instant for instant in instants if instant > now_ms), default=None)


def most_promised(bookings: Iterable[Booking], spans: Iterable[Span], none: Resource) -> Resource:
    """The most, of each type, that these bookings promise together at some instant of the spans.

    >>> one = Booking("one", "root.a", (4,), (Span(0, 10), Span(20, 30)))
    >>> other = Booking("other", "root.b", (3,), (Span(5, 25),))
    >>> [most_promised([one, other], [span], (0,)) for span in (Span(10, 20), Span(0, 6))]
    [(3,), (7,)]
    """
    bookings = list(bookings)
    changes: list[tuple[int, bool, Resource]] = []
    for booking in bookings:
        for span in booking.spans:
            changes.append((span.from_ms, True, booking.resource))
            changes.append((span.until_ms, False, booking.resource))
    changes.sort(key=lambda change: change[:2])  # what ends at an instant goes first
    most = now = none
    ahead = iter(sorted(spans))
    wanted = next(ahead, None)
    place = 0
    while wanted is not None:
        while place < len(changes) and changes[place][0] <= wanted.from_ms:
            now = _changed(now, changes[place])
            place += 1
        most = tuple(map(max, most, now))
        while place < len(changes) and changes[place][0] < wanted.until_ms:
            now = _changed(now, changes[place])
            place += 1
            most = tuple(map(max, most, now))
        wanted = next(ahead, None)
    return most


def _changed(now: Resource, change: tuple[int, bool, Resource]) -> Resource:
    _, begins, resource = change
    return add(now, resource) if begins else subtract(now, resource)
