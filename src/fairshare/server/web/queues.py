"""The paths of the queues: their state now and at past moments, and what only the pages use: their
names, the parts of an unmet share, the shares of one queue over time, and the tree as one screen
shows it.

Of a thousand queues few are open at a time; the others are only counted, and sent when they are
opened or searched for.
"""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from fairshare.api import routes
from fairshare.api.pages import QueueName, QueueNames, QueueTree
from fairshare.api.queues import (
    CapacityFigures,
    History,
    Holder,
    Owed,
    PartitionFigures,
    Queue,
    Queues,
    UserFigures,
)
from fairshare.api.queues import OwedPart as NamedPart
from fairshare.api.queues import Point as NamedPoint
from fairshare.api.queues import Share as NamedShare
from fairshare.core.model.identifiers import application_name
from fairshare.core.model.queues import parent_name, parents_of
from fairshare.core.model.resources import Resource, ResourceTypes, positive, smallest, subtract
from fairshare.core.schedulers.past import with_past
from fairshare.core.schedulers.views import QueueView
from fairshare.errors import InputError
from fairshare.server.insight.owed import Claim, Debts, OwedPart, owed_parts
from fairshare.server.insight.shares import Share, Shares, beside_demand, used_share
from fairshare.server.insight.why import Explanation, words_of
from fairshare.server.past_views import PastView, Point
from fairshare.server.server import LiveServer
from fairshare.server.slices import made_in_slices, sliced
from fairshare.server.views import filled
from fairshare.server.web.answers import answer
from fairshare.server.web.listings import text_of
from fairshare.server.web.openapi.operation import AT, NUMBER, Parameter, get, serve
from fairshare.server.web.requests import read_parameters, server_of, whole_number


async def list_queues(request: Request) -> Response:
    """GET /queues: root first, parents before children; each beside its share.

    `at`: a past instant in milliseconds; the answer is the last remembered state before it, whose
    instant is `at_ms`. 404 if no remembered state is that old.
    """
    parameters = read_parameters(request)
    at_ms, queues, total, shares = await _at(request, parameters)
    types = server_of(request).service.state.types
    rows = [queue_row(view, shares.of(view), types) async for view in sliced(queues)]
    return answer(Queues(at_ms=at_ms, total=types.mapping(total), queues=tuple(rows)))


async def _at(
    request: Request, parameters: Mapping[str, str]
) -> tuple[int | None, Sequence[QueueView], Resource, Shares]:
    """The queues at the instant that the caller names, or now; with the total and their shares."""
    service = server_of(request).service
    types = service.state.types
    if "at" in parameters:
        moment = moment_at(request, whole_number(parameters, "at", 0, 2**63 - 1))
        total = moment.cluster.total
        return moment.at_ms, moment.queues, total, Shares(moment.queues, total, types)
    queues = await made_in_slices(service.views.queues_in_steps())
    total = service.views.cluster.total
    queues = with_past(service.state, queues, service.now_ms())
    return None, queues, total, Shares(queues, total, types, beside_demand(service.state))


def moment_at(request: Request, at_ms: int) -> PastView:
    """The remembered state at an instant; raises InputError (`unknown-moment`)."""
    moments = server_of(request).past_views
    moment = moments.at(at_ms)
    if moment is None:
        raise moments.unknown(at_ms)
    return moment


def queue_row(view: QueueView, share: Share, types: ResourceTypes) -> Queue:
    """One queue beside its share, with named amounts."""
    capacity = None
    if view.capacity is not None:
        capacity = filled(
            CapacityFigures,
            view.capacity,
            types,
            users=tuple(filled(UserFigures, user, types) for user in view.capacity.users),
            partitions=tuple(
                filled(PartitionFigures, part, types) for part in view.capacity.partitions
            ),
        )
    measured = filled(NamedShare, share, types)
    return filled(Queue, view, types, capacity=capacity, share=measured)


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
    """GET /queues/QUEUE/owed: the amount that the queue is owed of its scarcest type, and why.

    Waiting applications are asked for their reasons, the oldest first and at most 20 of a leaf,
    until the gap is filled or the time limit is reached. The causes are those of GET /ledger.
    """
    read_parameters(request)
    server = server_of(request)
    service = server.service
    state, views = service.state, service.views
    view = queue_called(request.path_params["queue"], views.queues)
    name = view.name
    shares = Shares(views.queues, views.cluster.total, state.types, beside_demand(state))
    share = shares.of(view)
    place = state.types.names.index(share.dominant)
    owed = share.owed[place]
    debts = service.debts()
    leaves = [one for one in debts.levels if name in (one[0], *parents_of(one[0]))]
    below = leaves if owed else []
    claims: list[Claim] = []
    parts = owed_parts(
        owed, place, _claimed(debts, below, claims), lambda claim: _explained(server, claim)
    )
    since_ms = _owed_since_ms(server, name, place) if owed else None
    waiting = {one.id for place in below for one in debts.waiting(*place)}
    return answer(
        Owed(
            queue=name,
            type=share.dominant,
            owed=owed,
            unasked=max(0, view.fair_share[place] - view.demand[place]),
            waiting=len(waiting),
            looked=len({claim.application.id for claim in claims}),
            parts=tuple(_row(server, part) for part in parts),
            sentence=share.sentence,
            since_ms=since_ms,
            holders=tuple(Holder(*held) for held in shares.over(place, name)[:MOST_HOLDERS]),
        )
    )


MOST_HOLDERS: Final = 5


def queue_called(name: str, queues: Sequence[QueueView]) -> QueueView:
    """A queue by its name, or by the last part of it, if no other queue has that. Raises InputError
    (`no-such-queue`)."""
    exact = [queue for queue in queues if queue.name in (name, f"root.{name}")]
    named = exact or [queue for queue in queues if queue.name.endswith(f".{name}")]
    if not named:
        raise InputError("no-such-queue", f"there is no queue '{name}' here (any more)")
    if len(named) > 1:
        names = ", ".join(queue.name for queue in named[:MOST_NAMED])
        more = f" and {len(named) - MOST_NAMED:,} more" if len(named) > MOST_NAMED else ""
        raise InputError("no-such-queue", f"'{name}' is the end of {names}{more}: name one of them")
    return named[0]


MOST_NAMED: Final = 5


def _owed_since_ms(server: LiveServer, queue: str, place: int) -> int | None:
    """Since when a queue that is owed something now has been owed something of a type; None: of a
    server that shows one moment this is not known."""
    since_ms = server.past_views.owed_since.get((queue, place))
    if since_ms is None and (server.started or len(server.past_views)):
        since_ms = server.service.now_ms()
    return since_ms


def _claimed(
    debts: Debts, queues: Sequence[tuple[str, str]], claims: list[Claim]
) -> Iterator[Claim]:
    """The claims of leaf queues and partitions, one queue after another within the time limit; they
    are added to `claims`."""
    began = time.perf_counter()
    for queue in queues:
        if claims and (time.perf_counter() - began) * 1_000 > LOOKED_MS:
            return
        found = debts.claims(*queue)
        claims += found
        yield from found


def _explained(server: LiveServer, claim: Claim) -> Explanation:
    """The reason of a claim in words, with all that is known of it."""
    service = server.service
    ask = claim.reason
    reasons = service.reasons(claim.application.id)
    same = [
        one
        for one in reasons
        if ask is not None and (one.priority, one.request) == (ask.priority, ask.request)
    ]
    reason = next(iter(same or reasons), ask)
    if reason is None:
        return Explanation("", "")
    return words_of(service.state, service.now_ms()).explain(reason)


def _row(server: LiveServer, part: OwedPart) -> NamedPart:
    state = server.service.state
    first = None if part.first is None else application_name(state.epoch_ms, part.first)
    return filled(NamedPart, part, state.types, first=first)


ALL_UP_TO: Final = 150
"""The most queues that are shown at once; above it only the first level is open at first."""

MOST_FOLDS: Final = 20_000


async def show_tree(request: Request) -> Response:
    """GET /pages/tree: root first, parents before children; each as in GET /queues.

    Of more than 150 queues only those in sight: those whose parents are open (`fold` names,
    separated by commas, the queues whose open state differs from the initial one), or that match
    `search` or `below` (1: leaves that are owed something) with all above them; and always the
    first level, and `queue` with all above it. `known` counts all, `owed` all leaves that are owed
    something.
    """
    parameters = read_parameters(request)
    service = server_of(request).service
    types = service.state.types
    at_ms, queues, total, reckoned = await _at(request, parameters)
    shares = {view.name: reckoned.of(view) async for view in sliced(queues)}
    shown: Collection[str] = shares
    if len(queues) > ALL_UP_TO:
        shown = in_sight(
            queues,
            shares,
            folds=parameters.get("fold", "")[:MOST_FOLDS].split(","),
            search=text_of(parameters, "search").casefold(),
            below=parameters.get("below") == "1",
            selected=text_of(parameters, "queue"),
        )
    return answer(
        QueueTree(
            at_ms=at_ms,
            total=types.mapping(total),
            known=len(queues),
            owed=sum(1 for one in queues if one.leaf and shares[one.name].state == "owed"),
            queues=tuple(
                queue_row(view, shares[view.name], types) for view in queues if view.name in shown
            ),
        )
    )


def in_sight(
    queues: Sequence[QueueView],
    shares: Mapping[str, Share],
    *,
    folds: Sequence[str],
    search: str,
    below: bool,
    selected: str,
) -> Collection[str]:
    """The names of the queues that are visible, and of those that the page needs beside them."""
    views = {view.name: view for view in queues}
    turned = dict.fromkeys(folds)
    names: dict[str, None] = {}

    def with_all_above(name: str) -> None:
        while name in views and name not in names:
            names[name] = None
            name = views[name].parent

    for view in queues:
        if not view.parent or not views[view.parent].parent:
            names[view.name] = None
        elif search or below:
            owed = view.leaf and shares[view.name].state == "owed"
            if search in view.name.casefold() and (owed or not below):
                with_all_above(view.name)
        elif view.parent in names and view.parent in turned:
            names[view.name] = None  # queues below the first level are closed at first
    with_all_above(selected)
    return names


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
    serve(routes.LIST_QUEUES, list_queues, "queues", AT),
    serve(routes.EXPLAIN_QUEUE, explain_owed, "queues"),
    get("/pages/queues", list_names, "pages", QueueNames),
    get(
        "/pages/tree",
        show_tree,
        "pages",
        QueueTree,
        Parameter("fold", "Queues that are not open or closed as at first, with commas."),
        Parameter("search", "A part of the name."),
        Parameter("below", "1: only leaves that are owed something."),
        Parameter("queue", "One that is shown in any case."),
        AT,
    ),
    get(
        "/history",
        show_history,
        "queues",
        History,
        Parameter("queue", "Its whole name; without it root."),
        Parameter("since", "Milliseconds.", NUMBER),
        Parameter("until", "Milliseconds.", NUMBER),
        Parameter("points", "How many at most.", NUMBER),
    ),
]
