"""Owns the path of the queue tree as one screen shows it: the rows in sight, with all their fields.

Of a thousand queues few are open at a time; the others are only counted, and sent when they are
opened or searched for.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from fairshare.api.pages import QueueTree
from fairshare.insight.shares import Share, Shares
from fairshare.schedulers.views import QueueView
from fairshare.server.slices import made_in_slices, sliced
from fairshare.web.answers import answer
from fairshare.web.openapi.operation import AT, Parameter, get
from fairshare.web.pages.listings import text_of
from fairshare.web.queues import moment_at, queue_row
from fairshare.web.requests import read_parameters, server_of, whole_number

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
    server = server_of(request)
    service = server.service
    types = service.state.types
    at_ms = None
    if "at" in parameters:
        moment = moment_at(request, whole_number(parameters, "at", 0, 2**63 - 1))
        queues, total, at_ms = moment.queues, moment.cluster.total, moment.at_ms
    else:
        queues = await made_in_slices(service.views.queues_in_steps())
        total = service.views.cluster.total
    reckoned = Shares(queues, total, types)
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
    known = {view.name: view for view in queues}
    turned = dict.fromkeys(folds)
    wanted: dict[str, None] = {}

    def with_all_above(name: str) -> None:
        while name in known and name not in wanted:
            wanted[name] = None
            name = known[name].parent

    for view in queues:
        if not view.parent or not known[view.parent].parent:
            wanted[view.name] = None
        elif search or below:
            owed = view.leaf and shares[view.name].state == "owed"
            if search in view.name.casefold() and (owed or not below):
                with_all_above(view.name)
        elif view.parent in wanted and view.parent in turned:
            wanted[view.name] = None  # queues below the first level are closed at first
    with_all_above(selected)
    return wanted


ROUTES = [
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
    )
]
