"""An application's table of asks: the outstanding requests, their places and their order.

The scheduler serves keys by priority (lower first), then by allocation request id. A key has
entries by place: the entry for anywhere (`*`) holds the total number of containers, the others the
preferred places (as in Hadoop: a container allocated on a node counts down the entries of the node,
of its rack, and of anywhere).
"""

from bisect import insort
from collections.abc import Mapping
from functools import lru_cache
from typing import ClassVar, Final

from fairshare.core.model.events import Locality
from fairshare.core.model.nothing import NOTHING
from fairshare.core.model.resources import Resource, add, scale
from fairshare.core.model.work import ANYWHERE, ResourceRequest

NONE_WITHDRAWN: Final[frozenset[str]] = frozenset()
"""One object for all keys: each empty set of its own takes 216 bytes."""


@lru_cache(1_024)
def _order(priority: int, request: int) -> tuple[int, int]:
    """One object for all that are equal: most applications ask in the same order."""
    return priority, request


class Ask:
    """A number of containers of one size at one place."""

    __slots__ = ("count", "relax", "resource")

    def __init__(self, count: int, resource: Resource, relax: bool) -> None:
        self.count = count
        self.resource = resource
        self.relax = relax


class AskKey:
    """All entries of one `order`, a priority and a request id, and how long they have been skipped.

    `label` is their partition. `withdrawn` are hosts and racks whose entries a count of 0 has
    replaced: Hadoop keeps such entries in its table.
    """

    __slots__ = (
        "anywhere",
        "label",
        "level",
        "opportunities",
        "order",
        "places",
        "since_ms",
        "withdrawn",
    )

    def __init__(self, order: tuple[int, int]) -> None:
        self.order = order
        self.anywhere: Ask | None = None
        self.places: dict[str, Ask] = NOTHING  # hosts and racks
        self.withdrawn = NONE_WITHDRAWN
        self.label = ""
        self.level = Locality.NODE_LOCAL
        self.opportunities = 0
        self.since_ms = 0

    def __lt__(self, other: "AskKey") -> bool:
        return self.order < other.order

    @property
    def pending(self) -> bool:
        """Whether the key has outstanding containers."""
        return self.anywhere is not None and self.anywhere.count > 0

    def offered(self, opportunities: int, level: Locality, since_ms: int) -> None:
        """Record skipped offers: their number, the locality accepted now, and since when."""
        self.opportunities = opportunities
        self.level = level
        self.since_ms = since_ms

    def size_at(self, host: str, rack: str, locality: Locality) -> Resource:
        """The size of the entry that a grant of this locality serves; KeyError if none exists."""
        if locality == Locality.OFF_SWITCH or not self.places:
            if self.anywhere is None:
                raise KeyError(self.order)
            return self.anywhere.resource
        return self.places[host if locality == Locality.NODE_LOCAL else rack].resource


class AskTable:
    """The asks of one application attempt.

    `wanting` lists the keys with outstanding containers, in the order of service. `withheld` are
    those that are not served, as they ask for a type of which a budget is used up (`closed`, the
    numbers of such types).
    """

    LATER_FIELDS: ClassVar[Mapping[str, object]] = {"closed": (), "withheld": ()}

    __slots__ = ("_types", "closed", "keys", "wanting", "withheld")

    def __init__(self, types: int) -> None:
        self._types = types
        self.closed: tuple[int, ...] = ()
        self.withheld: tuple[AskKey, ...] = ()
        self.keys: dict[tuple[int, int], AskKey] = {}
        self.wanting: list[AskKey] = []

    @property
    def pending(self) -> Resource:
        """All outstanding resources: anywhere-count times size, summed over the keys."""
        wanting = self.wanting
        if len(wanting) == 1 and (only := wanting[0].anywhere) is not None:  # nearly always
            return scale(only.resource, only.count)
        pending: Resource = (0,) * self._types
        for key in wanting:
            if key.anywhere is not None:
                pending = add(pending, scale(key.anywhere.resource, key.anywhere.count))
        return pending

    def pending_on(self, label: str) -> Resource:
        """All outstanding resources for one partition."""
        pending: Resource = (0,) * self._types
        for key in self.wanting:
            if key.label == label and key.anywhere is not None:
                pending = add(pending, scale(key.anywhere.resource, key.anywhere.count))
        return pending

    def replace(self, request: ResourceRequest) -> None:
        """Replace the entry with the same key and location."""
        order = _order(request.priority, request.request)
        key = self.keys.get(order)
        if key is None:
            if request.count <= 0 and request.location == ANYWHERE:
                return
            key = self.keys[order] = AskKey(order)
        if request.location != ANYWHERE:
            if request.count > 0:
                key.places = key.places or {}
                key.places[request.location] = Ask(request.count, request.resource, request.relax)
                key.withdrawn -= {request.location}
            else:
                key.places.pop(request.location, None)
                key.withdrawn |= {request.location}
            return
        wanted = key.pending
        if request.count > 0:
            key.anywhere = Ask(request.count, request.resource, request.relax)
            key.label = request.label
            if not wanted and self.wanting:
                insort(self.wanting, key)
            elif not wanted:  # nearly always the only one, which needs no room for more
                self.wanting = [key]
        else:
            key.anywhere = None
            key.places = NOTHING  # as in Hadoop, which removes the whole key
            key.withdrawn = NONE_WITHDRAWN
            if wanted:
                self.wanting.remove(key)

    def close(self, types: tuple[int, ...]) -> None:
        """Serve no key that asks for one of these types from now on, and all others."""
        self.closed = types
        closed: list[AskKey] = []
        served: list[AskKey] = []
        for key in (*self.wanting, *self.withheld):
            assert key.anywhere is not None
            asks = any(key.anywhere.resource[number] for number in types)
            (closed if asks else served).append(key)
        self.withheld = tuple(sorted(closed))
        self.wanting[:] = sorted(served)

    def granted(self, key: AskKey, locality: Locality, host: str, rack: str) -> None:
        """Count down one container in the entries of anywhere and, depending on the locality, of
        the rack and the host."""
        ask = key.anywhere
        assert ask is not None
        if key.places:
            if locality == Locality.NODE_LOCAL:
                self._count_down(key, host)
            if locality != Locality.OFF_SWITCH:
                self._count_down(key, rack)
        ask.count -= 1
        if ask.count == 0:
            self.satisfied(key)

    def satisfied(self, key: AskKey) -> None:
        """Remove a key without outstanding containers from the order of service."""
        key.anywhere = None
        self.wanting.remove(key)

    @staticmethod
    def _count_down(key: AskKey, place: str) -> None:
        entry = key.places.get(place)
        if entry is not None:
            entry.count -= 1
            if entry.count <= 0:
                del key.places[place]

    def clear(self) -> None:
        self.keys.clear()
        self.wanting.clear()
        self.withheld = ()
