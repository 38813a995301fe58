"""The paths of the accounts: applications and containers that ended, and reports of use; and of the
ledger: what queues and users were entitled to, got, and were owed.

Questions are asked in threads, few at a time: they read a file, and never hold up the scheduler.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from fairshare.api import routes
from fairshare.api.accounting import (
    REPORT_GROUPS,
    PastApplication,
    PastApplications,
    PastContainers,
    Report,
)
from fairshare.api.ledger import LEDGER_GROUPS
from fairshare.core.model.identifiers import parse_application
from fairshare.core.schedulers.past import budgets
from fairshare.errors import InputError
from fairshare.server.access.authentication import listed
from fairshare.server.accounting.queries import (
    MAX_ROWS,
    Period,
    Wanted,
    divided,
    past_applications,
    past_containers,
    report_rows,
)
from fairshare.server.insight.ledger_file import Asked, ask_file
from fairshare.server.web.actors import groups_of, identity_of
from fairshare.server.web.answers import answer
from fairshare.server.web.application_lists import wanted_states
from fairshare.server.web.openapi.operation import NUMBER, POSITIVE, Parameter, serve
from fairshare.server.web.requests import read_parameters, server_of, whole_number

TAG = "accounting"
DEFAULT_LIMIT: Final = 1_000
AT_ONCE: Final = 2
MAX_GROUPING: Final = 3
_LATEST_MS: Final = 2**53

LEDGER_MS: Final = 7 * 86_400_000
"""How much of the past the ledger is asked for by default."""

Found = TypeVar("Found")


async def list_history(request: Request) -> Response:
    """GET /accounting/applications: those that ended, the last one first.

    Also those that the server has forgotten. An application appears about a second after its end.
    Without the right to view an application its command, directory and diagnostics are empty.
    """
    parameters = read_parameters(request)
    limit = whole_number(parameters, "limit", DEFAULT_LIMIT, MAX_ROWS, least=1)
    wanted = _wanted(request, parameters)
    directory = server_of(request).accounting.directory
    found = await _asked(request, lambda: past_applications(directory, wanted, limit + 1))
    shown = await _shown(request, found[:limit])
    return answer(PastApplications(tuple(shown), len(found) > limit))


async def list_past_containers(request: Request) -> Response:
    """GET /accounting/containers: containers that ended, the last one first."""
    parameters = read_parameters(request)
    limit = whole_number(parameters, "limit", DEFAULT_LIMIT, MAX_ROWS, least=1)
    wanted = _wanted(request, parameters)
    directory = server_of(request).accounting.directory
    found = await _asked(request, lambda: past_containers(directory, wanted, limit + 1))
    return answer(PastContainers(tuple(found[:limit]), len(found) > limit))


async def show_report(request: Request) -> Response:
    """GET /accounting/report: sums of what ended containers were granted and used.

    `by` takes up to three of user, queue, tag, name, state, node, month, day. Days and months are
    those of the server's time zone. By default it is about all that is known.
    """
    parameters = read_parameters(request)
    by = tuple((parameters.get("by") or "user").split(","))
    unknown = [name for name in by if name not in REPORT_GROUPS]
    if unknown or len(set(by)) != len(by) or len(by) > MAX_GROUPING or {"month", "day"} <= {*by}:
        raise InputError(
            "bad-request",
            f"by={','.join(by)}: up to {MAX_GROUPING} different ones of"
            f" {', '.join(REPORT_GROUPS)}, and either months or days",
        )
    server = server_of(request)
    now_ms = server.service.now_ms()
    selection = _wanted(request, parameters)
    keep_ms = server.settings.accounting.keep_days * 86_400_000
    since_ms = max(selection.since_ms, now_ms - keep_ms, 0)
    until_ms = min(selection.until_ms, now_ms + 1)  # with what ended in this millisecond
    periods = [Period("", since_ms, until_ms)]
    try:
        if "month" in by:
            periods = divided(since_ms, until_ms, "month")
        elif "day" in by:
            periods = divided(since_ms, until_ms, "day")
    except ValueError as error:
        raise InputError("bad-request", str(error)) from error
    rows = []
    if periods and since_ms < until_ms:
        directory = server.accounting.directory
        rows = await _asked(request, lambda: report_rows(directory, selection, by, periods))
    shown = tuple(budgets(server.service.state, now_ms))
    return answer(
        Report(by=by, since_ms=since_ms, until_ms=until_ms, rows=tuple(rows), budgets=shown)
    )


def _wanted(request: Request, parameters: Mapping[str, str]) -> Wanted:
    """The ends that the parameters ask for. Raises InputError."""
    since_ms = whole_number(parameters, "since", 0, _LATEST_MS)
    until_ms = whole_number(parameters, "until", _LATEST_MS, _LATEST_MS)
    if until_ms <= since_ms:
        raise InputError("bad-request", "until is not after since: there is nothing in between")
    name = parameters.get("application")
    states = wanted_states(parameters.get("state"))
    application = None
    if name is not None:  # this server need not know it any more
        number = parse_application(name)
        if number is None or number >= 2**53:
            raise InputError("bad-request", f"application={name}: write an id, or its number")
        parts = name.split("_")
        epoch_ms = int(parts[1]) if len(parts) == 3 else server_of(request).epoch_ms
        application = (epoch_ms, number)
    return Wanted(
        user=parameters.get("user"),
        queue=parameters.get("queue"),
        tag=parameters.get("tag"),
        name=parameters.get("name"),
        states=tuple(sorted(states or ())),
        application=application,
        since_ms=since_ms,
        until_ms=until_ms,
    )


async def _asked(request: Request, question: Callable[[], Found]) -> Found:
    """The answer to a question, which is asked in a thread, after others: it knows what has ended
    before it."""
    waiting: asyncio.Semaphore = request.app.state.accounting_questions
    async with waiting:
        await server_of(request).accounting.catch_up()
        return await asyncio.to_thread(question)


async def _shown(
    request: Request, applications: list[tuple[PastApplication, str | None]]
) -> list[PastApplication]:
    """Applications, without what the caller may not view."""
    identity = identity_of(request)
    if identity is None or identity.administrator:
        return [row for row, _ in applications]
    groups = await groups_of(server_of(request), identity.user)
    return [
        row
        if row.user == identity.user or listed(view_acl, identity.user, groups)
        else msgspec.structs.replace(row, command="", directory="", diagnostics="")
        for row, view_acl in applications
    ]


async def show_ledger(request: Request) -> Response:
    """GET /ledger: what leaf queues were entitled to, got, lent, borrowed and were owed by cause.

    Amounts are in units times milliseconds (MB x ms), in whole hours. `by` takes some of hour,
    queue, user, label. The ledger is about 20 s behind: `complete_ms` says up to when it goes.
    By default it is about the last 7 days.
    """
    parameters = read_parameters(request)
    server = server_of(request)
    by = tuple(name for name in (parameters.get("by") or "queue").split(",") if name)
    unknown = [name for name in by if name not in LEDGER_GROUPS]
    if unknown:
        raise InputError("bad-request", f"by={','.join(by)}: some of {', '.join(LEDGER_GROUPS)}")
    now_ms = server.service.now_ms()
    since_ms = whole_number(parameters, "since", max(0, now_ms - LEDGER_MS), _LATEST_MS)
    until_ms = whole_number(parameters, "until", _LATEST_MS, _LATEST_MS)
    if until_ms <= since_ms:
        raise InputError("bad-request", "until is not after since: there is nothing in between")
    asked = Asked(
        since_ms=since_ms,
        until_ms=until_ms,
        queue=parameters.get("queue"),
        user=parameters.get("user"),
        by=by,
    )
    directory = server.directory.path
    queues = tuple(server.service.state.queues)
    waiting: asyncio.Semaphore = request.app.state.accounting_questions
    async with waiting:
        return answer(await asyncio.to_thread(ask_file, directory, asked, queues))


_FILTERS: Final = (
    Parameter("since", "Only what ended at this instant or later, in milliseconds.", NUMBER),
    Parameter("until", "Only what ended before this instant, in milliseconds.", NUMBER),
    Parameter("user", "Only that of this user."),
    Parameter("queue", "Only that of this queue, and of those below it."),
    Parameter("tag", "Only that with this tag."),
    Parameter("name", "Only that with this name."),
    Parameter("state", "Only that of applications in this state; several with commas between."),
    Parameter("application", "Only that of this application."),
)
_LIMIT: Final = Parameter("limit", "How many at most, the last ones.", POSITIVE)

ROUTES = [
    serve(routes.LIST_HISTORY, list_history, TAG, *_FILTERS, _LIMIT),
    serve(routes.LIST_PAST_CONTAINERS, list_past_containers, TAG, *_FILTERS, _LIMIT),
    serve(
        routes.SHOW_REPORT,
        show_report,
        TAG,
        Parameter("by", "What it is divided by; several with commas between."),
        *_FILTERS,
    ),
    serve(
        routes.SHOW_LEDGER,
        show_ledger,
        TAG,
        Parameter("since", "Only hours that end after this instant, in milliseconds.", NUMBER),
        Parameter("until", "Only hours that begin before this instant, in milliseconds.", NUMBER),
        Parameter("queue", "Only this queue, and those below it."),
        Parameter("user", "Only what this user had and was owed."),
        Parameter("by", "What it is divided by; several with commas between."),
    ),
]
