"""Bookings as administrators make, change and cancel them, and what happens when one begins."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from math import inf

import msgspec

from fairshare.core.model.bookings import (
    MOST_BOOKINGS,
    MOST_SPANS,
    Booking,
    Kept,
    Span,
    most_promised,
)
from fairshare.core.model.events import (
    BookingCancelled,
    BookingMade,
    BookingsAdvanced,
    ContainerCompleted,
    ExitCode,
)
from fairshare.core.model.inputs import AdvanceBookings, CancelBooking, MakeBooking
from fairshare.core.model.queues import ROOT, full_name
from fairshare.core.model.resources import Resource, add, subtract, total
from fairshare.core.schedulers.bookings import NOT_THERE, owed, protects, used_by
from fairshare.core.schedulers.protocol import Refusal, Scheduler, State, Step, leaves_below
from fairshare.wording import counted

LONGEST_MS = 400 * 86_400_000
"""The longest span, and how far ahead one may end."""

PAST_MS = 60_000
"""How long ago a span may have begun: the clock of a client may be behind."""

_INVALID = "invalid-booking"


def make(scheduler: Scheduler, step: Step, request: MakeBooking) -> None:
    """Make or replace a booking; raises Refusal."""
    state = scheduler.state
    _check_administrator(scheduler, request.user, request.groups)
    booking = request.booking
    before = state.bookings.get(booking.name)
    if before is None and request.replace:
        raise Refusal("unknown-booking", no_booking(booking.name))
    if before is not None and not request.replace:
        raise Refusal(_INVALID, f"there is a booking {booking.name!r} already: change or cancel it")
    if before is None and len(state.bookings) >= MOST_BOOKINGS:
        raise Refusal(_INVALID, f"there are {MOST_BOOKINGS:,} bookings already: cancel some first")
    _check_holder(state, booking)
    spans = _checked_spans(booking.spans, step.now_ms, () if before is None else before.spans)
    booking = msgspec.structs.replace(
        booking,
        queue=full_name(booking.queue),
        spans=spans,
        made_by=booking.made_by or request.user,
    )
    _check_room(state, booking)
    step.emit(BookingMade(booking))
    _advance(scheduler, step)


def cancel(scheduler: Scheduler, step: Step, request: CancelBooking) -> None:
    """Cancel a booking; raises Refusal."""
    _check_administrator(scheduler, request.user, request.groups)
    if request.name not in scheduler.state.bookings:
        raise Refusal("unknown-booking", no_booking(request.name))
    step.emit(BookingCancelled(request.name))
    _advance(scheduler, step)


def advance(scheduler: Scheduler, step: Step, request: AdvanceBookings) -> None:
    """Keep what is to be kept now; nothing happens before that is another."""
    due_ms = scheduler.state.bookings_ms
    if due_ms is not None and due_ms <= step.now_ms:
        _advance(scheduler, step)


def no_booking(name: str) -> str:
    """The message about a booking that does not exist."""
    return f"there is no booking {name!r}: its last span may be over, or it was cancelled"


def _check_administrator(scheduler: Scheduler, user: str, groups: tuple[str, ...]) -> None:
    if user and not scheduler.may_administer("", user, groups):
        raise Refusal(
            "access-denied",
            f"User {user} does not have permission to book: a booking keeps resources from all"
            " other queues, so that only administrators of the cluster make, change and cancel one",
        )


def _check_holder(state: State, booking: Booking) -> None:
    name = full_name(booking.queue)
    queue = state.queues.get(name)
    if queue is None:
        leaves = [one.name for one in state.queues.values() if one.leaf]
        raise Refusal(_INVALID, f"there is no queue {name}{leaves_below(ROOT, leaves)}")
    if booking.user and not queue.leaf:
        leaves = [one.name for one in state.queues.values() if one.leaf]
        raise Refusal(
            _INVALID,
            f"a booking for user {booking.user} is in a leaf queue, and {name} has queues below"
            f" it{leaves_below(name, leaves)}",
        )
    alone = name == ROOT or (len([one for one in state.queues.values() if one.leaf]) == 1)
    if alone and not booking.user:
        raise Refusal(
            _INVALID,
            f"there is no queue beside {name} that a booking could keep resources from: name a"
            " queue below it, or one user (--user)",
        )


def _checked_spans(
    spans: tuple[Span, ...], now_ms: int, before: tuple[Span, ...]
) -> tuple[Span, ...]:
    """The spans in order, with those that begin now; raises Refusal. Those that a booking had
    `before` may have begun long ago."""
    if not spans:
        raise Refusal(_INVALID, "a booking needs a time: when it begins and when it ends")
    if len(spans) > MOST_SPANS:
        raise Refusal(
            _INVALID, f"a booking has {MOST_SPANS} times at most, and this one {len(spans):,}"
        )
    ordered = sorted(Span(span.from_ms or now_ms, span.until_ms) for span in spans)
    end_ms = 0
    for span in ordered:
        if span.until_ms <= span.from_ms:
            raise Refusal(_INVALID, "a booking must end after it begins")
        begun = any(old.from_ms == span.from_ms for old in before)
        if span.until_ms <= now_ms or (span.from_ms < now_ms - PAST_MS and not begun):
            raise Refusal(_INVALID, "a booking cannot begin in the past")
        if span.until_ms > now_ms + LONGEST_MS:
            raise Refusal(_INVALID, "a booking must end within 400 days from now")
        if span.from_ms < end_ms:
            raise Refusal(_INVALID, "two times of a booking overlap: make them one")
        end_ms = span.until_ms
    return tuple(ordered)


def _check_room(state: State, booking: Booking) -> None:
    """Raise Refusal for more than there is, with what others have booked."""
    size = len(state.none)
    amounts = booking.resource
    if len(amounts) != size or min(amounts) < 0 or not any(amounts):
        raise Refusal(_INVALID, "a booking needs an amount of a resource, and none below 0")
    staying = [node.total for node in state.nodes.values() if node.name not in state.drains]
    whole, cluster = total(staying, size), len(state.nodes)
    others = [one for one in state.bookings.values() if one.name != booking.name]
    promised = most_promised(others, booking.spans, state.none)
    for name, amount, most, taken in zip(state.types.names, amounts, whole, promised, strict=True):
        if amount > most:
            have = "the cluster has"
            if len(staying) < cluster:
                have = f"with {counted(cluster - len(staying), 'node')} drained the cluster has"
            raise Refusal(_INVALID, f"{amount:,} of {name} are more than there is: {have} {most:,}")
        if amount and amount + taken > most:
            names = ", ".join(sorted(_at_that_time(others, booking, name, state)))
            raise Refusal(
                _INVALID,
                f"{amount:,} of {name} are more than is left: of {most:,}, {taken:,} are booked at"
                f" that time by {names}",
            )


def _at_that_time(
    others: Iterable[Booking], booking: Booking, name: str, state: State
) -> list[str]:
    place = state.types.names.index(name)
    return [
        other.name
        for other in others
        if other.resource[place]
        and any(
            one.from_ms < span.until_ms and span.from_ms < one.until_ms
            for one in other.spans
            for span in booking.spans
        )
    ][:8]


def _advance(scheduler: Scheduler, step: Step) -> None:
    step.emit(BookingsAdvanced())
    preempting = tuple(span for span in scheduler.state.kept if span.preempts)
    if preempting:
        _preempt(scheduler.state, step, preempting)


def _preempt(state: State, step: Step, kept: tuple[Kept, ...]) -> None:
    """Preempt what is in the way of these bookings: masters last, otherwise the newest first;
    nothing that another booking promises."""
    missing = subtract(owed(state, kept, NOT_THERE), subtract(state.total, state.used))
    if max(missing) <= 0:
        return
    names = ", ".join(
        span.name
        for span, used in ((span, used_by(state, span.holder)) for span in kept)
        if any(
            lack > 0 and most > amount
            for lack, most, amount in zip(missing, span.resource, used, strict=True)
        )
    )
    reason = f"Container preempted by scheduler: booking {names} needs its room"
    records = [
        record for attempt in state.attempts.values() for record in attempt.containers.values()
    ]
    records.sort(key=lambda record: (record.master, -record.allocated_ms, -record.container))
    for record in records:
        if max(missing) <= 0:
            break
        helps = any(
            amount and lack > 0 for amount, lack in zip(record.resource, missing, strict=True)
        )
        attempt = state.attempts.get(record.application)
        if not helps or attempt is None or record.container not in attempt.containers:
            continue
        if protects(state, attempt, record.resource):
            continue
        missing = subtract(missing, record.resource)
        step.emit(ContainerCompleted(record.container, ExitCode.PREEMPTED, reason))


def spans_of(bookings: Iterable[Booking]) -> list[Kept]:
    """All spans of bookings, as if each were kept."""
    return [
        Kept(one.name, one.queue, one.user, one.resource, span.from_ms, span.until_ms)
        for one in bookings
        for span in one.spans
    ]


def in_the_way(
    state: State, bookings: Iterable[Booking], among: Sequence[Kept]
) -> dict[str, Resource]:
    """What of the first span of each booking is not sure to be free at its start, by name: what
    tasks use whose time limits do not end by then. `among` are the spans that count then."""
    ends = sorted(_ends(state), reverse=True)
    sums = list(accumulate((resource for _, resource in ends), add, initial=state.none))
    found: dict[str, Resource] = {}
    for booking in bookings:
        start_ms = booking.spans[0].from_ms
        there = [one for one in among if one.from_ms <= start_ms < one.until_ms]
        later = bisect_left(ends, float(-start_ms), key=lambda end: -end[0])
        free = subtract(state.total, sums[later])
        found[booking.name] = tuple(
            min(max(need - amount, 0), most)
            for need, amount, most in zip(
                owed(state, there, NOT_THERE), free, booking.resource, strict=True
            )
        )
    return found


def _ends(state: State) -> Iterator[tuple[float, Resource]]:
    """When each container ends at the latest, and what it uses."""
    for attempt in state.attempts.values():
        tasks, launched = attempt.application.tasks, attempt.launched
        for container, record in attempt.containers.items():
            assignment, launched_ms = tasks.assigned.get(container), launched.get(container)
            limit_ms = None
            if assignment is not None and launched_ms is not None:
                limit_ms = tasks.groups[assignment.group].spec.time_limit_ms
            if limit_ms is None or launched_ms is None:
                yield inf, record.resource
            else:
                yield launched_ms + limit_ms, record.resource
