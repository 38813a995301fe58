"""The path of the ledger: what queues and users were entitled to, got, and were owed.

A question reads a file that another process writes, in a thread, few at a time; it never holds up
the scheduler.
"""

import asyncio
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from fairshare.api import routes
from fairshare.api.ledger import LEDGER_GROUPS
from fairshare.errors import InputError
from fairshare.server.insight.ledger_file import Asked, ask_file
from fairshare.server.web.answers import answer
from fairshare.server.web.openapi.operation import NUMBER, Parameter, serve
from fairshare.server.web.requests import read_parameters, server_of, whole_number

DEFAULT_MS: Final = 7 * 86_400_000
_LATEST_MS: Final = 2**53


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
    since_ms = whole_number(parameters, "since", max(0, now_ms - DEFAULT_MS), _LATEST_MS)
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


ROUTES = [
    serve(
        routes.SHOW_LEDGER,
        show_ledger,
        "accounting",
        Parameter("since", "Only hours that end after this instant, in milliseconds.", NUMBER),
        Parameter("until", "Only hours that begin before this instant, in milliseconds.", NUMBER),
        Parameter("queue", "Only this queue, and those below it."),
        Parameter("user", "Only what this user had and was owed."),
        Parameter("by", "What it is divided by; several with commas between."),
    )
]
