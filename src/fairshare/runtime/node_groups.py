"""Owns the nodes in groups: nodes of one partition with the same room and size are alike.

For an application without placement preferences, one node of a group represents all: if nothing can
be placed on one, nothing can be placed on the others. Nodes that are kept free for an application,
by a reservation or by preemption, are separate. Knows no application.
"""

from bisect import bisect_left, bisect_right, insort

from fairshare.model.nodes import Node
from fairshare.model.resources import Resource
from fairshare.schedulers.protocol import State

Group = tuple[Resource, Resource, str]
"""(room for containers, total, partition)"""


class NodeGroups:
    """All nodes, numbered in the order in which they joined.

    `groups` holds the numbers of those that are alike, in order; `reserved` and `promised` the
    nodes that are separate; `silent` ones are neither, and are never asked. `fresh` are the groups
    made since it was last emptied, `gone` those that lost their last node.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._joined = 0
        self._group_of: dict[int, Group] = {}
        self.numbers: dict[str, int] = {}
        self.names: dict[int, str] = {}
        self.groups: dict[Group, list[int]] = {}
        self.fresh: list[Group] = []
        self.gone: list[Group] = []
        self.reserved: dict[int, Node] = {}
        self.promised: dict[int, Node] = {}
        self.silent: set[str] = set()

    def refresh(self, name: str) -> None:
        """Look at a node again: it joined, left, or has another room."""
        state = self._state
        node = state.nodes.get(name)
        number = self.numbers.get(name)
        apart = self.reserved or self.promised or self.silent
        if (  # nearly always
            node is not None
            and number is not None
            and not apart
            and node.reservation is None
            and not node.promised
        ):
            self._join(number, (state.room(node), node.total, state.label_of(node)))
            return
        if number is None:
            if node is None:
                return
            self._joined += 1
            number = self.numbers[name] = self._joined
            self.names[number] = name
        if node is None or name in self.silent:
            self._join(number, None)
            self._keep_apart(number, None)
            if node is None:
                del self.numbers[name], self.names[number]
        elif node.reservation is None and not node.promised:
            self._keep_apart(number, None)
            self._join(number, (state.room(node), node.total, state.label_of(node)))
        else:
            self._join(number, None)
            self._keep_apart(number, node)

    def group_of(self, number: int) -> Group | None:
        """The group of a node; None if it is separate or has left."""
        return self._group_of.get(number)

    def after(self, group: Group, number: int) -> int | None:
        """The next node of a group in the order of joining."""
        members = self.groups.get(group)
        if members is None:
            return None
        place = bisect_right(members, number)
        return members[place] if place < len(members) else None

    def _keep_apart(self, number: int, node: Node | None) -> None:
        self.reserved.pop(number, None)
        self.promised.pop(number, None)
        if node is not None:
            if node.reservation is not None:
                self.reserved[number] = node
            else:
                self.promised[number] = node

    def _join(self, number: int, group: Group | None) -> None:
        before = self._group_of.get(number)
        if group == before:
            return
        if before is not None:
            members = self.groups[before]
            if len(members) == 1:
                del self.groups[before]
                self.gone.append(before)
            else:
                del members[bisect_left(members, number)]
        if group is None:
            del self._group_of[number]
            return
        self._group_of[number] = group
        found = self.groups.get(group)
        if found is None:
            self.groups[group] = [number]
            self.fresh.append(group)
        else:
            insort(found, number)
