"""The paths by which the pages list applications, now and at a past moment."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from fairshare.api.applications import ApplicationRow
from fairshare.api.pages import ApplicationLine, ApplicationLines, Choices, PastApplication
from fairshare.core.model.events import ApplicationState
from fairshare.core.model.identifiers import ApplicationId, parse_application
from fairshare.errors import InputError
from fairshare.server.web.answers import answer
from fairshare.server.web.applications import present
from fairshare.server.web.openapi.operation import AT, Parameter, get
from fairshare.server.web.pages.listings import (
    PART,
    instant_of,
    listings_of,
    part_of,
    sort_of,
    text_of,
)
from fairshare.server.web.requests import read_parameters, server_of

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
    "elapsed": lambda one, now_ms: (one.finished_ms or now_ms) - (one.began_ms or one.submitted_ms),
}
"""The columns by which a list may be sorted, and the value of each at an instant."""


def group_of(one: ApplicationRow) -> str:
    """The state of an application as a word of `GROUPS`: it runs if it has a container."""
    return _ENDS.get(one.state, "running" if one.containers else "waiting")


async def list_lines(request: Request) -> Response:
    """GET /pages/applications: the newest first, a screenful at a time.

    `state` is a word of `CHOICES`; `queue` selects a queue and all below it; `search` a part of
    name, id, user or queue; `sort` a column, with the prefix `-` for descending. `order` is any
    name: rows keep their places in later requests with it. `at`: the state at a past moment, which
    has no diagnostics. `held` and `containers` are sums over all that match.
    """
    parameters = read_parameters(request)
    at_ms = instant_of(request, parameters)
    group = parameters.get("state", "")
    if group and group not in CHOICES:
        known = ", ".join(CHOICES)
        raise InputError("bad-request", f"state={group}: the words are {known}, or none for all")
    chosen = CHOICES.get(group, GROUPS)
    column, down = sort_of(parameters, tuple(SORTS))
    wanted = _wanted(request, parameters)
    server = server_of(request)
    lists = listings_of(request)
    lines = await lists.applications(at_ms)
    if column:
        now_ms = server.service.now_ms() if at_ms is None else at_ms
        value = SORTS[column]
        about = ("applications", column, down, at_ms)
        keys = lists.order(
            text_of(parameters, "order"), about, lines, lambda one: value(one, now_ms), down=down
        )
    else:
        keys = list(lines)[::-1]
    counts: Counter[str] = Counter()
    matching: list[ApplicationId] = []
    held = containers = 0
    for key in keys:
        line = lines[key]
        if not wanted(line):
            continue
        state_group = group_of(line)
        counts[state_group] += 1
        if state_group not in chosen:
            continue
        matching.append(key)
        containers += line.containers
        held += state_group == "waiting" and not line.runnable
    offset, shown = part_of(parameters, matching)
    screen = {key: lines[key] for key in shown}
    rows = list(screen.values()) if at_ms is not None else present(request, screen)
    return answer(
        ApplicationLines(
            at_ms=at_ms,
            known=len(lines),
            counts={"all": counts.total(), **{word: counts[word] for word in GROUPS}},
            matching=len(matching),
            held=held,
            containers=containers,
            offset=offset,
            rows=tuple(_line(row) for row in rows),
        )
    )


def _wanted(request: Request, parameters: Mapping[str, str]) -> Callable[[ApplicationRow], bool]:
    """Whether a line is of the user, below the queue, and has the text."""
    user, queue = text_of(parameters, "user"), text_of(parameters, "queue")
    low = text_of(parameters, "search").casefold()

    def wanted(one: ApplicationRow) -> bool:
        if user and one.user != user:
            return False
        if queue and one.queue != queue and not one.queue.startswith(f"{queue}."):
            return False
        if not low:
            return True
        return low in f"{one.id} {one.name} {one.user} {one.queue}".casefold()

    return wanted


def _line(row: ApplicationRow) -> ApplicationLine:
    return ApplicationLine(*(getattr(row, name) for name in ApplicationLine.__struct_fields__))


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


async def show_line(request: Request) -> Response:
    """GET /pages/applications/ID: the application at the past moment `at`; 404 if it did not exist,
    or no remembered state is that old."""
    parameters = read_parameters(request)
    at_ms = instant_of(request, parameters)
    if at_ms is None:
        raise InputError("bad-request", "at: the instant in milliseconds is needed")
    text = request.path_params["application"]
    server = server_of(request)
    number = parse_application(text)
    line = None if number is None else server.past_views.applications.one(number, at_ms)
    if line is None or text not in (str(number), line.id):
        raise InputError(
            "unknown-application",
            f"there was no application '{text}' at that moment, or it is not remembered any more",
        )
    return answer({"at_ms": at_ms, **msgspec.structs.asdict(_line(line))})


ROUTES = [
    get(
        "/pages/applications",
        list_lines,
        "pages",
        ApplicationLines,
        Parameter("state", "waiting, running, finished, failed or killed."),
        Parameter("user", "Only his."),
        Parameter("queue", "Only those of this queue and of all below it."),
        *PART,
    ),
    get("/pages/applications/choices", list_choices, "pages", Choices),
    get("/pages/applications/{application}", show_line, "pages", PastApplication, AT),
]
