"""The order in which siblings are served, kept incrementally: a heap of sort keys.

The top of the heap is the first sibling. When a sibling's key changes, its new entry is pushed and
the old one stays in the heap until it reaches the top, where it is dropped: a change costs O(log n)
of the number of siblings, and the whole list is never sorted. `moved` does so at once; `changed`
leaves it to the next `first`, so that a key that changes often between two is computed once.

An entry is an integer, `key << RANK_BITS | rank`, or a tuple that ends in the rank. The rank breaks
ties (by start, by name) and is the sibling's index in `members`. (Measured alternatives:
docs/decisions/0005.)
"""

from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush, heapreplace
from typing import Any, Generic, Protocol, TypeVar

from fairshare.core.model.resources import Resource

RANK_BITS = 24
_MASK = (1 << RANK_BITS) - 1

Entry = int | tuple[float | str, ...]


class Ranked(Protocol):
    """A sibling: its rank among equals, and its entry (None: it is not in the order now)."""

    rank: int
    entry: Entry | None


class Source(Protocol):
    """The source of an order's key: a policy, which has one key for each size of cluster."""

    def key(self, cluster: Resource) -> tuple[Callable[[Any], Entry], bool]:
        """The key, and whether it returns integers."""


SiblingType = TypeVar("SiblingType", bound=Ranked)


class Order(Generic[SiblingType]):
    """Siblings by a policy's key. `key(sibling)` returns the entry, which must end in its rank.

    The entries of those in `stale` may be older than their keys.
    """

    __slots__ = ("heap", "key", "members", "source", "stale", "whole_numbers")

    def __init__(self, key: Callable[[SiblingType], Entry], whole_numbers: bool) -> None:
        self.heap: list[Any] = []  # entries, all of one form
        self.members: list[SiblingType | None] = []  # by rank
        self.stale: dict[SiblingType, None] = {}
        self.key = key
        self.whole_numbers = whole_numbers
        self.source: tuple[Source, Resource] | None = None

    def follow(self, policy: Source, cluster: Resource) -> None:
        """Use a policy's key for a cluster of this size; the caller then calls `refresh`."""
        self.key, self.whole_numbers = policy.key(cluster)
        self.source = (policy, cluster)

    def derive(self) -> None:
        """Restore the key, a function and therefore not part of a snapshot; without a source the
        owner of the order sets it."""
        if self.source is not None:
            policy, cluster = self.source
            self.key = policy.key(cluster)[0]

    def append(self, sibling: SiblingType) -> None:
        """Give a sibling the last rank; it is not in the order yet."""
        sibling.rank = len(self.members)
        sibling.entry = None
        self.members.append(sibling)

    def renumber(self, siblings: Sequence[SiblingType]) -> None:
        """Give all siblings new ranks, in this sequence; those that were in the order stay in
        it."""
        self.members = list(siblings)
        for rank, sibling in enumerate(siblings):
            sibling.rank = rank
        self.refresh()

    def first(self) -> SiblingType | None:
        """The sibling that is served next; None when the order is empty."""
        heap = self.heap
        if self.stale and len(heap) != 1:  # a single one is first, whatever its key
            self._move_stale()
            heap = self.heap
        while heap:
            entry = heap[0]
            rank: int = entry & _MASK if self.whole_numbers else entry[-1]
            sibling = self.members[rank]
            if sibling is not None and sibling.entry == entry:
                return sibling
            heappop(heap)  # stale: the sibling has moved or left
        return None

    def moved(self, sibling: SiblingType) -> None:
        """Add a sibling to the order, or move it to where its key now belongs."""
        entry = self.key(sibling)
        old = sibling.entry
        if entry == old:
            return
        sibling.entry = entry
        heap = self.heap
        if heap and heap[0] == old:
            heapreplace(heap, entry)
        else:
            heappush(heap, entry)
            if len(heap) > 2 * len(self.members) + 64:
                self._rebuild()

    def changed(self, sibling: SiblingType) -> None:
        """The key of a sibling in the order has changed: it moves before the next `first`."""
        self.stale[sibling] = None

    def _move_stale(self) -> None:
        """As `moved` for all, and written out: most containers come by here twice."""
        heap, key = self.heap, self.key
        for sibling in self.stale:
            old = sibling.entry
            if old is None:  # it has left
                continue
            entry = key(sibling)
            if entry != old:
                sibling.entry = entry
                if heap and heap[0] == old:
                    heapreplace(heap, entry)
                else:
                    heappush(heap, entry)
        self.stale.clear()
        if len(heap) > 2 * len(self.members) + 64:
            self._rebuild()

    def leave(self, sibling: SiblingType) -> None:
        """Take a sibling out of the order."""
        sibling.entry = None

    def put_aside(self, sibling: SiblingType) -> Entry:
        """Take a sibling out of the order for a while; returns its entry for `enter_again`."""
        if sibling in self.stale:
            del self.stale[sibling]
            sibling.entry = self.key(sibling)
        entry = sibling.entry
        assert entry is not None
        sibling.entry = None
        return entry

    def enter_again(self, sibling: SiblingType, entry: Entry) -> None:
        """Put back a sibling that was put aside with this entry and has not changed since."""
        sibling.entry = entry
        heappush(self.heap, entry)

    def forget(self, sibling: SiblingType) -> None:
        """Remove a sibling permanently; its rank stays empty until the siblings are renumbered."""
        sibling.entry = None
        self.stale.pop(sibling, None)
        if sibling.rank < len(self.members) and self.members[sibling.rank] is sibling:
            self.members[sibling.rank] = None

    def refresh(self) -> None:
        """Recompute all keys, after ranks, weights or the cluster's size have changed."""
        for sibling in self.members:
            if sibling is not None and sibling.entry is not None:
                sibling.entry = self.key(sibling)
        self.stale.clear()
        self._rebuild()

    def _rebuild(self) -> None:
        self.heap = [s.entry for s in self.members if s is not None and s.entry is not None]
        heapify(self.heap)
