"""Long lists: their rows, now or at a past moment, their order, and the part of them that is asked
for.

An order by a changing value is remembered under a name that the client chooses, as long as a client
uses it: rows keep their place while their values change, and later rows are appended.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from fairshare.api.applications import ApplicationRow
from fairshare.api.nodes import Node
from fairshare.core.model.identifiers import ApplicationId
from fairshare.errors import InputError
from fairshare.server.past_views import RowHistory
from fairshare.server.server import LiveServer
from fairshare.server.web.openapi.operation import AT, NUMBER, POSITIVE, Parameter
from fairshare.server.web.requests import server_of, whole_number

MAX_ORDERS = 256
"""How many orders are remembered, the most recently used ones; a dropped one is computed again."""

MAX_PASTS = 4
"""Past moments whose rows are cached: a view of one moment needs it several times."""

MOST_ROWS = 100_000
MOST_TEXT = 1_000

PART: Final = (
    Parameter("search", "A part of what names a row."),
    Parameter("sort", "A column; with `-` before it the most first."),
    Parameter("order", "Any name for this order: asked for by it again, rows keep their places."),
    Parameter("offset", "How many are passed over; the answer then has `page`.", NUMBER),
    Parameter("limit", "How many at most.", POSITIVE),
    AT,
)
"""The parameters of the rows of a list."""

Key = TypeVar("Key", int, str)
Row = TypeVar("Row", ApplicationRow, Node)


class Listings:
    """The lists of one server."""

    def __init__(self, server: LiveServer) -> None:
        self._server = server
        self._orders: OrderedDict[str, tuple[Hashable, dict[Any, None]]] = OrderedDict()
        self._pasts: OrderedDict[tuple[str, int], dict[Any, Any]] = OrderedDict()

    async def applications(self, at_ms: int | None) -> dict[ApplicationId, ApplicationRow]:
        """All applications by number, the oldest first; `at_ms` is the instant of a moment."""
        if at_ms is None:
            known = self._server.service.state.applications
            return await self._server.application_rows.of_one_instant(lambda: known)
        return await self._past("applications", self._server.past_views.applications, at_ms)

    async def nodes(self, at_ms: int | None) -> dict[str, Node]:
        """All nodes by name, in the order of registration."""
        if at_ms is None:
            known = self._server.service.state.nodes
            return await self._server.node_rows.of_one_instant(lambda: known)
        return await self._past("nodes", self._server.past_views.nodes, at_ms)

    async def _past(self, kind: str, tracks: RowHistory[Key, Row], at_ms: int) -> dict[Key, Row]:
        place = (kind, at_ms)
        rows: dict[Key, Row] | None = self._pasts.get(place)
        if rows is None:
            rows = self._pasts[place] = await run_in_threadpool(tracks.at, at_ms)
            while len(self._pasts) > MAX_PASTS:
                self._pasts.popitem(last=False)
        return rows

    def order(
        self,
        name: str,
        about: Hashable,
        rows: Mapping[Key, Row],
        value: Callable[[Row], object],
        *,
        down: bool,
    ) -> list[Key]:
        """All keys by a value of their rows, equal ones by the key; remembered if it has a name.

        If an order of this name is remembered, and is `about` the same, the keys in that order;
        later ones are appended.
        """
        kept = self._orders.get(name)
        if kept is None or kept[0] != about:
            pairs = sorted((value(row), key) for key, row in rows.items())
            if down:
                pairs.reverse()
            keys = [key for _, key in pairs]
            if not name:
                return keys
            kept = self._orders[name] = (about, dict.fromkeys(keys))
            while len(self._orders) > MAX_ORDERS:
                self._orders.popitem(last=False)
        self._orders.move_to_end(name)
        ordered: dict[Key, None] = kept[1]
        for key in rows:
            ordered.setdefault(key)
        return [key for key in ordered if key in rows]


def listings_of(request: Request) -> Listings:
    """The lists of the server that handles a request."""
    found = request.app.state.listings
    assert isinstance(found, Listings)
    return found


def instant_of(request: Request, parameters: Mapping[str, str]) -> int | None:
    """The instant of the moment that `at` names; None for now. Raises InputError
    (`unknown-moment`)."""
    if "at" not in parameters:
        return None
    at_ms = whole_number(parameters, "at", 0, 2**63 - 1)
    moments = server_of(request).past_views
    instant_ms = moments.instant(at_ms)
    if instant_ms is None:
        raise moments.unknown(at_ms)
    return instant_ms


def text_of(parameters: Mapping[str, str], name: str) -> str:
    """A parameter that is a text of some length; empty if it is not given."""
    text = parameters.get(name, "")
    if len(text) > MOST_TEXT:
        raise InputError("bad-request", f"{name}: at most {MOST_TEXT:,} characters are taken")
    return text


def sort_of(parameters: Mapping[str, str], columns: Sequence[str]) -> tuple[str, bool]:
    """The column to sort by (empty: none), and whether descending: `-used` has the most first."""
    text = parameters.get("sort", "")
    column, down = text.removeprefix("-"), text.startswith("-")
    if column and column not in columns:
        known = ", ".join(columns)
        raise InputError("bad-request", f"sort={text}: there is no such column, only: {known}")
    return column, down


def part_of(parameters: Mapping[str, str]) -> slice:
    """Which of the rows that match are asked for: `limit` from `offset` on."""
    offset = whole_number(parameters, "offset", 0, 2**31 - 1)
    limit = whole_number(parameters, "limit", MOST_ROWS, MOST_ROWS, least=1)
    return slice(offset, offset + limit)
