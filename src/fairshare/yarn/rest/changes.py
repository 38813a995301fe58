"""What a caller changes of an application: kill, move, priority, timeout, signals.

The REST interface and Hadoop's RPC call the same functions; each words the refusals in its own way.
The paths are at the end (Hadoop: RMWebServices.updateAppState and updateAppQueue).
"""

from collections.abc import Iterator
from contextlib import contextmanager

from starlette.requests import Request

from fairshare.api.values import is_one_line
from fairshare.core.model.applications import Application
from fairshare.core.model.identifiers import ContainerId, application_name, application_of
from fairshare.core.model.inputs import (
    ChangeLifetime,
    KillApplication,
    MoveApplication,
    SetPriority,
)
from fairshare.core.model.queues import LONGEST_NAME, full_name
from fairshare.errors import FairshareError, InputError
from fairshare.yarn.rest.answering import Answer, YarnRoute
from fairshare.yarn.rest.application_documents import (
    LIFETIME,
    internal_state,
    public_state,
    read_instant,
    timeout_of,
    timeouts_of,
)
from fairshare.yarn.rest.callers import Caller, is_administrator, may_modify
from fairshare.yarn.rest.errors import PlainRefusal, bad_request, wrong_form
from fairshare.yarn.rest.gateway import Gateway, gateway_of
from fairshare.yarn.rest.parameters import find_application, lenient_integer, read_object, text_of
from fairshare.yarn.views.documents import Document


class NotPermitted(FairshareError):
    """The caller may not do this to the application."""


class NoAccessToTarget(NotPermitted):
    """The caller may not put an application into the queue."""


class NotPossible(FairshareError):
    """The application, or the container, cannot be changed now."""


class NoSuchContainer(FairshareError):
    """The container is not there, or not there any more."""


def check_modify(gateway: Gateway, caller: Caller, application: Application) -> None:
    """Raise NotPermitted if the caller may not change the application."""
    if not may_modify(gateway, caller, application):
        name = application_name(gateway.scheduler.state.epoch_ms, application.id)
        raise NotPermitted(f"{caller.user} may not change {name}")


async def kill(gateway: Gateway, caller: Caller, application: Application, reason: str) -> bool:
    """Kill an application; False if it is over, or its master has reported its outcome.

    `reason`, if not empty, becomes part of its diagnostics. Raises NotPermitted, InputError.
    """
    check_modify(gateway, caller, application)
    if application.over or application.attempt.unregistered is not None:
        return False
    name = application_name(gateway.scheduler.state.epoch_ms, application.id)
    text = f"Application {name} was killed by user {caller.user}"
    if caller.address:
        text += f" at {caller.address}"
    if reason:
        text += f" with diagnostic message: {reason}"
    await gateway.ask(KillApplication(application.id, text))
    return True


async def move(gateway: Gateway, caller: Caller, application: Application, queue: str) -> None:
    """Move an application to a queue, which may be given by its last part alone.

    Raises NotPermitted, NoAccessToTarget where the caller may neither submit to that queue nor
    administer it, NotPossible and InputError.
    """
    check_modify(gateway, caller, application)
    if queue == application.queue:
        return
    target = resolved(gateway, queue)
    scheduler = gateway.scheduler
    if gateway.controls_access and target in scheduler.state.queues:
        rights = target, caller.user, caller.groups
        allowed = scheduler.may_submit(*rights) or scheduler.may_administer(*rights)
        if not allowed and not is_administrator(gateway, caller):
            raise NoAccessToTarget(f"{caller.user} may not submit to {target}")
    word = public_state(application, gateway.attempt_history.of(application.id))
    if word not in ("ACCEPTED", "RUNNING"):
        raise NotPossible(f"App in {word} state cannot be moved.")
    await gateway.ask(MoveApplication(application.id, target))


def resolved(gateway: Gateway, queue: str) -> str:
    """The full name of a queue, which may be given by its last part alone."""
    state = gateway.scheduler.state
    for name in (queue, full_name(queue)):
        if name in state.queues:
            return name
    return gateway.yarn.queue_by_last_part(state, queue) or queue


async def set_priority(
    gateway: Gateway, caller: Caller, application: Application, priority: int
) -> None:
    """Set the priority of an application. One that is over keeps its own, as do all where the
    scheduler has no priorities. Raises NotPermitted, InputError."""
    check_modify(gateway, caller, application)
    ignored = application.over or not gateway.yarn.changes_priorities
    if not ignored and priority != application.priority:
        await gateway.ask(SetPriority(application.id, priority))


async def set_expiry(
    gateway: Gateway, caller: Caller, application: Application, expires_ms: int
) -> None:
    """Set when the lifetime of an application ends. Of one that is over nothing changes.

    Raises NotPermitted, InputError.
    """
    check_modify(gateway, caller, application)
    if not application.over:
        await gateway.ask(ChangeLifetime(application.id, expires_ms))


def signal(gateway: Gateway, caller: Caller, container: ContainerId, command: str) -> None:
    """Send a live container one of YARN's signals.

    Raises NoSuchContainer, NotPermitted, and EngineError if the container's engine has no such
    signal.
    """
    application = gateway.scheduler.state.applications.get(application_of(container))
    if application is None or container not in application.containers:
        raise NoSuchContainer(f"Trying to signal an absent container {container}")
    check_modify(gateway, caller, application)
    gateway.signal(container, command)


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


@contextmanager
def _refusing(
    gateway: Gateway, caller: Caller, application: Application, what: str
) -> Iterator[None]:
    """Make refusals of a change REST's own: 403 for a caller who may not make it, else 400."""
    try:
        yield
    except NotPermitted:
        name = application_name(gateway.scheduler.state.epoch_ms, application.id)
        raise PlainRefusal(
            403, f"Unauthorized attempt to {what} {name} by remote user {caller.user}"
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
    state = text_of(body.get("state"))
    if not state:
        raise bad_request('a body such as {"state": "KILLED"} is needed')
    if state == internal_state(application, gateway.attempt_history.of(application.id)):
        return _state(gateway, application)
    if state != KILLED:
        raise bad_request("Only 'KILLED' is allowed as a target state.")
    with _refusing(gateway, caller, application, "kill appid"):
        reason = text_of(body.get("diagnostics"))
        if not await kill(gateway, caller, application, reason):
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
    queue = text_of(body.get("queue"))
    if not queue:
        raise bad_request('a body such as {"queue": "root.a"} is needed')
    if len(queue) > LONGEST_NAME or not is_one_line(queue):
        raise bad_request(f"{queue[:40]!r} is not the name of a queue")
    with _refusing(gateway, caller, application, "move appid"):
        try:
            await move(gateway, caller, application, queue)
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
            await set_priority(gateway, caller, application, wanted)
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
        check_modify(gateway, caller, application)
        if text_of(body.get("type")) != LIFETIME:
            raise PlainRefusal(400, "Timeout type or ExpiryTime is null.")
        try:
            expires_ms = read_instant(text_of(body.get("expiryTime")))
            await set_expiry(gateway, caller, application, expires_ms)
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
