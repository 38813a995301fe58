"""The rounds of node heartbeats that assign containers, and when they are due.

A node's beat is the only moment at which containers are assigned, so the runtime makes nodes beat
as soon as something has happened that could matter, in rounds, in the order of joining, until a
round changes nothing. Most beats that would change nothing are left out:

* no application wants anything that is available;
* no wanted size fits on the node. When its room has just changed it beats nevertheless: the rest of
its room may be reserved. Reserving any other node before would be useless;
* a node is reserved, and neither has its room changed nor is the reservation done with. It is asked
  within an interval after anything happened, since limits may have made the reservation invalid.
  Where no limit is in play, that beat is only counted;
* a node with the same room has just been asked without effect. While containers are only granted,
  room shrinks and usage grows, so this stays true until the end of the rounds.

While an application skips nodes in the hope of a nearer one (delay scheduling), each offer counts:
then each node is offered once in an interval, as Hadoop's nodes beat, and besides only when its own
room has changed.

Rounds can be suspended after each beat and resumed later, so that inputs are decided in between. A
resumed round covers the nodes as of its beginning; later changes are considered in further rounds,
which are due at once.
"""

from collections.abc import Callable, Generator, Sequence
from heapq import heapify, heappop, heappush
from typing import Any

import msgspec

from fairshare.core.model.events import (
    ApplicationAdmitted,
    ApplicationMoved,
    ApplicationsForgotten,
    AsksChanged,
    AttemptEnded,
    AttemptStarted,
    BlacklistChanged,
    BookingsAdvanced,
    ConfigurationLoaded,
    ContainerAllocated,
    ContainerCompleted,
    ContainerLaunched,
    ContainerMarked,
    ContainerReserved,
    ContainerRunning,
    Event,
    LabelsChanged,
    NodeAdded,
    NodeFailing,
    NodeRecovered,
    NodeRemoved,
    NodesLabelled,
    NodeTotalChanged,
    NodeTried,
    NodeUndrained,
    OffersCounted,
    PreemptedRoomChanged,
    RequestRefused,
    ReservationDropped,
    ReservationMoved,
    RoomFreed,
    SafeModeChanged,
    SharesUpdated,
    UsageUpdated,
)
from fairshare.core.model.identifiers import ApplicationId, ContainerId
from fairshare.core.schedulers.beat_candidates import Candidates, Group, Heap
from fairshare.core.schedulers.protocol import State

Beat = Callable[[str], Sequence[Event]]

_ROUNDS_WITHOUT_GRANT = 8
"""How many rounds in a row may change something without a grant; the rest waits an interval."""

_QUIET = frozenset(
    (
        *(ContainerAllocated, ContainerLaunched, ContainerRunning),
        *(OffersCounted, RequestRefused, UsageUpdated),
    )
)
"""Events after which nothing can be granted that could not be granted before, unless a container
was reserved."""


class RoundsMemory(msgspec.Struct, frozen=True):
    """What rounds know that does not follow from the state, while none are due: whether and when
    full ones come, the nodes whose room has grown since, the reserved ones that are to be asked,
    and the applications that have skipped a node."""

    everywhere: bool
    full_due: bool
    full_ms: int
    grown: tuple[str, ...]
    reserved: tuple[str, ...]
    skipping: tuple[ApplicationId, ...]


class HeartbeatRounds:
    """Created from a state, and kept in step with it by `note`, which must see all events.

    `fires` says when the full rounds come that are due at an instant."""

    def __init__(
        self, state: State, interval_ms: int, fires: Callable[[int], int] = lambda due_ms: due_ms
    ) -> None:
        self._state = state
        self._interval_ms = interval_ms
        self._fires = fires
        self._candidates = Candidates(state)
        self._effects = self._effects_of_kinds()
        self._node_of: dict[ContainerId, str] = {
            container: name for name, node in state.nodes.items() for container in node.containers
        }
        self._changed = bool(state.nodes)
        self._everywhere = self._changed  # whether the next rounds ask every node, though not full
        # Full rounds ask every node, also for applications that skip nodes, and all reserved ones.
        self._next_full_ms = 0
        self._full_rounds_due = False
        self._without_effect: dict[Group | int, None] = {}

    def memory(self) -> RoundsMemory:
        """What is known beside the state, while nothing has changed since the last rounds."""
        candidates = self._candidates
        names = candidates.node_groups.names
        return RoundsMemory(
            self._everywhere,
            self._full_rounds_due,
            self._next_full_ms,
            tuple(candidates.grown_nodes),
            tuple(names[number] for number in candidates.reserved_due if number in names),
            tuple(candidates.pending_sizes.waiting),
        )

    def remember(self, memory: RoundsMemory) -> None:
        """Go on with what was known when the state was the same."""
        self._changed, self._everywhere = False, memory.everywhere
        self._full_rounds_due = memory.full_due
        self._next_full_ms = self._fires(memory.full_ms)
        candidates = self._candidates
        numbers = candidates.node_groups.numbers
        candidates.grown_nodes = dict.fromkeys(memory.grown)
        candidates.reserved_due = {numbers[name]: None for name in memory.reserved}
        candidates.pending_sizes.waiting = dict.fromkeys(memory.skipping)

    def note(self, events: Sequence[Event]) -> bool:
        """Process events. Returns whether one changes something that matters here (a skipped node
        does not)."""
        other, granted = self._look_at(events)
        noted = other or granted
        if noted:
            self._changed = True
        return noted

    def _look_at(self, events: Sequence[Event]) -> tuple[bool, bool]:
        """Whether one changes more than a grant does, and whether containers were granted."""
        granted = False
        other = not _QUIET.issuperset(map(type, events))
        effect_of = self._effects.get
        for event in events:
            if type(event) is ContainerAllocated:
                granted = True
                other = other or event.reserved
                self._node_of[event.container] = event.node
                candidates = self._candidates
                candidates.changed_nodes[event.node] = None
                if not self._asks_for_more(event):
                    candidates.changed_applications[event.application] = None
                continue
            effect = effect_of(type(event))
            if effect is not None:
                effect(event)
        if other:
            self._without_effect.clear()  # nodes that beat without effect may be useful again
        return other, granted

    def _asks_for_more(self, event: ContainerAllocated) -> bool:
        """Whether an application that got a container wants the same as before: more of what it
        asks for first, anywhere."""
        attempt = self._state.attempts.get(event.application)
        if attempt is None or attempt.reservations:
            return False
        wanting = attempt.asks.wanting
        if not wanting:
            return False
        key = wanting[0]
        return not key.places and key.order == (event.priority, event.request)

    def _effects_of_kinds(self) -> dict[type, Callable[[Any], None]]:
        """What follows from events, apart from grants. Of all others (a setting, a queue, new
        shares) it only follows that what was refused before may be granted now."""
        of_applications = (
            ApplicationAdmitted,
            ApplicationMoved,
            AsksChanged,
            AttemptStarted,
            BlacklistChanged,
        )
        of_nodes = (
            NodeAdded,
            NodeFailing,
            NodeRecovered,
            NodeRemoved,
            NodeTotalChanged,
            NodeTried,
            NodeUndrained,
            PreemptedRoomChanged,
            ReservationDropped,
            RoomFreed,
        )
        of_partitions = (LabelsChanged, NodesLabelled, ConfigurationLoaded, SafeModeChanged)
        return {
            **dict.fromkeys(of_applications, self._application_changed),
            **dict.fromkeys(of_nodes, self._node_changed),
            **dict.fromkeys(of_partitions, self._partitions_changed),
            AttemptEnded: self._attempt_ended,
            BookingsAdvanced: self._bookings_advanced,
            ApplicationsForgotten: self._forgotten,
            ReservationMoved: self._reservation_moved,
            ContainerReserved: self._reserved,
            ContainerCompleted: self._completed,
            ContainerMarked: self._marked,
            OffersCounted: self._passed_by,
            SharesUpdated: self._shares_updated,
        }

    def _application_changed(self, event: AttemptStarted) -> None:
        self._candidates.changed_applications[event.application] = None
        self._everywhere = True

    def _attempt_ended(self, event: AttemptEnded) -> None:
        # Its reservations are gone without an event of their own.
        candidates = self._candidates
        candidates.changed_applications[event.application] = None
        if candidates.node_groups.reserved or candidates.node_groups.promised:
            candidates.nodes_apart_changed()

    def _bookings_advanced(self, event: BookingsAdvanced) -> None:
        # What one kept may be free again, and nodes may be reserved for what it keeps waiting.
        self._candidates.nodes_apart_changed()
        self._everywhere = True

    def _forgotten(self, event: ApplicationsForgotten) -> None:
        for number in event.applications:
            self._candidates.application_forgotten(number)

    def _node_changed(self, event: NodeAdded) -> None:
        self._candidates.node_changed(event.node, grown=True)

    def _reservation_moved(self, event: ReservationMoved) -> None:
        for node in (event.node, event.target):
            self._candidates.node_changed(node, grown=True)

    def _reserved(self, event: ContainerReserved) -> None:
        self._candidates.node_changed(event.node, grown=False)

    def _completed(self, event: ContainerCompleted) -> None:
        node = self._node_of.pop(event.container)
        self._candidates.changed_nodes[node] = self._candidates.grown_nodes[node] = None

    def _marked(self, event: ContainerMarked) -> None:
        # Where preemption is lazy, its room can be had from now on.
        self._candidates.node_marked(self._node_of[event.container])

    def _passed_by(self, event: OffersCounted) -> None:
        self._candidates.pending_sizes.passed_by(event.application)

    def _shares_updated(self, event: SharesUpdated) -> None:
        if self._state.updates_admit:
            self._candidates.changed_applications.update(dict.fromkeys(self._state.attempts))

    def _partitions_changed(self, event: object) -> None:
        self._candidates.partitions_changed()

    def set_silent(self, node: str, silent: bool) -> None:
        """Leave a node out of the rounds that follow, or let it beat again."""
        among = self._candidates.node_groups.silent
        if silent == (node in among):
            return
        if silent:
            among.add(node)
        else:
            among.discard(node)
            self._changed = True
        self._candidates.node_changed(node, grown=not silent)
        self._without_effect.clear()

    @property
    def has_changed(self) -> bool:
        """Whether something has been noted since the last rounds began."""
        return self._changed

    def due(self, now_ms: int) -> bool:
        """Whether rounds are due: something has happened, or an interval is over."""
        return self._changed or self.full(now_ms)

    def full(self, now_ms: int) -> bool:
        """Whether the next rounds ask every node."""
        return (self._full_rounds_due or self._changed) and now_ms >= self._next_full_ms

    def next_due_ms(self, now_ms: int) -> int | None:
        """When rounds are due without further events; None if never."""
        if self._changed:
            return now_ms
        return self._next_full_ms if self._full_rounds_due else None

    def rounds(self, now_ms: int, beat: Beat) -> Generator[None]:
        """Let nodes beat until a round changes nothing; yields after each beat.

        If something is noted in between, the round that is under way is the last one.
        """
        candidates = self._candidates
        full = self.full(now_ms)
        changed_before, self._changed = self._changed, False
        if full:
            self._next_full_ms = self._fires(now_ms + self._interval_ms)
            candidates.reconsider_reservations()
        everywhere = full or self._everywhere or not candidates.pending_sizes.waiting
        self._everywhere = False
        without_grant, any_changed = 0, False
        while without_grant < _ROUNDS_WITHOUT_GRANT and not self.has_changed:
            candidates.refresh()
            if candidates.none:
                break
            heap = candidates.to_ask(everywhere=everywhere)
            changed, granted = yield from self._round(heap, beat)
            if not changed:
                break
            any_changed = True
            without_grant = 0 if granted else without_grant + 1
        waiting = bool(candidates.pending_sizes.waiting and self._without_effect)
        unsure = bool(candidates.node_groups.reserved) and (
            any_changed or (changed_before and not full)
        )
        self._full_rounds_due = waiting or unsure or without_grant > 0
        self._without_effect.clear()
        if self.has_changed:
            self._everywhere = self._everywhere or everywhere  # the next rounds go on with these
        else:
            candidates.grown_nodes.clear()
            self._everywhere = False

    def _round(self, heap: Heap, beat: Beat) -> Generator[None, None, tuple[bool, bool]]:
        """One round; whether it changed anything, and whether it granted containers."""
        node_groups = self._candidates.node_groups
        heapify(heap)
        changed = granted = False
        while heap:
            number, _, group, represents = heappop(heap)
            proof: Group | int = number
            if group is not None and number not in node_groups.reserved:
                proof = group
            if proof in self._without_effect:
                continue
            reserved = node_groups.reserved.get(number)
            if reserved is not None and self._state.keeps_reservation(reserved):
                yield  # as after a beat without effect: recorded histories count all of them
                continue
            other, grants = self._look_at(beat(node_groups.names[number]))
            if not other and not grants:
                # A grant elsewhere may end a reservation: that a reserved node is of no use proves
                # nothing for the next round.
                if number not in node_groups.reserved:
                    self._without_effect[proof] = None
                yield
                continue
            changed = True
            granted = granted or grants
            self._candidates.refresh_applications()
            if self._candidates.none:
                break
            if represents and group is not None:
                following = node_groups.after(group, number)
                if following is not None:
                    heappush(heap, (following, False, group, True))
            yield
        return changed, granted
