"""Owns the path that reports why an application waits."""

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fairshare.insight.why import Words
from fairshare.model.applications import Application
from fairshare.model.identifiers import application_name
from fairshare.schedulers.reasons import Reason
from fairshare.web.answers import answer
from fairshare.web.requests import read_application, read_parameters, server_of


async def list_reasons(request: Request) -> Response:
    """GET /applications/ID/reasons: the most important first, with numbers and in words."""
    read_parameters(request)
    application = read_application(request)
    service = server_of(request).service
    state = service.state
    words = Words(state.types, state.epoch_ms, service.now_ms())
    rows = []
    for reason in service.reasons(application.id):
        row = msgspec.structs.asdict(reason)
        for amount in ("wanted", "used", "limit", "available"):
            if row[amount] is not None:
                row[amount] = state.types.mapping(row[amount])
        row["ahead"] = [application_name(state.epoch_ms, number) for number in reason.ahead]
        row["also"] = [other.cause for other in reason.also]
        row["group"] = _group(application, reason)
        explanation = words.explain(reason)
        rows.append({**row, "sentence": explanation.sentence, "remedy": explanation.remedy})
    answered: dict[str, Any] = {
        "id": application_name(state.epoch_ms, application.id),
        "state": application.shown_state,
        "reasons": rows,
    }
    return answer(answered)


def _group(application: Application, reason: Reason) -> str | None:
    """The name of the task group whose ask waits."""
    if reason.group < 0:
        return None
    name: str = application.tasks.groups[reason.group].spec.name
    return name


ROUTES = [Route("/applications/{application}/reasons", list_reasons)]
