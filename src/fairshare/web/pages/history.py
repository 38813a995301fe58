"""Owns the path of a queue's shares over time."""

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from fairshare.api.queues import History
from fairshare.api.queues import Point as NamedPoint
from fairshare.errors import InputError
from fairshare.insight.shares import used_share
from fairshare.model.resources import ResourceTypes, positive, smallest, subtract
from fairshare.server.past_views import Point
from fairshare.web.answers import answer, filled
from fairshare.web.openapi.operation import NUMBER, Parameter, get
from fairshare.web.requests import read_parameters, server_of, whole_number

MOST_POINTS = 2_000
DEFAULT_POINTS = 600


async def show_history(request: Request) -> Response:
    """GET /history: the lines of a queue from `since` to `until`, at most `points` points.

    The default queue is root. `began_ms` is the instant since which shares are remembered: a server
    starts with an empty history. A point holds until the next one.
    """
    parameters = read_parameters(request)
    server = server_of(request)
    now_ms = server.service.now_ms()
    queues = server.service.views.queues
    queue = parameters.get("queue") or (queues[0].name if queues else "root")
    if len(queue) > 1_000:
        raise InputError("bad-request", "queue: a name of at most 1,000 characters is needed")
    since_ms = whole_number(parameters, "since", 0, 2**63 - 1)
    until_ms = whole_number(parameters, "until", now_ms, 2**63 - 1)
    most = whole_number(parameters, "points", DEFAULT_POINTS, MOST_POINTS, least=2)
    points = await run_in_threadpool(server.past_views.series, queue, since_ms, until_ms, most)
    types = server.service.state.types
    return answer(
        History(
            queue,
            server.past_views.began_ms,
            now_ms,
            tuple(point_row(point, types) for point in points),
        )
    )


def point_row(point: Point, types: ResourceTypes) -> NamedPoint:
    """One point, with the queue's entitlement, and the part of the cluster that it used."""
    entitled = smallest(point.demand, point.fair_share)
    return filled(
        NamedPoint,
        point,
        types,
        used_share=used_share(point.used, point.total),
        entitled=types.mapping(entitled),
        owed=types.mapping(positive(subtract(entitled, point.used))),
    )


ROUTES = [
    get(
        "/history",
        show_history,
        "queues",
        History,
        Parameter("queue", "Its whole name; without it root."),
        Parameter("since", "Milliseconds.", NUMBER),
        Parameter("until", "Milliseconds.", NUMBER),
        Parameter("points", "How many at most.", NUMBER),
    )
]
