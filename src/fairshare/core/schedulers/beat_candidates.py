"""The nodes that could take a container, be reserved, or lose a reservation, and the demand for
which they could: what `beats.py` asks in a round.

Kept in step with the state by looking again at the nodes and applications that events name.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator

from fairshare.core.model.applications import Application
from fairshare.core.model.identifiers import ApplicationId
from fairshare.core.model.nodes import Node
from fairshare.core.model.resources import Resource, fits, shared
from fairshare.core.schedulers.protocol import State

Group = tuple[Resource, Resource, str]
"""(room for containers, total, partition)"""


class NodeGroups:
    """All nodes, numbered in the order in which they joined, in groups: nodes of one partition with
    the same room and size are alike.

    For an application without placement preferences, one node of a group represents all: if nothing
    can be placed on one, nothing can be placed on the others. Nodes that are kept free for an
    application, by a reservation or by preemption, are separate.

    `groups` holds the numbers of those that are alike, in order; `reserved` and `promised` the
    nodes that are separate; a node of which only a part is reserved is in a group, too. `silent`
    ones are neither, and are never asked. `new_groups` are the
    groups made since it was last cleared, `emptied_groups` those that lost their last node.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._joined = 0
        self._group_of: dict[int, Group] = {}
        self.numbers: dict[str, int] = {}
        self.names: dict[int, str] = {}
        self.groups: dict[Group, list[int]] = {}
        self.new_groups: list[Group] = []
        self.emptied_groups: list[Group] = []
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
        elif not node.kept_whole and not node.promised:
            self._keep_apart(number, node if node.reservation is not None else None)
            room = node.for_others(state.room(node))
            self._join(number, (room, node.total, state.label_of(node)))
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
                self.emptied_groups.append(before)
            else:
                del members[bisect_left(members, number)]
        if group is None:
            del self._group_of[number]
            return
        self._group_of[number] = group
        present = self.groups.get(group)
        if present is None:
            self.groups[group] = [number]
            self.new_groups.append(group)
        else:
            insort(present, number)


class PendingSizes:
    """The sizes that runnable applications want containers of.

    `picky` are the applications for which one node is not like another (they name hosts or racks,
    or refuse some); `waiting` are those of them that let nodes pass by in the hope of a nearer one.
    `version` changes whenever another size is wanted, or one is not wanted any more.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._by_application: dict[ApplicationId, tuple[Resource, ...]] = {}
        self.sizes: dict[Resource, int] = {}
        self.version = 0
        self.picky: dict[ApplicationId, None] = {}
        self.waiting: dict[ApplicationId, None] = {}

    def refresh(self, number: ApplicationId) -> None:
        """Look at an application again."""
        application = self._state.applications.get(number)
        before = self._by_application.get(number, ())
        now = _sizes(application) if application is not None else ()
        if now != before:
            for size in now:
                wanted = self.sizes.get(size, 0)
                if not wanted:
                    self.version += 1
                self.sizes[size] = wanted + 1
            for size in before:
                left = self.sizes[size] - 1
                if left:
                    self.sizes[size] = left
                else:
                    del self.sizes[size]
                    self.version += 1
            if now:
                self._by_application[number] = shared(now)
            else:
                del self._by_application[number]
        if now and application is not None and self._is_picky(application):
            self.picky[number] = None
        elif number in self.picky:
            del self.picky[number]
            self.waiting.pop(number, None)

    def _is_picky(self, application: Application) -> bool:
        """An application that may borrow from other partitions waits for its own one as for a
        host."""
        attempt = application.attempt
        wanting = attempt.asks.wanting
        if len(wanting) == 1 and not attempt.blacklist:  # nearly always, and written out
            key = wanting[0]
            anywhere = key.anywhere
            if not key.places and (anywhere is None or anywhere.relax):
                return not key.label and self._state.lends
        return _is_picky(application) or (self._state.lends and any(not k.label for k in wanting))

    def passed_by(self, number: ApplicationId) -> None:
        """An application skipped a node."""
        if number in self.picky:
            self.waiting[number] = None

    def fit(self, room: Resource) -> bool:
        """Whether a container of some wanted size fits into this room."""
        if self._state.counts_memory_alone:
            return any(size[0] <= room[0] for size in self.sizes)
        return any(fits(size, room) for size in self.sizes)

    def fitting(self, groups: Iterable[Group]) -> dict[Group, None]:
        """The groups of nodes into whose room a container of some wanted size fits."""
        if len(self.sizes) == 1:  # nearly always, and written out
            (size,) = self.sizes
            if self._state.counts_memory_alone:
                memory = size[0]
                return {group: None for group in groups if memory <= group[0][0]}
            if len(size) == 2:
                memory, vcores = size
                return {
                    group: None
                    for group in groups
                    if memory <= group[0][0] and vcores <= group[0][1]
                }
        return {group: None for group in groups if self.fit(group[0])}


def _sizes(application: Application) -> tuple[Resource, ...]:
    """The sizes that an application may be given containers of now.

    An entry for a host or rack may have a size of its own, and is then granted in that size.
    """
    wanting = application.attempt.asks.wanting
    if not wanting or not application.attempt.runnable:
        return ()
    if len(wanting) == 1 and not wanting[0].places:
        anywhere = wanting[0].anywhere
        assert anywhere is not None
        return (anywhere.resource,)
    sizes: dict[Resource, None] = {}
    for key in wanting:
        assert key.anywhere is not None
        sizes[key.anywhere.resource] = None
        for place in key.places.values():
            sizes[place.resource] = None
    return tuple(sizes)


def _is_picky(application: Application) -> bool:
    return bool(application.attempt.blacklist) or any(
        key.places or (key.anywhere is not None and not key.anywhere.relax)
        for key in application.attempt.asks.wanting
    )


Heap = list[tuple[int, bool, Group | None, bool]]
"""Numbers of nodes to ask, not yet in order, and whether each is asked for what is kept free there;
a number may be there for both. With a group a node is like all others there: if it is of no use, so
are they. With True the next node of the group follows."""


class Candidates:
    """`grown_nodes` are the nodes whose room has grown, or became usable, since the last rounds;
    `changed_nodes` and `changed_applications` are looked at again before the next round, and the
    reserved nodes of which the numbers are `reserved_due` are asked in it."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.changed_nodes: dict[str, None] = {}
        self.changed_applications: dict[ApplicationId, None] = {}
        self._useful: dict[Group, None] = {}
        self._useful_version = -1
        self.reserved_due: dict[int, None] = {}
        self._reserves_for: dict[ApplicationId, tuple[tuple[int, int], ...]] = {}
        self.grown_nodes: dict[str, None] = {}
        self.pending_sizes = PendingSizes(state)
        self.node_groups = NodeGroups(state)
        for name in state.nodes:
            self.node_groups.refresh(name)
        for number in self.node_groups.reserved:
            self.reserved_due[number] = None
        for application in state.applications.values():
            self.pending_sizes.refresh(application.id)
            for key in application.attempt.asks.wanting:
                if key.opportunities or key.since_ms:
                    self.pending_sizes.passed_by(application.id)

    # What has changed.

    def node_changed(self, name: str, *, grown: bool) -> None:
        """Look at a node again before the next round."""
        self.changed_nodes[name] = None
        if grown:
            self.grown_nodes[name] = None

    def node_marked(self, name: str) -> None:
        """Look at a node again if more can be placed there than what is free."""
        node = self._state.nodes[name]
        if self._state.room(node) != node.available:
            self.node_changed(name, grown=True)

    def application_forgotten(self, number: ApplicationId) -> None:
        """An application is no longer known. It was over, so it wants nothing."""
        if number in self.changed_applications:
            del self.changed_applications[number]
            self.pending_sizes.refresh(number)
        self._reserves_for.pop(number, None)

    def partitions_changed(self) -> None:
        """Look at everything again: nodes may belong elsewhere, others may lend."""
        for name in self._state.nodes:
            self.node_changed(name, grown=True)
        for number, application in self._state.applications.items():
            if application.attempt.active:
                self.changed_applications[number] = None

    def nodes_apart_changed(self) -> None:
        """Update all reserved and promised nodes: the beneficiary may have left."""
        for apart in (self.node_groups.reserved, self.node_groups.promised):
            for number in apart:
                self.node_changed(self.node_groups.names[number], grown=True)

    def refresh(self) -> None:
        """Look at what has changed."""
        node_groups = self.node_groups
        for name in self.changed_nodes:
            node_groups.refresh(name)
            if node_groups.reserved and name in self.grown_nodes:
                number = node_groups.numbers.get(name)
                if number is not None and number in node_groups.reserved:
                    self.reserved_due[number] = None
        self.changed_nodes.clear()
        self.refresh_applications()

    def refresh_applications(self) -> None:
        """Look at the applications that have changed, and at what was reserved for them."""
        for number in self.changed_applications:
            self.pending_sizes.refresh(number)
            application = self._state.applications.get(number)
            if application is not None and application.attempt.reservations:
                self._refresh_reservations(application)
            elif self._reserves_for:
                self._reserves_for.pop(number, None)
        self.changed_applications.clear()

    def _refresh_reservations(self, application: Application) -> None:
        """Ask the nodes whose reservation is no longer wanted. Only pending keys reserve nodes, so
        with the same pending keys as last time there is no such node."""
        asks = application.attempt.asks
        pending = tuple([key.order for key in asks.wanting])
        if self._reserves_for.get(application.id) == pending:
            return
        done = [
            name
            for name, reservation in application.attempt.reservations.items()
            if (key := asks.keys.get((reservation.priority, reservation.request))) is None
            or not key.pending
        ]
        for name in done:
            self.reserved_due[self.node_groups.numbers[name]] = None
        if done:
            self._reserves_for.pop(application.id, None)
        else:
            self._reserves_for[application.id] = pending

    def reconsider_reservations(self) -> None:
        """Let all reserved nodes be asked: their reservations may have become invalid."""
        for number in self.node_groups.reserved:
            self.reserved_due[number] = None

    # Whom to ask.

    @property
    def none(self) -> bool:
        """Whether a round would certainly have no effect."""
        return not self.pending_sizes.sizes and not self.reserved_due

    def to_ask(self, *, everywhere: bool) -> Heap:
        """The nodes to ask in a round.

        One for each group on whose nodes some wanted size fits, unless an application is picky:
        then each such node by itself, if `everywhere` or grown. Grown nodes with some room,
        which could be reserved. Reserved nodes where that may change something, and nodes with
        promised room.
        """
        heap: Heap = []
        useful = self._useful_groups()
        if not self.pending_sizes.picky:
            groups = self.node_groups.groups
            heap = [(groups[group][0], False, group, True) for group in useful]
        else:
            for group in useful:
                self._add_members(heap, group, everywhere=everywhere)
        if self.grown_nodes and self.pending_sizes.sizes:
            self._add_left_over_room(heap, useful)
        if self.reserved_due or self.node_groups.promised:
            heap += [(number, True, None, False) for number in self._apart()]
        return heap

    def _add_members(self, heap: Heap, group: Group, *, everywhere: bool) -> None:
        members = self.node_groups.groups[group]
        if everywhere:
            heap += [(number, False, None, False) for number in members]
        else:
            names = self.node_groups.names
            heap += [
                (number, False, None, False)
                for number in members
                if names[number] in self.grown_nodes
            ]

    def _useful_groups(self) -> dict[Group, None]:
        """The groups on whose nodes some wanted size fits; kept from one time to the next."""
        node_groups = self.node_groups
        groups = node_groups.groups
        if self._useful_version != self.pending_sizes.version:
            self._useful_version = self.pending_sizes.version
            self._useful = self.pending_sizes.fitting(groups)
        elif node_groups.new_groups or node_groups.emptied_groups:
            for group in node_groups.emptied_groups:
                if group not in groups:
                    self._useful.pop(group, None)
            self._useful |= self.pending_sizes.fitting(
                [one for one in node_groups.new_groups if one in groups]
            )
        node_groups.new_groups.clear()
        node_groups.emptied_groups.clear()
        return self._useful

    def _add_left_over_room(self, heap: Heap, useful: dict[Group, None]) -> None:
        alike = not self.pending_sizes.picky
        for name in self.grown_nodes:
            number = self.node_groups.numbers.get(name)
            if number is not None:
                group = self.node_groups.group_of(number)
                if group is not None and group not in useful:
                    memory, vcores = group[0][:2]
                    if memory > 0 and (vcores > 0 or self._state.counts_memory_alone):
                        heap.append((number, False, group if alike else None, False))

    def _apart(self) -> Iterator[int]:
        """What still fits and is not granted is held back by a limit, and stays due."""
        by_memory = self._state.counts_memory_alone
        for number in tuple(self.reserved_due):
            node = self.node_groups.reserved.get(number)
            if node is None or node.reservation is None:
                del self.reserved_due[number]
                continue
            yield number
            resource, room = node.reservation.resource, node.available
            if resource[0] > room[0] or not (by_memory or fits(resource, room)):
                del self.reserved_due[number]
        for number, node in self.node_groups.promised.items():
            if self.pending_sizes.fit(node.available):
                yield number
