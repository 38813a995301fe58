"""The paths of unsupported features, refused in YARN's own words: reservations, tokens.

Reservations need a plan, delegation tokens need Kerberos; without either YARN gives the same
answers (Hadoop: RMWebServices.listReservation and postDelegationToken). The log of the scheduler
has one level here.
"""

from starlette.requests import Request

from fairshare.yarn.rest.access import check_administrator
from fairshare.yarn.rest.answering import Answer, YarnRoute
from fairshare.yarn.rest.bodies import java_number, read_bytes, read_object
from fairshare.yarn.rest.callers import Caller
from fairshare.yarn.rest.errors import PlainRefusal, Refused, bad_request
from fairshare.yarn.rest.gateway import gateway_of
from fairshare.yarn.rest.submission import NO_RESERVATIONS

_NO_KERBEROS = (
    "Delegation token operations can only be carried out on a Kerberos authenticated channel."
    " Expected auth type is kerberos, got type SIMPLE"
)


async def refuse_new_reservation(request: Request, caller: Caller) -> Answer:
    """POST /reservation/new-reservation."""
    raise Refused(
        503,
        "org.apache.hadoop.yarn.exceptions.YarnRuntimeException",
        "Unable to create new reservation from RM web service",
    )


async def refuse_reservation(request: Request, caller: Caller) -> Answer:
    """POST /reservation/submit and /update."""
    body = await read_object(request, "reservation-submission-context")
    if not body.get("reservation-definition"):
        raise bad_request("Input ReservationDefinition should not be null")
    raise bad_request(NO_RESERVATIONS)


async def refuse_reservations(request: Request, caller: Caller) -> Answer:
    """GET /reservation/list, POST /reservation/delete."""
    raise bad_request(NO_RESERVATIONS)


async def refuse_token(request: Request, caller: Caller) -> Answer:
    """POST and DELETE /delegation-token, POST /delegation-token/expiration."""
    raise PlainRefusal(403, _NO_KERBEROS)


async def change_log(request: Request, caller: Caller) -> Answer:
    """POST /scheduler/logs: checked as in Hadoop; has no effect, since the server's log has one
    level."""
    gateway = gateway_of(request)
    check_administrator(gateway, caller)
    form = dict(
        part.partition("=")[::2] for part in (await read_bytes(request)).decode().split("&")
    )
    text = form.get("time", "")
    try:
        period_s = java_number(text)
    except ValueError:
        message = f'For input string: "{text}"'
        raise Refused(400, "java.lang.NumberFormatException", message) from None
    if period_s <= 0:
        raise bad_request("Period must be greater than 0")
    return Answer(text="Capacity scheduler logs are being created.")


ROUTES = [
    YarnRoute("/reservation/new-reservation", post=refuse_new_reservation),
    YarnRoute("/reservation/submit", post=refuse_reservation),
    YarnRoute("/reservation/update", post=refuse_reservation),
    YarnRoute("/reservation/delete", post=refuse_reservations),
    YarnRoute("/reservation/list", get=refuse_reservations),
    YarnRoute("/delegation-token", post=refuse_token, delete=refuse_token),
    YarnRoute("/delegation-token/expiration", post=refuse_token),
    YarnRoute("/scheduler/logs", post=change_log),
]
