"""The paths of administration: the scheduler's configuration, access to a queue, the log.

`live.mutation` and the family define the effect of a configuration change; the messages are those
that Hadoop's clients expect (Hadoop: RMWebServices.updateSchedulerConfiguration and
checkUserAccessToQueue).

Reservations need a plan, delegation tokens need Kerberos: without either YARN refuses them in the
same words (Hadoop: RMWebServices.listReservation and postDelegationToken).
"""

from collections.abc import Iterable

from msgspec import UNSET, UnsetType
from starlette.requests import Request

from fairshare.errors import InputError
from fairshare.server.web.faults import STATUSES
from fairshare.settings.configuration_update import Update, read_json, read_xml
from fairshare.yarn.rest.answering import Answer, YarnRoute
from fairshare.yarn.rest.callers import Caller, check_administrator
from fairshare.yarn.rest.errors import (
    PlainRefusal,
    Refused,
    bad_request,
    forbidden,
    wrong_argument,
    wrong_form,
)
from fairshare.yarn.rest.gateway import Gateway, gateway_of
from fairshare.yarn.rest.parameters import java_number, read_bytes, read_object
from fairshare.yarn.rest.submission import NO_RESERVATIONS
from fairshare.yarn.views.documents import Document

MUTABLE = "MutableConfScheduler"
NO_CHANGE = f"Configuration change only supported by {MUTABLE}."
NO_VALIDATION = f"Configuration change validation only supported by {MUTABLE}."
NO_VERSION = f"Configuration Version only supported by {MUTABLE}."
NO_FORMAT = f"Scheduler Configuration format only supported by {MUTABLE}"
_ACLS = ("SUBMIT_APPLICATIONS", "ADMINISTER_QUEUE")


class Property(Document):
    """One property."""

    name: str
    value: str


class ConfigurationInfo(Document):
    """The scheduler's configuration."""

    property: list[Property] | UnsetType


class ConfigurationVersion(Document):
    """How often the configuration was changed, and one."""

    versionID: int


class QueueAccess(Document):
    """Whether a user may do something with a queue, and why not."""

    allowed: bool
    user: str
    diagnostics: str


def _kind(gateway: Gateway) -> str:
    return gateway.yarn.class_name or gateway.scheduler.name


def _check_mutable(gateway: Gateway, otherwise: str) -> None:
    if not gateway.configuration.mutable:
        raise PlainRefusal(400, otherwise)


async def show_configuration(request: Request, caller: Caller) -> Answer:
    """GET /scheduler-conf."""
    gateway = gateway_of(request)
    check_administrator(gateway, caller)
    if not gateway.configuration.mutable:
        raise PlainRefusal(
            400,
            "This API only supports to retrieve scheduler configuration from a mutable-conf"
            f" scheduler, underneath scheduler {_kind(gateway)} is not an instance of {MUTABLE}",
        )
    return _configuration(gateway.properties().items())


def _configuration(entries: Iterable[tuple[str, str]]) -> Answer:
    found = [Property(name, value) for name, value in entries]
    return Answer(ConfigurationInfo(found or UNSET), "configuration", "mapped")


async def change_configuration(request: Request, caller: Caller) -> Answer:
    """PUT /scheduler-conf."""
    gateway = gateway_of(request)
    update = await _read_update(request)
    _check_mutable(gateway, NO_CHANGE)
    if caller.proven and not gateway.controls_access:
        check_administrator(gateway, caller)
    try:
        message = await gateway.configuration.update(update, _changer(gateway, caller))
    except InputError as error:
        raise _plain(error) from None
    return Answer(text=message)


async def validate_configuration(request: Request, caller: Caller) -> Answer:
    """POST /scheduler-conf/validate: the resulting configuration; nothing is changed."""
    gateway = gateway_of(request)
    check_administrator(gateway, caller)
    update = await _read_update(request)
    _check_mutable(gateway, NO_VALIDATION)
    try:
        return _configuration(await gateway.configuration.validate(update))
    except InputError as error:
        raise PlainRefusal(
            400,
            f"{_kind(gateway)} configuration validation failed:java.io.IOException: {error}",
        ) from None


async def show_version(request: Request, caller: Caller) -> Answer:
    """GET /scheduler-conf/version."""
    gateway = gateway_of(request)
    check_administrator(gateway, caller)
    _check_mutable(gateway, NO_VERSION)
    version = ConfigurationVersion(gateway.configuration.version())
    return Answer(version, "configversion", "mapped")


async def format_configuration(request: Request, caller: Caller) -> Answer:
    """GET /scheduler-conf/format: returns to the file. A GET that changes state, as in Hadoop."""
    gateway = gateway_of(request)
    check_administrator(gateway, caller)
    _check_mutable(gateway, NO_FORMAT)
    try:
        return Answer(text=await gateway.configuration.format(_changer(gateway, caller)))
    except InputError as error:
        raise _plain(error) from None


def _changer(gateway: Gateway, caller: Caller) -> str:
    """The user in whose name a change is made: a caller with an administrator's token acts as the
    server's own user, who is an administrator by any list."""
    return gateway.login_user if caller.administrator else caller.user


def _plain(error: InputError) -> PlainRefusal:
    status = 503 if STATUSES.get(error.code) == 503 else 400
    return PlainRefusal(status, str(error))


async def _read_update(request: Request) -> Update:
    content = await read_bytes(request)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ("application/json", "application/xml"):
        raise wrong_form(None, 503)
    if not content.strip():
        raise wrong_form("the body is empty: an update is needed")
    try:
        return read_xml(content) if kind == "application/xml" else read_json(content)
    except InputError as error:
        raise wrong_form(str(error)) from None


async def show_access(request: Request, caller: Caller) -> Answer:
    """GET /queues/QUEUE/access: for administrators of the queue."""
    gateway = gateway_of(request)
    queue = request.path_params["queue"]
    parameters = request.query_params
    user = parameters.get("user", "")
    kind = parameters.get("queue-acl-type", _ACLS[0])
    scheduler = gateway.scheduler
    name = gateway.yarn.queue_of_access(scheduler.state, queue)
    if not name or not (
        not gateway.controls_access or scheduler.may_administer(name, caller.user, caller.groups)
    ):
        raise forbidden(
            f"User={caller.user} doesn't haven access to queue={queue} so it cannot check ACLs for"
            " other users."
        )
    if not user:
        raise wrong_argument("Null user")
    if kind.upper() not in _ACLS:
        raise bad_request(
            f"Specified queueAclType={kind} is not a valid type, valid queue acl"
            f" types={{{'/'.join(_ACLS)}}}"
        )
    groups = await gateway.groups_of(user)
    may = scheduler.may_submit if kind.upper() == _ACLS[0] else scheduler.may_administer
    allowed = not gateway.controls_access or may(name, user, groups)
    why = (
        ""
        if allowed
        else (f"User={user} doesn't have access to queue={queue} with acl-type={kind.upper()}")
    )
    return Answer(QueueAccess(allowed, user, why), "queueAccessInfo", "mapped")


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
    content = (await read_bytes(request)).decode(errors="replace")
    form = dict(part.partition("=")[::2] for part in content.split("&"))
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
    YarnRoute("/scheduler-conf", get=show_configuration, put=change_configuration),
    YarnRoute("/scheduler-conf/validate", post=validate_configuration),
    YarnRoute("/scheduler-conf/version", get=show_version),
    YarnRoute("/scheduler-conf/format", get=format_configuration),
    YarnRoute("/queues/{queue}/access", get=show_access),
    YarnRoute("/reservation/new-reservation", post=refuse_new_reservation),
    YarnRoute("/reservation/submit", post=refuse_reservation),
    YarnRoute("/reservation/update", post=refuse_reservation),
    YarnRoute("/reservation/delete", post=refuse_reservations),
    YarnRoute("/reservation/list", get=refuse_reservations),
    YarnRoute("/delegation-token", post=refuse_token, delete=refuse_token),
    YarnRoute("/delegation-token/expiration", post=refuse_token),
    YarnRoute("/scheduler/logs", post=change_log),
]
