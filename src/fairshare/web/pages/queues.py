"""Owns the paths of queues that only the pages use: their names, and the parts of an unmet
share."""

import time
from collections.abc import Iterator

from starlette.requests import Request
from starlette.responses import Response

from fairshare.api.pages import Owed, QueueName, QueueNames
from fairshare.api.pages import OwedPart as NamedPart
from fairshare.errors import InputError
from fairshare.insight.owed import OwedPart, Waiting, owed_parts
from fairshare.insight.shares import Shares
from fairshare.insight.why import Words
from fairshare.model.applications import Application
from fairshare.model.identifiers import application_name
from fairshare.model.queues import parent_name
from fairshare.model.resources import subtract
from fairshare.server.server import LiveServer
from fairshare.web.answers import answer, filled
from fairshare.web.openapi.operation import get
from fairshare.web.requests import read_parameters, server_of

LOOKED_MS = 40.0
"""The time limit for finding the reasons why applications wait: each is O(n) in nodes."""


async def list_names(request: Request) -> Response:
    """GET /pages/queues: all queues sorted by name, and which are leaves; without their shares, for
    lists and colours."""
    read_parameters(request)
    queues = server_of(request).service.state.queues
    rows = tuple(QueueName(name, parent_name(name), queues[name].leaf) for name in sorted(queues))
    return answer(QueueNames(rows))


async def explain_owed(request: Request) -> Response:
    """GET /pages/queues/QUEUE/owed: the amount that the queue is owed of its scarcest type, and
    why: parts by cause, which add up to it.

    `unasked` is the part of its share that no application requests. `looked` counts the waiting
    applications that were examined for their reasons, the oldest first, until the gap was filled or
    the time limit was reached.
    """
    read_parameters(request)
    server = server_of(request)
    service = server.service
    state, views = service.state, service.views
    name = request.path_params["queue"]
    view = next((one for one in views.queues if one.name == name), None)
    if view is None:
        raise InputError("no-such-queue", f"there is no queue '{name}' here (any more)")
    share = Shares(views.queues, views.cluster.total, state.types).of(view)
    place = state.types.names.index(share.dominant)
    owed = share.owed[place]
    waits = [one for one in _below(server, name) if any(one.attempt.asks.pending)] if owed else []
    looked: list[Waiting] = []
    parts = owed_parts(
        owed,
        place,
        _asked(server, waits, looked),
        subtract(state.total, state.used),
        _promised(server, waits, place),
        Words(state.types, state.epoch_ms),
    )
    return answer(
        Owed(
            queue=name,
            type=share.dominant,
            owed=owed,
            unasked=max(0, view.fair_share[place] - view.demand[place]),
            waiting=len(waits),
            looked=len(looked),
            parts=tuple(_row(server, part) for part in parts),
        )
    )


def _below(server: LiveServer, queue: str) -> list[Application]:
    """The unfinished applications of a queue and of all below it, the oldest first."""
    return [
        one
        for one in server.service.state.applications.values()
        if not one.over and (one.queue == queue or one.queue.startswith(f"{queue}."))
    ]


def _asked(
    server: LiveServer, waits: list[Application], looked: list[Waiting]
) -> Iterator[Waiting]:
    """The waiting applications with their reasons, one after another within the time limit."""
    began = time.perf_counter()
    for one in waits:
        if looked and (time.perf_counter() - began) * 1_000 > LOOKED_MS:
            return
        reasons = server.service.reasons(one.id)
        looked.append(Waiting(one.id, one.attempt.asks.pending, reasons))
        yield looked[-1]


def _promised(server: LiveServer, waits: list[Application], place: int) -> int:
    """The amounts that nodes keep free for these applications by preempting containers."""
    numbers = {one.id for one in waits}
    return sum(
        room[place]
        for node in server.service.state.nodes.values()
        for number, room in node.promised.items()
        if number in numbers
    )


def _row(server: LiveServer, part: OwedPart) -> NamedPart:
    state = server.service.state
    first = None if part.first is None else application_name(state.epoch_ms, part.first)
    return filled(NamedPart, part, state.types, first=first)


ROUTES = [
    get("/pages/queues", list_names, "pages", QueueNames),
    get("/pages/queues/{queue}/owed", explain_owed, "pages", Owed),
]
