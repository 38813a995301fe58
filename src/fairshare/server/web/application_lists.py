"""Lists of applications, now and at a past moment: sorted, filtered, whole or in parts."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType
from starlette.requests import Request
from starlette.responses import Response

from fairshare.api import routes
from fairshare.api.applications import ApplicationRow, ApplicationsPage
from fairshare.api.pages import Choices, UserNow, UsersNow
from fairshare.core.model.events import ApplicationState, EndCause
from fairshare.core.model.identifiers import ApplicationId
from fairshare.errors import InputError
from fairshare.server.views import amounts_of
from fairshare.server.web.actors import identity_of, sees_all_of
from fairshare.server.web.answers import answer, listed
from fairshare.server.web.listings import PART, instant_of, listings_of, part_of, sort_of, text_of
from fairshare.server.web.openapi.operation import Parameter, get, serve
from fairshare.server.web.requests import read_parameters, server_of
from fairshare.settings.registry import family_of
from fairshare.wording import without_output

GROUPS: Final = ("waiting", "running", "finished", "failed", "killed")

CHOICES: Final = {"alive": GROUPS[:2], **{word: (word,) for word in GROUPS}}
"""The filters by state that a reader may choose."""

_ENDS: Final[dict[str, str]] = {
    ApplicationState.FINISHED: "finished",
    ApplicationState.FAILED: "failed",
    ApplicationState.REJECTED: "failed",
    ApplicationState.KILLED: "killed",
}

SORTS: Final[dict[str, Callable[[ApplicationRow, int], Any]]] = {
    "id": lambda one, _: 0,  # equal ones are in the order of their numbers
    "name": lambda one, _: one.name.casefold(),
    "user": lambda one, _: one.user,
    "queue": lambda one, _: one.queue,
    "state": lambda one, _: GROUPS.index(group_of(one)),
    "progress": lambda one, _: (
        one.progress.succeeded / one.progress.total if one.progress and one.progress.total else -1.0
    ),
    "containers": lambda one, _: one.containers,
    "used": lambda one, _: tuple(one.used.values()),
    "pending": lambda one, _: tuple(one.pending.values()),
    "priority": lambda one, _: one.priority,
    "submitted": lambda one, _: one.submitted_ms,
    "waited": lambda one, now_ms: (one.began_ms or one.finished_ms or now_ms) - one.submitted_ms,
    "elapsed": lambda one, now_ms: (
        (one.finished_ms or now_ms) - one.began_ms if one.began_ms else -1
    ),
}
"""The columns by which a list may be sorted, and the value of each at an instant."""


MOST_USERS: Final = 1_000
"""The most users that the pages list."""

ALIVE: Final = "alive"
"""The order in which those that wait or run come before those that have ended, each the newest
first. A row does not keep its place in it."""


def group_of(one: ApplicationRow) -> str:
    """The state of an application as a word of `GROUPS`: it runs if it has a container."""
    return _ENDS.get(one.state, "running" if one.containers else "waiting")


async def list_applications(request: Request) -> Response:
    """GET /applications: the newest first; `state` takes several, separated by commas.

    `only` is waiting (without containers), running, alive (either of them), finished, failed or
    killed; `below` selects a queue and all below it; `search` a part of name, id, user or queue;
    `sort` a column, with the prefix `-` for descending, or `alive`: what has not ended first.
    `order` is any name: rows keep their places
    in later requests with it. `at`: the state at a past moment, which has no shares and no
    diagnostics.
    """
    parameters = read_parameters(request)
    server = server_of(request)
    identity = identity_of(request)
    reader = None if identity is None or identity.administrator else identity.user
    key = ("applications", reader, *sorted(parameters.items()))
    views = server.service.views
    content = views.kept(key)
    if content is None:
        at_ms, part = instant_of(request, parameters), part_of(parameters)
        newest = parameters.keys().isdisjoint(("at", "sort", "offset"))
        page: ApplicationsPage | UnsetType = UNSET
        if newest:  # nothing is said of the rows that are not shown, so they are not looked at
            fits, groups = _filter(parameters), _groups(parameters)
            shown = await server.application_rows.newest(
                lambda row: fits(row) and group_of(row) in groups, part.stop
            )
        else:
            rows = await _ordered(request, parameters, at_ms)
            matching, sums = _matching(rows, parameters, at_ms, part.start)
            shown = {number: rows[number] for number in matching[part]}
            page = sums if "offset" in parameters else UNSET
        content = await listed(
            "applications",
            present(request, shown) if at_ms is None else shown.values(),
            page=page,
        )
        if newest and server.service.views is views:
            views.keep(key, content)
    return Response(content, media_type="application/json")


async def _ordered(
    request: Request, parameters: Mapping[str, str], at_ms: int | None
) -> dict[ApplicationId, ApplicationRow]:
    """All rows in the requested order."""
    column, down = sort_of(parameters, (ALIVE, *SORTS))
    listings = listings_of(request)
    rows = await listings.applications(at_ms)
    if not column:
        return {number: rows[number] for number in reversed(rows)}
    if column == ALIVE:
        over = {number: rows[number].state in _ENDS for number in reversed(rows)}
        # The sort is stable: the newest first also among the others.
        return {number: rows[number] for number in sorted(over, key=over.__getitem__, reverse=down)}
    now_ms = server_of(request).service.now_ms() if at_ms is None else at_ms
    value = SORTS[column]
    about = ("applications", column, down, at_ms)
    order = text_of(parameters, "order")
    keys = listings.order(order, about, rows, lambda row: value(row, now_ms), down=down)
    return {number: rows[number] for number in keys}


def _matching(
    rows: Mapping[ApplicationId, ApplicationRow],
    parameters: Mapping[str, str],
    at_ms: int | None,
    offset: int,
) -> tuple[list[ApplicationId], ApplicationsPage]:
    """The requested applications, and what is said of all of them."""
    fits, groups = _filter(parameters), _groups(parameters)
    counts: Counter[str] = Counter()
    matching: list[ApplicationId] = []
    held = containers = 0
    for number, row in rows.items():
        if not fits(row):
            continue
        group = group_of(row)
        counts[group] += 1
        if group in groups:
            matching.append(number)
            containers += row.containers
            held += group == "waiting" and not row.runnable
    page = ApplicationsPage(
        at_ms=at_ms,
        known=len(rows),
        counts={"all": counts.total(), **{word: counts[word] for word in GROUPS}},
        matching=len(matching),
        held=held,
        containers=containers,
        offset=offset,
    )
    return matching, page


def _groups(parameters: Mapping[str, str]) -> tuple[str, ...]:
    """The groups that `only` asks for."""
    only = text_of(parameters, "only")
    if only and only not in CHOICES:
        known = ", ".join(CHOICES)
        raise InputError("bad-request", f"only={only}: the words are {known}, or none for all")
    return CHOICES.get(only, GROUPS)


def _filter(parameters: Mapping[str, str]) -> Callable[[ApplicationRow], bool]:
    """Whether a row has the requested state, tag, user, queue and text."""
    states = wanted_states(parameters.get("state"))
    tag, user, queue = (parameters.get(name) for name in ("tag", "user", "queue"))
    below, low = text_of(parameters, "below"), text_of(parameters, "search").casefold()

    def fits(row: ApplicationRow) -> bool:
        if states is not None and row.state not in states and row.cause not in states:
            return False
        if tag is not None and tag not in row.tags:
            return False
        if user is not None and row.user != user:
            return False
        if queue is not None and row.queue not in (queue, f"root.{queue}"):
            return False
        if below and row.queue != below and not row.queue.startswith(f"{below}."):
            return False
        return not low or low in f"{row.id} {row.name} {row.user} {row.queue}".casefold()

    return fits


def present(
    request: Request, rows: Mapping[ApplicationId, ApplicationRow]
) -> Iterator[ApplicationRow]:
    """Rows with their `VolatileFields`, all of the instant of the call: what is made of these later
    does not depend on the state. Diagnostics have no output of commands that only others may see.
    """
    server = server_of(request)
    state = server.service.state
    look = family_of(server.scheduler_name).volatile_fields(server.scheduler)
    identity = identity_of(request)
    everything = identity is None or identity.administrator
    captured = []
    for number, row in rows.items():
        application = state.applications[number]
        fields = look(application)
        full = everything or not fields.diagnostics or sees_all_of(request, application)
        captured.append((row, fields, full))
    return (
        msgspec.structs.replace(
            row,
            demand=amounts_of(state.types, fields.demand),
            fair_share=amounts_of(state.types, fields.fair_share),
            headroom=amounts_of(state.types, fields.headroom),
            diagnostics=fields.diagnostics if full else without_output(fields.diagnostics),
            job=fields.job,
        )
        for row, fields, full in captured
    )


def wanted_states(text: str | None) -> frozenset[str] | None:
    """The states named in `RUNNING,PENDING`, among them the causes of failures; None for all.
    Raises InputError."""
    if text is None:
        return None
    states = frozenset(text.upper().split(","))
    known = (*ApplicationState, *filter(None, EndCause))
    if not states <= {*known}:
        raise InputError("bad-request", f"state={text}: the states are {', '.join(known)}")
    return states


async def list_choices(request: Request) -> Response:
    """GET /pages/applications/choices: the users and the queues of the known applications."""
    read_parameters(request)
    lines = server_of(request).application_rows.all().values()
    return answer(
        Choices(
            users=sorted({line.user for line in lines}),
            queues=sorted({line.queue for line in lines}),
        )
    )


async def list_users(request: Request) -> Response:
    """GET /pages/users: what users have now, at most some seconds old."""
    read_parameters(request)
    server = server_of(request)
    users = await server.state_metrics.users()
    types = server.service.state.types
    shown = (
        UserNow(
            user=user,
            running=counts.running,
            waiting=counts.waiting,
            containers=counts.containers,
            used=amounts_of(types, counts.used),
            pending=amounts_of(types, counts.pending),
        )
        for user, counts in users[:MOST_USERS]
    )
    total = amounts_of(types, server.service.views.cluster.total)
    return answer(UsersNow(total, len(users), tuple(shown)))


ROUTES = [
    serve(
        routes.LIST_APPLICATIONS,
        list_applications,
        "applications",
        Parameter("state", "Several with commas between."),
        Parameter("only", "waiting, running, alive, finished, failed or killed."),
        Parameter("user", "Only those of this user."),
        Parameter("queue", "Only those of this queue."),
        Parameter("below", "Only those of this queue and of all below it."),
        Parameter("tag", "Only those with this tag."),
        *PART,
    ),
    get("/pages/applications/choices", list_choices, "pages", Choices),
    get("/pages/users", list_users, "pages", UsersNow),
]
