"""The paths of bookings."""

from starlette.requests import Request
from starlette.responses import Response

from fairshare.api import routes
from fairshare.api.bookings import BookedSpan, BookingBody, Bookings
from fairshare.api.bookings import Booking as ShownBooking
from fairshare.api.values import ActorBody
from fairshare.core.manager.bookings import in_the_way, no_booking, spans_of
from fairshare.core.model.bookings import Booking, Span, rules_of
from fairshare.core.model.events import BookingMade
from fairshare.core.model.inputs import CancelBooking, MakeBooking
from fairshare.core.model.resources import Resource
from fairshare.core.schedulers.bookings import used_by
from fairshare.core.schedulers.protocol import State
from fairshare.errors import InputError
from fairshare.server.web.actors import administrator_of, caller_of
from fairshare.server.web.answers import answer
from fairshare.server.web.openapi.operation import serve
from fairshare.server.web.requests import read_body, read_parameters, server_of


async def list_bookings(request: Request) -> Response:
    """GET /bookings: those that are not over, in the order of their next times."""
    read_parameters(request)
    service = server_of(request).service
    state, now_ms = service.state, service.now_ms()
    rules = rules_of(state)
    after_ms = rules.preempt_after_ms
    in_order = sorted(state.bookings.values(), key=lambda one: (one.spans[0], one.name))
    names = {span.name for span in state.kept}
    missing = in_the_way(state, (one for one in in_order if one.name in names), state.kept)
    return answer(
        Bookings(
            at_ms=now_ms,
            total=state.types.mapping(state.total),
            ahead_s=rules.ahead_ms // 1_000,
            preempt_after_s=None if after_ms is None else after_ms // 1_000,
            bookings=tuple(
                _shown(state, one, now_ms, missing.get(one.name, state.none)) for one in in_order
            ),
        )
    )


async def make_booking(request: Request) -> Response:
    """POST /bookings: 201 with the new booking; `replace` changes one. For administrators of the
    cluster."""
    body = await read_body(request, BookingBody)
    service = server_of(request).service
    types = service.state.types
    for name in body.resources:
        if name not in types.names:
            message = f"there is no resource type {name!r}: there are {', '.join(types.names)}"
            raise InputError("bad-request", message)
    booking = Booking(
        body.name,
        body.queue,
        types.vector(body.resources),
        tuple(Span(span.from_ms, span.until_ms) for span in body.spans),
        body.holder or "",
        made_by=caller_of(request, body.user),
    )
    actor = await administrator_of(request, body)
    events = await service.ask(MakeBooking(booking, body.replace, *actor))
    made = next(event.booking for event in events if isinstance(event, BookingMade))
    state = service.state
    missing = in_the_way(state, [made], spans_of(state.bookings.values()))[made.name]
    return answer(_shown(state, made, service.now_ms(), missing), 201)


async def cancel_booking(request: Request) -> Response:
    """POST /bookings/BOOKING/cancel: it keeps nothing from now on. For administrators of the
    cluster."""
    body = await read_body(request, ActorBody)
    service = server_of(request).service
    name = request.path_params["booking"]
    booking = service.state.bookings.get(name)
    if booking is None:
        raise InputError("unknown-booking", no_booking(name))
    shown = _shown(service.state, booking, service.now_ms(), service.state.none)
    await service.ask(CancelBooking(name, *await administrator_of(request, body)))
    return answer(shown)


def _shown(state: State, booking: Booking, now_ms: int, missing: Resource) -> ShownBooking:
    first = booking.spans[0]
    near = first.from_ms - rules_of(state).ahead_ms <= now_ms
    mapping = state.types.mapping
    return ShownBooking(
        name=booking.name,
        queue=booking.queue,
        holder=booking.user,
        resources={name: amount for name, amount in mapping(booking.resource).items() if amount},
        spans=tuple(BookedSpan(span.from_ms, span.until_ms) for span in booking.spans),
        state="on" if first.from_ms <= now_ms else "near" if near else "later",
        used=mapping(used_by(state, booking.holder)),
        missing={name: amount for name, amount in mapping(missing).items() if amount},
        made_by=booking.made_by,
    )


ROUTES = [
    serve(routes.LIST_BOOKINGS, list_bookings, "queues"),
    serve(routes.MAKE_BOOKING, make_booking, "queues"),
    serve(routes.CANCEL_BOOKING, cancel_booking, "queues"),
]
