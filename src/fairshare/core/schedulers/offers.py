"""What the nodes of a cluster offer to an ask: those that it may use, that have room, that are
free.

An answer holds until the state changes. Asks of one size and partition that accept every node have
the same answer, which a `Survey` keeps: it is for questions about many applications at once.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

from fairshare.core.model.asks import AskKey
from fairshare.core.model.nodes import Drain, Node
from fairshare.core.model.resources import Resource, fits, subtract


class Offers:
    """The nodes of an ask's partition as one container of it finds them.

    `refused` is the application's blacklist: hosts and racks. `drained` are the drained nodes.
    `types` is how many of the resource types count, from the first on.
    """

    def __init__(
        self,
        key: AskKey,
        size: Resource,
        partition: Sequence[Node],
        drained: Mapping[str, Drain],
        refused: Mapping[str, None],
        types: int,
    ) -> None:
        self._key = key
        self._size = size[:types]
        self._types = types
        self._drained = drained
        self._refused = refused
        self.partition = partition

    @cached_property
    def nodes(self) -> Sequence[Node]:
        """The nodes that are not drained."""
        if not self._drained:
            return self.partition
        return [node for node in self.partition if node.name not in self._drained]

    @cached_property
    def accepted(self) -> Sequence[Node]:
        """The nodes that the ask would accept after waiting long enough."""
        return [node for node in self.nodes if accepts(self._key, node)]

    @cached_property
    def large(self) -> Sequence[Node]:
        """The accepted nodes on which a container fits when they are empty."""
        return [node for node in self.accepted if self._fits(node.total)]

    @cached_property
    def nearest_in_size(self) -> Node:
        """The accepted node that comes nearest to being large enough; there must be one."""
        return max(self.accepted, key=lambda node: (self._nearness(node.total), node.name))

    @cached_property
    def drained_large(self) -> Sequence[str]:
        """The drained nodes on which a container would fit when they are empty."""
        return sorted(
            node.name
            for node in self.partition
            if (drain := self._drained.get(node.name)) is not None
            and accepts(self._key, node)
            and self._fits(drain.total)
        )

    @cached_property
    def usable(self) -> Sequence[Node]:
        """The large nodes that the application does not refuse."""
        if not self._refused:
            return self.large
        return [node for node in self.large if not self._refuses(node)]

    @cached_property
    def refused_room(self) -> str:
        """The first node with room for a container that the application refuses; empty if none
        has."""
        if not self._refused:
            return ""
        roomy = (one for one in self.large if self._refuses(one) and self._fits(one.available))
        return min((node.name for node in roomy), default="")

    @cached_property
    def roomy(self) -> Sequence[Node]:
        """The usable nodes with room for a container now."""
        return [node for node in self.usable if self._fits(node.available)]

    @cached_property
    def nearest(self) -> Node:
        """The usable node that comes nearest to having room; there must be one."""
        return max(self.usable, key=lambda node: (self._nearness(node.available), node.name))

    @cached_property
    def free(self) -> Sequence[Node]:
        """The roomy nodes that are not kept for other applications."""
        return [
            node
            for node in self.roomy
            if not node.promised and self._fits(node.for_others(node.available))
        ]

    @cached_property
    def drained_room(self) -> str:
        """The first drained node that has room for a container; empty if none has."""
        return min(
            (
                node.name
                for node in self.partition
                if (drain := self._drained.get(node.name)) is not None
                and accepts(self._key, node)
                and self._fits(subtract(drain.total, node.used))
            ),
            default="",
        )

    def _fits(self, room: Resource) -> bool:
        return fits(self._size, room[: self._types])

    def _refuses(self, node: Node) -> bool:
        return node.host in self._refused or node.rack in self._refused

    def _nearness(self, room: Resource) -> float:
        """The part that is there of the scarcest type: 1 or more is room for one container."""
        pairs = zip(self._size, room, strict=False)  # types that do not count are in the room only
        return min((amount / size for size, amount in pairs if size), default=1.0)


class Survey:
    """The offers to asks of many applications, while the state does not change."""

    def __init__(self) -> None:
        self._offers: dict[tuple[str, Resource], Offers] = {}

    def offers(
        self,
        key: AskKey,
        size: Resource,
        partition: Callable[[AskKey], Iterable[Node]],
        drained: Mapping[str, Drain],
        refused: Mapping[str, None],
        types: int,
    ) -> Offers:
        """The offers to an ask; `partition` returns the nodes of its partition."""
        ask = key.anywhere
        if key.places or refused or ask is None or not ask.relax:
            return Offers(key, size, tuple(partition(key)), drained, refused, types)
        offers = self._offers.get((key.label, size))
        if offers is None:
            offers = Offers(key, size, tuple(partition(key)), drained, refused, types)
            self._offers[key.label, size] = offers
        return offers


def accepts(key: AskKey, node: Node) -> bool:
    """Whether an ask would accept a node after waiting long enough."""
    ask = key.anywhere
    assert ask is not None
    rack = key.places.get(node.rack)
    if rack is not None and not rack.relax:
        return node.host in key.places
    return ask.relax or rack is not None
