"""The paths that show applications: the list, one of them, and their counts."""

from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec import UNSET, UnsetType
from starlette.requests import Request

from fairshare.api.yarn import APPLICATION_STATES
from fairshare.core.model.applications import Application
from fairshare.errors import InputError
from fairshare.server.slices import sliced
from fairshare.yarn.rest.access import may_view, sees_everything
from fairshare.yarn.rest.answering import JSON, Answer, YarnRoute, accepted_form
from fairshare.yarn.rest.application_documents import AppInfo, application_info
from fairshare.yarn.rest.callers import Caller
from fairshare.yarn.rest.document_cache import DocumentCaches, Shown
from fairshare.yarn.rest.errors import bad_request
from fairshare.yarn.rest.filters import (
    Filter,
    read_filter,
    read_states,
    read_without,
    select,
    words,
)
from fairshare.yarn.rest.gateway import Gateway, gateway_of
from fairshare.yarn.rest.names import find_application, known_applications
from fairshare.yarn.rest.states import public_state
from fairshare.yarn.rest.submission import submit
from fairshare.yarn.views.documents import Document


class AppInfos(Document):
    """Some applications."""

    app: list[AppInfo] | UnsetType


class StatItem(Document):
    """The number of applications of a type in a state."""

    state: str
    type: str
    count: int


class AppStatInfo(Document):
    """The numbers of applications."""

    statItem: list[StatItem]


async def list_applications(request: Request, caller: Caller) -> Answer:
    """GET /apps."""
    gateway = gateway_of(request)
    wanted = read_filter(request)
    if accepted_form(request) == JSON:
        caches: DocumentCaches = request.app.state.document_caches
        written = await caches.written(lambda: _chosen(gateway, caller, wanted), wanted.without)
        content = b'{"apps":{"app":[' + b",".join(written) + b"]}}"
        return Answer(name="apps", encoded=content if written else b'{"apps":{}}')
    found = [
        application_info(gateway, one, full=full, without=wanted.without)
        async for one, full in sliced(list(_chosen(gateway, caller, wanted)))
    ]
    return Answer(AppInfos(found or UNSET), "apps")


def _chosen(gateway: Gateway, caller: Caller, wanted: Filter) -> Iterator[Shown]:
    """The requested applications, and whether the caller may view all of each."""
    queue = _queue(gateway, wanted)
    if queue is None:
        return
    known = known_applications(gateway)
    everything, yarn = sees_everything(gateway, caller), gateway.yarn
    for application in select(wanted, known, gateway.attempt_history, queue):
        if wanted.queue and not queue and not yarn.matches_filter(application, wanted.queue):
            continue
        full = everything or may_view(gateway, caller, application)
        if full or not gateway.settings.filter_by_user:
            yield application, full


def _queue(gateway: Gateway, wanted: Filter) -> str | None:
    """The full name of the requested queue; None: it has no applications. Empty: any queue.

    Raises Refused (400) for a name that the scheduler refuses.
    """
    if not wanted.queue:
        return ""
    try:
        return gateway.yarn.queue_of_filter(gateway.scheduler.state, wanted.queue)
    except InputError as error:
        raise bad_request(str(error)) from None


async def show_application(request: Request, caller: Caller) -> Answer:
    """GET /apps/ID."""
    gateway = gateway_of(request)
    application = find_application(gateway, request.path_params["application"])
    without = read_without(request)
    full = may_view(gateway, caller, application)
    return Answer(application_info(gateway, application, full=full, without=without), "app")


async def show_statistics(request: Request, caller: Caller) -> Answer:
    """GET /appstatistics."""
    gateway = gateway_of(request)
    states = read_states(words(request, "states"))
    types = {word.lower() for word in words(request, "applicationTypes")}
    if len(types) > 1:
        raise bad_request(
            f"# of applicationTypes = {len(types)}, we temporarily support at most one"
            " applicationType"
        )
    kind = next(iter(types)) if types else "*"
    counts = _count(gateway, known_applications(gateway), kind)
    items = [
        StatItem(state, kind, counts[state])
        for state in APPLICATION_STATES
        if not states or state in states
    ]
    return Answer(AppStatInfo(items), "appStatInfo")


def _count(gateway: Gateway, applications: Iterable[Application], kind: str) -> Counter[str]:
    return Counter(
        public_state(application, gateway.attempt_history.of(application.id))
        for application in applications
        if kind in ("*", application.submission.details.type.lower())
    )


ROUTES = [
    YarnRoute("/apps", get=list_applications, post=submit),
    YarnRoute("/apps/{application}", get=show_application),
    YarnRoute("/appstatistics", get=show_statistics),
]
