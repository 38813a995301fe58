"""Owns the path that reports why an application waits."""

from starlette.requests import Request
from starlette.responses import Response

from fairshare.api.applications import Reason as NamedReason
from fairshare.api.applications import Reasons
from fairshare.insight.why import Words
from fairshare.model.applications import Application
from fairshare.model.identifiers import application_name
from fairshare.schedulers.reasons import Reason
from fairshare.web.answers import answer, filled
from fairshare.web.openapi.operation import get
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
        explanation = words.explain(reason)
        rows.append(
            filled(
                NamedReason,
                reason,
                state.types,
                ahead=tuple(application_name(state.epoch_ms, number) for number in reason.ahead),
                also=tuple(other.cause for other in reason.also),
                group=_group(application, reason),
                sentence=explanation.sentence,
                remedy=explanation.remedy,
            )
        )
    name = application_name(state.epoch_ms, application.id)
    return answer(Reasons(id=name, state=application.shown_state, reasons=tuple(rows)))


def _group(application: Application, reason: Reason) -> str | None:
    """The name of the task group whose ask waits."""
    if reason.group < 0:
        return None
    name: str = application.tasks.groups[reason.group].spec.name
    return name


ROUTES = [get("/applications/{application}/reasons", list_reasons, "applications", Reasons)]
