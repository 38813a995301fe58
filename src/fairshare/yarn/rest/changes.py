"""The paths that change an application: kill, move, priority, timeout (Hadoop:
RMWebServices.updateAppState and updateAppQueue).
"""

from collections.abc import Iterator
from contextlib import contextmanager

from starlette.requests import Request

from fairshare.api.values import is_one_line
from fairshare.core.model.applications import Application
from fairshare.core.model.identifiers import application_name
from fairshare.core.model.queues import LONGEST_NAME
from fairshare.errors import InputError
from fairshare.yarn.rest import application_changes
from fairshare.yarn.rest.answering import Answer, YarnRoute
from fairshare.yarn.rest.application_changes import NotPermitted, NotPossible
from fairshare.yarn.rest.bodies import lenient_integer, read_object, text_of
from fairshare.yarn.rest.callers import Caller
from fairshare.yarn.rest.errors import PlainRefusal, bad_request, wrong_form
from fairshare.yarn.rest.gateway import Gateway, gateway_of
from fairshare.yarn.rest.names import find_application
from fairshare.yarn.rest.states import internal_state
from fairshare.yarn.rest.timeouts import LIFETIME, read_instant, timeout_of, timeouts_of
from fairshare.yarn.views.documents import Document

KILLED = "KILLED"


class AppState(Document):
    """The state of an application."""

    state: str


class AppQueue(Document):
    """The queue of an application."""

    queue: str


class AppPriority(Document):
    """The priority of an application."""

    priority: int


def _application(request: Request) -> tuple[Gateway, Application]:
    gateway = gateway_of(request)
    return gateway, find_application(gateway, request.path_params["application"])


def _name(gateway: Gateway, application: Application) -> str:
    return application_name(gateway.scheduler.state.epoch_ms, application.id)


@contextmanager
def _refusing(
    gateway: Gateway, caller: Caller, application: Application, what: str
) -> Iterator[None]:
    """Make refusals of a change REST's own: 403 for a caller who may not make it, else 400."""
    try:
        yield
    except NotPermitted:
        raise PlainRefusal(
            403,
            f"Unauthorized attempt to {what} {_name(gateway, application)} by remote user"
            f" {caller.user}",
        ) from None
    except NotPossible as error:
        raise PlainRefusal(400, str(error)) from None


# The state, and the end.


async def show_state(request: Request, caller: Caller) -> Answer:
    """GET /apps/ID/state: the internal state."""
    return _state(*_application(request))


def _state(gateway: Gateway, application: Application, status: int = 200) -> Answer:
    word = internal_state(application, gateway.attempt_history.of(application.id))
    return Answer(AppState(word), "appstate", "mapped", status)


async def change_state(request: Request, caller: Caller) -> Answer:
    """PUT /apps/ID/state: 202 for an application that is killed now, 200 for a finished one."""
    gateway, application = _application(request)
    body = await read_object(request, "appstate")
    wanted = text_of(body.get("state"))
    if not wanted:
        raise bad_request('a body such as {"state": "KILLED"} is needed')
    if wanted == internal_state(application, gateway.attempt_history.of(application.id)):
        return _state(gateway, application)
    if wanted != KILLED:
        raise bad_request("Only 'KILLED' is allowed as a target state.")
    with _refusing(gateway, caller, application, "kill appid"):
        reason = text_of(body.get("diagnostics"))
        if not await application_changes.kill(gateway, caller, application, reason):
            return _state(gateway, application)
    status = 202 if application.managed or application.submission.tasks else 200
    answer = _state(gateway, application, status)
    if status == 202:
        answer.headers = {"Location": str(request.url.replace(query=""))}
    return answer


# The queue.


async def show_queue(request: Request, caller: Caller) -> Answer:
    """GET /apps/ID/queue."""
    gateway, application = _application(request)
    return Answer(AppQueue(gateway.yarn.shown_queue(application)), "appqueue", "bare")


async def change_queue(request: Request, caller: Caller) -> Answer:
    """PUT /apps/ID/queue: 200 with the queue that it is in now."""
    gateway, application = _application(request)
    body = await read_object(request, "appqueue")
    wanted = text_of(body.get("queue"))
    if not wanted:
        raise bad_request('a body such as {"queue": "root.a"} is needed')
    if len(wanted) > LONGEST_NAME or not is_one_line(wanted):
        raise bad_request(f"{wanted[:40]!r} is no name of a queue")
    with _refusing(gateway, caller, application, "move appid"):
        try:
            await application_changes.move(gateway, caller, application, wanted)
        except InputError as error:
            raise bad_request(str(error)) from None
    return await show_queue(request, caller)


# The priority.


async def show_priority(request: Request, caller: Caller) -> Answer:
    """GET /apps/ID/priority."""
    _, application = _application(request)
    return Answer(AppPriority(application.priority), "applicationpriority", "bare")


async def change_priority(request: Request, caller: Caller) -> Answer:
    """PUT /apps/ID/priority: 200 with the priority in force; 400 where priorities are
    unsupported."""
    gateway, application = _application(request)
    body = await read_object(request, "applicationpriority")
    wanted = lenient_integer(body.get("priority"), "priority")
    with _refusing(gateway, caller, application, "change priority of appid"):
        try:
            await application_changes.set_priority(gateway, caller, application, wanted)
        except InputError as error:
            raise bad_request(str(error)) from None
    return await show_priority(request, caller)


# The lifetime.


async def show_timeouts(request: Request, caller: Caller) -> Answer:
    """GET /apps/ID/timeouts."""
    gateway, application = _application(request)
    return Answer(timeouts_of(application, gateway.now_ms()), "timeouts")


async def show_timeout(request: Request, caller: Caller) -> Answer:
    """GET /apps/ID/timeouts/TYPE."""
    gateway, application = _application(request)
    kind = request.path_params["type"]
    if kind.upper() != LIFETIME:
        raise bad_request(
            f"Invalid application-state {kind} specified. It should be one of [{LIFETIME}]"
        )
    return Answer(timeout_of(application, gateway.now_ms()), "timeout")


async def change_timeout(request: Request, caller: Caller) -> Answer:
    """PUT /apps/ID/timeout: 200 with the timeout in force."""
    gateway, application = _application(request)
    body = await read_object(request, "timeout")
    if request.headers.get("content-type", "").startswith("application/json"):
        if "timeout" not in body:
            raise wrong_form(
                'the body must be such as {"timeout": {"type": ..., "expiryTime": ...}}'
            )
        inner = body["timeout"]
        body = inner if isinstance(inner, dict) else {}
    with _refusing(gateway, caller, application, "change timeout of app"):
        application_changes.check_modify(gateway, caller, application)
        if text_of(body.get("type")) != LIFETIME:
            raise PlainRefusal(400, "Timeout type or ExpiryTime is null.")
        try:
            expires_ms = read_instant(text_of(body.get("expiryTime")))
            await application_changes.set_expiry(gateway, caller, application, expires_ms)
        except (ValueError, InputError) as error:
            raise bad_request(str(error)) from None
    return Answer(timeout_of(application, gateway.now_ms()), "timeout")


_PATH = "/apps/{application}"

ROUTES = [
    YarnRoute(_PATH + "/state", get=show_state, put=change_state),
    YarnRoute(_PATH + "/queue", get=show_queue, put=change_queue),
    YarnRoute(_PATH + "/priority", get=show_priority, put=change_priority),
    YarnRoute(_PATH + "/timeouts", get=show_timeouts),
    YarnRoute(_PATH + "/timeouts/{type}", get=show_timeout),
    YarnRoute(_PATH + "/timeout", put=change_timeout),
]
