"""Owns the set of nodes that could take a container, be reserved, or lose a reservation. Knows no
time.

Kept in step with the state by updating the nodes and applications that events name.
"""

from collections.abc import Iterator

from fairshare.model.applications import Application
from fairshare.model.identifiers import ApplicationId
from fairshare.model.resources import fits
from fairshare.runtime.node_groups import Group, NodeGroups
from fairshare.runtime.pending_sizes import PendingSizes
from fairshare.schedulers.protocol import State

Heap = list[tuple[int, Group | None, bool]]
"""Numbers of nodes to ask, not yet in order. With a group a node is like all others there: if it is
of no use, so are they. With True the next node of the group follows."""


class Candidates:
    """`touched` are the nodes whose room has grown, or became usable, since the last rounds;
    `stale_nodes` and `stale_applications` are looked at again before the next round."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.stale_nodes: dict[str, None] = {}
        self.stale_applications: dict[ApplicationId, None] = {}
        self._useful: dict[Group, None] = {}
        self._useful_version = -1
        self._reserved_due: dict[int, None] = {}
        self._reserves_for: dict[ApplicationId, tuple[tuple[int, int], ...]] = {}
        self.touched: dict[str, None] = {}
        self.pending_sizes = PendingSizes(state)
        self.rooms = NodeGroups(state)
        for name in state.nodes:
            self.rooms.refresh(name)
        for number in self.rooms.reserved:
            self._reserved_due[number] = None
        for application in state.applications.values():
            self.pending_sizes.refresh(application.id)
            for key in application.attempt.asks.wanting:
                if key.opportunities or key.since_ms:
                    self.pending_sizes.passed_by(application.id)

    # What has changed.

    def node_changed(self, name: str, *, touched: bool) -> None:
        """Look at a node again before the next round."""
        self.stale_nodes[name] = None
        if touched:
            self.touched[name] = None

    def node_marked(self, name: str) -> None:
        """Look at a node again if more can be placed there than what is free."""
        node = self._state.nodes[name]
        if self._state.room(node) != node.available:
            self.node_changed(name, touched=True)

    def application_changed(self, number: ApplicationId) -> None:
        """Look at an application again before the next round."""
        self.stale_applications[number] = None

    def application_forgotten(self, number: ApplicationId) -> None:
        """An application is no longer known. It was over, so it wants nothing."""
        if number in self.stale_applications:
            del self.stale_applications[number]
            self.pending_sizes.refresh(number)
        self._reserves_for.pop(number, None)

    def partitions_changed(self) -> None:
        """Look at everything again: nodes may belong elsewhere, others may lend."""
        for name in self._state.nodes:
            self.node_changed(name, touched=True)
        for number, application in self._state.applications.items():
            if application.attempt.active:
                self.application_changed(number)

    def nodes_apart_changed(self) -> None:
        """Update all reserved and promised nodes: the beneficiary may have left."""
        for apart in (self.rooms.reserved, self.rooms.promised):
            for number in apart:
                self.node_changed(self.rooms.names[number], touched=True)

    def refresh(self) -> None:
        """Look at what has changed."""
        rooms = self.rooms
        for name in self.stale_nodes:
            rooms.refresh(name)
            if rooms.reserved and name in self.touched:
                number = rooms.numbers.get(name)
                if number is not None and number in rooms.reserved:
                    self._reserved_due[number] = None
        self.stale_nodes.clear()
        self.refresh_applications()

    def refresh_applications(self) -> None:
        """Look at the applications that have changed, and at what was reserved for them."""
        for number in self.stale_applications:
            self.pending_sizes.refresh(number)
            application = self._state.applications.get(number)
            if application is not None and application.attempt.reservations:
                self._refresh_reservations(application)
            elif self._reserves_for:
                self._reserves_for.pop(number, None)
        self.stale_applications.clear()

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
            self._reserved_due[self.rooms.numbers[name]] = None
        if done:
            self._reserves_for.pop(application.id, None)
        else:
            self._reserves_for[application.id] = pending

    def reconsider_reservations(self) -> None:
        """Let all reserved nodes be asked: their reservations may have become invalid."""
        for number in self.rooms.reserved:
            self._reserved_due[number] = None

    # Whom to ask.

    @property
    def none(self) -> bool:
        """Whether a round would certainly have no effect."""
        return not self.pending_sizes.sizes and not self._reserved_due

    def to_ask(self, *, everywhere: bool) -> Heap:
        """The nodes to ask in a round.

        One for each group on whose nodes some wanted size fits, unless an application is picky:
        then each such node by itself, if `everywhere` or touched. Touched nodes with some room,
        which could be reserved. Reserved nodes where that may change something, and nodes with
        promised room.
        """
        heap: Heap = []
        useful = self._useful_groups()
        if not self.pending_sizes.picky:
            groups = self.rooms.groups
            heap = [(groups[group][0], group, True) for group in useful]
        else:
            for group in useful:
                self._enter(heap, group, everywhere=everywhere)
        if self.touched and self.pending_sizes.sizes:
            self._enter_left_overs(heap, useful)
        if self._reserved_due or self.rooms.promised:
            heap += [(number, None, False) for number in self._apart()]
        return heap

    def _enter(self, heap: Heap, group: Group, *, everywhere: bool) -> None:
        members = self.rooms.groups[group]
        if everywhere:
            heap += [(number, None, False) for number in members]
        else:
            names = self.rooms.names
            heap += [(number, None, False) for number in members if names[number] in self.touched]

    def _useful_groups(self) -> dict[Group, None]:
        """The groups on whose nodes some wanted size fits; kept from one time to the next."""
        rooms = self.rooms
        groups = rooms.groups
        if self._useful_version != self.pending_sizes.version:
            self._useful_version = self.pending_sizes.version
            self._useful = self.pending_sizes.fitting(groups)
        elif rooms.fresh or rooms.gone:
            for group in rooms.gone:
                if group not in groups:
                    self._useful.pop(group, None)
            self._useful |= self.pending_sizes.fitting(
                [one for one in rooms.fresh if one in groups]
            )
        rooms.fresh.clear()
        rooms.gone.clear()
        return self._useful

    def _enter_left_overs(self, heap: Heap, useful: dict[Group, None]) -> None:
        alike = not self.pending_sizes.picky
        for name in self.touched:
            number = self.rooms.numbers.get(name)
            if number is not None:
                group = self.rooms.group_of(number)
                if group is not None and group not in useful:
                    memory, vcores = group[0][:2]
                    if memory > 0 and (vcores > 0 or self._state.counts_memory_alone):
                        heap.append((number, group if alike else None, False))

    def _apart(self) -> Iterator[int]:
        """What still fits and is not granted is held back by a limit, and stays due."""
        by_memory = self._state.counts_memory_alone
        for number in tuple(self._reserved_due):
            node = self.rooms.reserved.get(number)
            if node is None or node.reservation is None:
                del self._reserved_due[number]
                continue
            yield number
            resource, room = node.reservation.resource, node.available
            if resource[0] > room[0] or not (by_memory or fits(resource, room)):
                del self._reserved_due[number]
        for number, node in self.rooms.promised.items():
            if self.pending_sizes.fit(node.available):
                yield number
