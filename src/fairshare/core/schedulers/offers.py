"""What the nodes of a cluster offer to an ask: those that it may use, that have room, that are
free.

An answer holds until the state changes. Asks of one size and partition that accept every node have
the same answer, which a `Survey` keeps: it is for questions about many applications at once.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

from fairshare.core.model.asks import AskKey
from fairshare.core.model.nodes import Drain, Node
from fairshare.core.model.resources import Resource, fits, largest, subtract


class Offers:
    """The nodes of an ask's partition as one container of it finds them.

    `refused` is the application's blacklist: hosts and racks. `drained` are the drained nodes.
    """

    def __init__(
        self,
        key: AskKey,
        size: Resource,
        partition: Sequence[Node],
        drained: Mapping[str, Drain],
        refused: Mapping[str, None],
    ) -> None:
        self._key = key
        self._size = size
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
        return [node for node in self.nodes if _accepts(self._key, node)]

    @cached_property
    def large(self) -> Sequence[Node]:
        """The accepted nodes on which a container fits when they are empty."""
        return [node for node in self.accepted if fits(self._size, node.total)]

    @cached_property
    def largest(self) -> Resource:
        """The maximum of any accepted node, by type; there must be one."""
        most = self.accepted[0].total
        for node in self.accepted:
            most = largest(most, node.total)
        return most

    @cached_property
    def usable(self) -> Sequence[Node]:
        """The large nodes that the application does not refuse."""
        refused = self._refused
        if not refused:
            return self.large
        return [
            node for node in self.large if node.host not in refused and node.rack not in refused
        ]

    @cached_property
    def roomy(self) -> Sequence[Node]:
        """The usable nodes with room for a container now."""
        return [node for node in self.usable if fits(self._size, node.available)]

    @cached_property
    def nearest(self) -> Node:
        """The usable node that comes nearest to having room; there must be one."""
        size = self._size
        return max(self.usable, key=lambda node: (_nearness(size, node.available), node.name))

    @cached_property
    def free(self) -> Sequence[Node]:
        """The roomy nodes that are not kept for other applications."""
        return [
            node
            for node in self.roomy
            if not node.promised and fits(self._size, node.for_others(node.available))
        ]

    @cached_property
    def drained_room(self) -> str:
        """The first drained node that has room for a container; empty if none has."""
        return min(
            (
                node.name
                for node in self.partition
                if (drain := self._drained.get(node.name)) is not None
                and _accepts(self._key, node)
                and fits(self._size, subtract(drain.total, node.used))
            ),
            default="",
        )


class Survey:
    """The offers to asks of many applications, while the state does not change."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, Resource], Offers] = {}

    def offers(
        self,
        key: AskKey,
        size: Resource,
        partition: Callable[[AskKey], Iterable[Node]],
        drained: Mapping[str, Drain],
        refused: Mapping[str, None],
    ) -> Offers:
        """The offers to an ask; `partition` returns the nodes of its partition."""
        ask = key.anywhere
        if key.places or refused or ask is None or not ask.relax:
            return Offers(key, size, tuple(partition(key)), drained, refused)
        answer = self._found.get((key.label, size))
        if answer is None:
            answer = Offers(key, size, tuple(partition(key)), drained, refused)
            self._found[key.label, size] = answer
        return answer


def _accepts(key: AskKey, node: Node) -> bool:
    """Whether an ask would accept a node after waiting long enough."""
    ask = key.anywhere
    assert ask is not None
    rack = key.places.get(node.rack)
    if rack is not None and not rack.relax:
        return node.host in key.places
    return ask.relax or rack is not None


def _nearness(size: Resource, available: Resource) -> float:
    """The available part of the scarcest type: 1 or more is room for one container."""
    return min((a / s for s, a in zip(size, available, strict=True) if s), default=1.0)
