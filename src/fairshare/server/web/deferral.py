"""The paths by which applications are held, released and requeued, and the conditions of a
submission for its start.
"""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from fairshare.api import routes
from fairshare.api.applications import HoldBody
from fairshare.api.values import ActorBody
from fairshare.api.work import Submission
from fairshare.core.model.identifiers import ApplicationId, application_name, parse_application
from fairshare.core.model.inputs import (
    Condition,
    HoldApplication,
    ReleaseApplication,
    RequeueApplication,
    StartConditions,
)
from fairshare.core.schedulers.protocol import State
from fairshare.errors import InputError
from fairshare.server.rows import application_row
from fairshare.server.web.actors import actor_of
from fairshare.server.web.answers import answer
from fairshare.server.web.openapi.operation import serve
from fairshare.server.web.requests import read_application, read_body, server_of
from fairshare.wording import no_application

TAG: Final = "applications"

Order = HoldApplication | ReleaseApplication | RequeueApplication


def conditions_of(body: Submission, state: State) -> StartConditions:
    """The conditions under which an application starts; raises InputError
    (`unknown-application`)."""
    after = tuple(Condition(_number_of(one.application, state), one.outcome) for one in body.after)
    return StartConditions(after, body.begin_ms or 0, body.held)


def _number_of(text: str, state: State) -> ApplicationId:
    number = parse_application(text)
    if number is None or number not in state.applications:
        raise InputError("unknown-application", f"after: {no_application(text)}")
    if text not in (str(number), application_name(state.epoch_ms, number)):
        raise InputError("unknown-application", f"after: {no_application(text)}")
    return number


async def hold_application(request: Request) -> Response:
    """POST /applications/ID/hold: it starts nothing more until the same call releases it."""
    body = await read_body(request, HoldBody)
    return await _ordered(request, body, HoldApplication if body.held else ReleaseApplication)


async def requeue_application(request: Request) -> Response:
    """POST /applications/ID/requeue: what runs of it ends, and it begins again."""
    return await _ordered(request, await read_body(request, ActorBody), RequeueApplication)


async def _ordered(request: Request, body: ActorBody, order: type[Order]) -> Response:
    application = read_application(request)
    actor = await actor_of(request, body, application)
    await server_of(request).service.ask(order(application.id, *actor))
    return answer(application_row(server_of(request).service, application))


ROUTES = [
    serve(routes.HOLD_APPLICATION, hold_application, TAG),
    serve(routes.REQUEUE_APPLICATION, requeue_application, TAG),
]
