"""The processing of a node's heartbeat: the walk from the root to a container.

The first child in the order is offered the node; a child that cannot use it is put aside until the
end of the heartbeat. This is correct since within one heartbeat room only shrinks and use only
grows, so a child that could not be served will not be. There are two exceptions, which are offered
the node again: asks that wait for locality, whose accepted locality widens with each offer, and
asks behind one that did not fit and by now would exceed a maximum. Hadoop instead sorts all
children for each container, with the same result (Hadoop: FairScheduler.attemptScheduling).
"""

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from fairshare.core.model.asks import Ask, AskKey
from fairshare.core.model.events import (
    ContainerAllocated,
    ContainerReserved,
    Locality,
    OffersCounted,
    PreemptedRoomChanged,
    ReservationDropped,
)
from fairshare.core.model.identifiers import APPLICATION_SHIFT, ATTEMPT_SHIFT
from fairshare.core.model.nodes import Node
from fairshare.core.model.resources import Resource, add, count_fitting, fits, positive, subtract
from fairshare.core.schedulers.backfill import due_ms, ends_by
from fairshare.core.schedulers.bookings import refusal
from fairshare.core.schedulers.calculators import single, take_from
from fairshare.core.schedulers.fair.attempts import FairAttempt
from fairshare.core.schedulers.fair.entitled import PartialReservations
from fairshare.core.schedulers.fair.limits import master_fits, within_maximum
from fairshare.core.schedulers.fair.queues import FairQueue
from fairshare.core.schedulers.fair.state import FairState
from fairshare.core.schedulers.ordering import Entry, Order

if TYPE_CHECKING:
    from fairshare.core.schedulers.protocol import Step


class LocalityWait(NamedTuple):
    """The locality that one ask accepts, and how long it has waited."""

    level: Locality
    opportunities: int
    since_ms: int


class LocalityWaits:
    """Delay scheduling: how long the asks that are offered a node have waited for a nearer one.

    An ask accepts node-local containers first, then those of its racks, then any. Its locality is
    relaxed after enough missed opportunities (a part of the cluster's nodes), or after enough time
    with continuous scheduling (Hadoop: FSAppAttempt.getAllowedLocalityLevel). The waits are kept
    here during a heartbeat, and recorded as one event for each ask at its end.
    """

    def __init__(self, state: FairState, now_ms: int) -> None:
        settings = state.settings
        self._by_time = settings.continuous_scheduling
        if self._by_time:
            self._waits_ms = (settings.locality_delay_node_ms, settings.locality_delay_rack_ms)
            self.in_force = min(self._waits_ms) >= 0
        else:
            node, rack = settings.locality_threshold_node, settings.locality_threshold_rack
            self.in_force = node >= 0 and rack >= 0
            if not self.in_force:
                return  # nearly always, and then nothing else is read
            self._thresholds = (min(node, 1.0), min(rack, 1.0))
        self._now_ms = now_ms
        self._nodes = len(state.nodes)
        self._changed: dict[tuple[int, tuple[int, int]], LocalityWait] = {}

    def offered(self, attempt: FairAttempt, key: AskKey) -> Locality:
        """Count one more offer, and return the locality that the ask accepts now."""
        if not self.in_force:
            return Locality.OFF_SWITCH
        before = self.now(attempt, key)
        now = before._replace(opportunities=before.opportunities + 1)
        now = self._by_waiting(attempt, now) if self._by_time else self._by_offers(now)
        self._changed[attempt.id, key.order] = now
        return now.level

    def allocated(self, attempt: FairAttempt, key: AskKey, level: Locality) -> None:
        """A container nearer than the accepted locality sets the ask back to that level
        (Hadoop: FSAppAttempt.resetAllowedLocalityLevel)."""
        if not self.in_force:
            return
        before = self.now(attempt, key)
        if level < before.level:
            self._changed[attempt.id, key.order] = before._replace(level=level)

    def now(self, attempt: FairAttempt, key: AskKey) -> LocalityWait:
        """An ask's wait, including this heartbeat."""
        changed = self._changed.get((attempt.id, key.order))
        return changed or LocalityWait(key.level, key.opportunities, key.since_ms)

    def _by_offers(self, now: LocalityWait) -> LocalityWait:
        if now.level == Locality.OFF_SWITCH:
            return now
        if not now.since_ms:  # the first offer only starts the clock
            return now._replace(since_ms=self._now_ms or 1)
        threshold = self._thresholds[now.level]
        if now.opportunities > self._nodes * threshold:
            return LocalityWait(Locality(now.level + 1), 0, self._now_ms)
        return now

    def _by_waiting(self, attempt: FairAttempt, now: LocalityWait) -> LocalityWait:
        if now.level == Locality.OFF_SWITCH:
            return now
        if now.level == Locality.NODE_LOCAL and not now.since_ms:
            return now._replace(since_ms=self._now_ms or 1)
        since_ms = now.since_ms or attempt.started_ms
        if self._now_ms - since_ms > self._waits_ms[now.level]:
            return LocalityWait(Locality(now.level + 1), 0, self._now_ms)
        return now

    def record(self, step: "Step", state: FairState) -> None:
        """Emit events for what has changed."""
        for (number, order), wait in self._changed.items():
            key = state.attempts[number].asks.keys.get(order)
            if key is not None and wait != (key.level, key.opportunities, key.since_ms):
                step.emit(
                    OffersCounted(
                        number,
                        *order,
                        wait.opportunities,
                        wait.level,
                        wait.since_ms,
                    )
                )
        self._changed.clear()


_NO_ASK = Ask(0, (), True)


class Heartbeat:
    """One heartbeat of one node."""

    __slots__ = (
        "_aside",
        "_booked",
        "_counting",
        "_due_ms",
        "_ended_early",
        "_kept",
        "_left",
        "_only_size",
        "_partial",
        "_promised",
        "_refused",
        "_root",
        "_used",
        "_waiting",
        "_waits",
        "node",
        "state",
        "step",
    )

    def __init__(self, state: FairState, step: "Step", node: Node) -> None:
        self.state = state
        self.step = step
        self.node = node
        self._aside: list[tuple[Order[Any], FairQueue | FairAttempt, Entry]] = []
        self._waiting = False  # a child put aside waits for locality
        self._ended_early: list[tuple[FairAttempt, AskKey]] = []  # with further asks behind
        self._waits = LocalityWaits(state, step.now_ms)
        self._counting = self._waits.in_force
        self._refused: dict[tuple[FairQueue, Resource | None], None] = {}  # masters
        self._root = state.root
        self._used = self._root.used  # of the cluster, before this heartbeat
        self._only_size: Resource | None = None  # of all asks, in `_serve_applications`
        self._left = 0  # how many more containers of that size fit
        self._kept = False  # whether a part of the node is kept for one application
        self._due_ms: int | None = None  # until when others may have that part
        self._booked = bool(state.kept)  # bookings may keep something from others
        self._partial: PartialReservations | None = None  # made when it is asked for
        self._promised: Resource | None = None  # what is kept for those that containers end for

    def run(self) -> None:
        """Serve applications that room was preempted for, then the reservation, then all others."""
        if self.node.promised:
            self._serve_promises()
        if self.node.reservation is None or not self._serve_reservation():
            if self.node.promised:
                self._promised = self._still_promised()
            self._kept = self.node.reservation is not None or self._promised is not None
            if self._kept:
                self._due_ms = due_ms(self.state.applications, self.node)
            self._serve_applications()
        if self._counting:
            self._waits.record(self.step, self.state)

    # The three parts of a heartbeat.

    def _serve_promises(self) -> None:
        """Give room made by preemption to the applications it was made for
        (Hadoop: FairScheduler.assignPreemptedContainers)."""
        node = self.node
        for number in list(node.promised):
            attempt = self.state.attempts.get(number)
            if attempt is None or not self._still_starved(attempt):
                self.step.emit(PreemptedRoomChanged(node.name, number, self.state.none))
                continue
            key = attempt.asks.wanting[0] if attempt.asks.wanting else None
            if self._booked and key is not None and not self._wanted_here(attempt, key):
                self.step.emit(PreemptedRoomChanged(node.name, number, self.state.none))
                continue
            pending = node.promised[number]
            while any(pending) and attempt.asks.wanting:
                reservation = node.reservation
                granted = self._offer(attempt)
                if granted is None or node.reservation is not reservation:
                    break
                pending = take_from(pending, granted)

    def _still_promised(self) -> Resource | None:
        """What others have to leave while containers end for an application: the room of these;
        None: nothing.

        Without that, what ends first goes to others, and as much is preempted again. In Hadoop, and
        wherever whole nodes are reserved, others get it (docs/decisions/0023).
        """
        node, kept = self.node, self.state.none
        if self._parts is None or not (node.marked or node.ending):
            return None
        for number, room in node.promised.items():
            attempt = self.state.attempts.get(number)
            key = attempt.asks.wanting[0] if attempt is not None and attempt.asks.wanting else None
            if attempt is not None and key is not None and self._wanted_here(attempt, key):
                reservation = node.reservation
                if reservation is not None and reservation.application == number:
                    room = positive(subtract(room, reservation.keeps))
                kept = add(kept, room)
        return kept if any(kept) else None

    @property
    def _parts(self) -> PartialReservations | None:
        """What keeps parts of the node; None: whole nodes are reserved."""
        after_ms = self.state.settings.entitled_after_ms
        if self._partial is None and after_ms is not None:
            self._partial = PartialReservations(self.state, self.step, self.node, after_ms)
        return self._partial

    def _still_starved(self, attempt: FairAttempt) -> bool:
        if any(attempt.min_starvation):
            return True
        return any(attempt.fair_starvation) and self._below_share(attempt)

    def _below_share(self, attempt: FairAttempt) -> bool:
        used, share = attempt.used, attempt.fair_share
        if used[0] >= share[0] and fits(share, used):  # then by any calculator
            return False
        return attempt.leaf.policy.calculator(self.state.total, used, share, True) < 0

    def _serve_reservation(self) -> bool:
        """Fulfil or keep a valid reservation; returns whether there was one
        (Hadoop: FSAppAttempt.assignReservedContainer)."""
        node = self.node
        reservation = node.reservation
        if reservation is None:
            return False
        attempt = self.state.attempts[reservation.application]
        key = attempt.asks.keys.get((reservation.priority, reservation.request))
        if (
            key is None
            or not self._wanted_here(attempt, key)
            or (attempt.charged and not self._master_fits(attempt))
        ):
            self.step.emit(ReservationDropped(node.name))
            return False
        if fits(reservation.resource, node.available):
            self._offer_key(attempt, key, fulfilling=True)
        elif not reservation.whole and (
            self._parts is None or not self._parts.keep(attempt, key, reservation)
        ):
            self.step.emit(ReservationDropped(node.name))
        return reservation.whole

    def _master_fits(self, attempt: FairAttempt) -> bool:
        """What was refused stays refused: in a heartbeat a leaf only gets more masters. Thousands
        may wait for theirs, nearly all with the same size."""
        wanting = attempt.asks.wanting
        ask = wanting[0].anywhere if wanting else None
        kind = attempt.leaf, None if ask is None else ask.resource
        if kind in self._refused:
            return False
        fit = master_fits(attempt, subtract(self.state.total, self._used))
        if not fit:
            self._refused[kind] = None
        return fit

    def _serve_applications(self) -> None:
        """Assign one container, or as many as `assignmultiple` and its limits allow
        (Hadoop: FairScheduler.shouldContinueAssigning)."""
        node = self.node
        settings = self.state.settings
        assigned = self.state.none
        count = 0
        multiple = settings.assign_multiple
        dynamic = multiple and settings.dynamic_max_assign
        available = self._room()
        half = tuple(int(amount * 0.5) for amount in available) if dynamic else assigned
        if not self._counting and self._due_ms is None:
            only_size = self._root.only_size(self.state.reservable)
            if only_size is not None and any(only_size):
                self._only_size = only_size
                fit = fits(only_size, available)
                self._left = count_fitting(only_size, available) if fit else 0
        while not node.kept_whole:
            granted = self._walk()
            if granted is None or not multiple:
                break
            count += 1
            if dynamic:
                assigned = add(assigned, granted)
                if not fits(assigned, half):
                    break
            elif 0 < settings.max_assign <= count:
                break
        self._take_back()

    def _room(self) -> Resource:
        """The most that is free for an application without the reservation."""
        available = self._available()
        kept = self._kept and self._due_ms is None
        return self.node.for_others(available) if kept else available

    def _available(self) -> Resource:
        """What is free beside what is promised."""
        available, promised = self.node.available, self._promised
        if promised is None:
            return available
        both = zip(available, promised, strict=True)
        return tuple(max(amount - kept, min(amount, 0)) for amount, kept in both)

    def _has_room(self, attempt: FairAttempt, key: AskKey, resource: Resource) -> bool:
        """Whether a container fits beside what is kept, or ends by the time that it is needed."""
        if not self._kept:
            return fits(resource, self.node.available)
        available = self._available()
        return fits(resource, self.node.for_others(available)) or (
            self._due_ms is not None
            and fits(resource, available)
            and ends_by(attempt, key, self.step.now_ms, self._due_ms)
        )

    # The walk.

    def _walk(self) -> Resource | None:
        """Offer the node from the root down until an application takes it; returns what it took, or
        None."""
        root = self._root
        available = self._room() if self._kept else self.node.available
        if self._waiting or (self._ended_early and self._may_go_on()):
            self._take_back()
        queue = root
        only_size = self._only_size
        if only_size is not None:
            if not self._left:
                return None
            self._left -= 1
        elif not (self._counting or root.might_take(available, self.state.reservable)):
            return None
        if root.bounded and not fits(root.used, root.max_share):
            return None
        # With one size, what holds for root holds for all queues below.
        anybody = only_size is not None or self._counting
        while True:
            child = queue.order.first()
            if child is None:
                if queue is root:
                    return None
                parent = queue.path[1]
                self._put_aside(parent.order, queue)
                queue = parent
            elif queue.leaf:
                refused = child.blacklist and self._refused_by(child)
                granted = None if refused else self._offer(child, only_size)
                if granted is not None:
                    return granted
                self._put_aside(queue.order, child)
            elif anybody and not child.bounded:
                queue = child
            elif (
                (child.bounded and not fits(child.used, child.max_share))
                or not (anybody or child.might_take(available, self.state.reservable))
                or (not anybody and child.leaf and not self._might_use(child, available))
            ):
                self._put_aside(queue.order, child)
            else:
                queue = child

    def _might_use(self, leaf: FairQueue, available: Resource) -> bool:
        """Whether an ask of a leaf might fit, or an application there may reserve the node.

        False is certain: without room for the smallest amounts, only an application that may have
        one more reservation and is below its share can do anything here (see `_reserve`).
        """
        least = leaf.smallest_size
        if least is None or fits(least, available):
            return True
        if self._parts is not None:
            return self._parts.might_be_entitled(leaf, least)
        most = self._most_reservations(len(self.state.nodes))
        left = leaf.asking
        for attempt in reversed(leaf.order.members):  # those that still ask are the youngest
            if attempt is None or not attempt.asking:
                continue
            if (
                attempt.entry is not None
                and (len(attempt.reservations) < most or _names_places(attempt))
                and (self._below_share(attempt) or any(attempt.min_starvation))
            ):
                return True
            left -= 1
            if not left:
                break
        return False

    def _put_aside(self, order: Order[Any], sibling: FairQueue | FairAttempt) -> None:
        self._aside.append((order, sibling, order.put_aside(sibling)))

    def _may_go_on(self) -> bool:
        """Whether an ask that ended a turn would be skipped now, since its queue is too full."""
        for attempt, key in self._ended_early:
            ask = key.anywhere
            if ask is not None and not within_maximum(attempt.leaf, ask.resource):
                return True
        return False

    def _take_back(self) -> None:
        """Put all children back; asks that wait for locality may accept more by now."""
        for order, sibling, entry in self._aside:
            order.enter_again(sibling, entry)
        self._aside.clear()
        self._ended_early.clear()
        self._waiting = False

    # One application.

    def _refused_by(self, attempt: FairAttempt) -> bool:
        blacklist = attempt.blacklist
        return self.node.host in blacklist or self.node.rack in blacklist

    def _offer(self, attempt: FairAttempt, fitting: Resource | None = None) -> Resource | None:
        """Offer the node to one application; returns what it took or reserved, or None
        (Hadoop: FSAppAttempt.assignContainer).

        `fitting`: a size that is known to fit.
        """
        node = self.node
        if attempt.needs_master and not self._master_fits(attempt):
            return None
        if not self._counting:
            key = attempt.asks.wanting[0]
            ask = key.anywhere
            if ask is not None and ask.relax and not key.places:  # the common case, without detours
                resource = ask.resource
                fit = resource == fitting or (
                    self._has_room(attempt, key, resource)
                    if self._kept
                    else fits(resource, node.available)
                )
                if fit and not attempt.leaf.bounded and not self._booked:
                    return self._grant(attempt, key, resource, Locality.OFF_SWITCH, False)
        for key in attempt.asks.wanting:
            if not self._wanted_here(attempt, key):
                continue
            ended, granted = self._offer_key(attempt, key, fulfilling=False)
            if ended:
                early = granted is None and key is not attempt.asks.wanting[-1]
                if early and attempt.leaf.bounded:
                    self._ended_early.append((attempt, key))
                return granted
        return None

    def _wanted_here(self, attempt: FairAttempt, key: AskKey) -> bool:
        """Whether the node may serve this ask at all (Hadoop: FSAppAttempt.hasContainerForNode)."""
        ask = key.anywhere
        if ask is None:
            return False
        places = key.places
        node = self.node
        if places or not ask.relax:
            rack = places.get(node.rack, _NO_ASK)
            if not ask.relax and rack.count == 0:
                return False
            if rack.count and not rack.relax and node.host not in places:
                return False
        resource = ask.resource
        if not fits(resource, node.total):
            return False
        leaf = attempt.leaf
        if leaf.bounded and not within_maximum(leaf, resource):
            return False
        return (
            not self._booked
            or refusal(self.state, attempt, key, resource, self.step.now_ms) is None
        )

    def _offer_key(
        self, attempt: FairAttempt, key: AskKey, *, fulfilling: bool
    ) -> tuple[bool, Resource | None]:
        """Try the nearest place that the ask accepts; returns (the turn is over, what was
        taken)."""
        ask = key.anywhere
        assert ask is not None
        level = self._waits.offered(attempt, key)
        places = key.places
        if not places:
            return True, self._attempt(attempt, key, ask, Locality.OFF_SWITCH, fulfilling)
        node = self.node
        rack = places.get(node.rack, _NO_ASK)
        here = places.get(node.host, _NO_ASK)
        if self._counting:
            self._waiting = True
        if rack.count and here.count:
            return True, self._attempt(attempt, key, here, Locality.NODE_LOCAL, fulfilling)
        if not rack.relax:
            return False, None
        if rack.count and level >= Locality.RACK_LOCAL:
            return True, self._attempt(attempt, key, rack, Locality.RACK_LOCAL, fulfilling)
        if not ask.relax:
            return False, None
        if level == Locality.OFF_SWITCH:
            return True, self._attempt(attempt, key, ask, Locality.OFF_SWITCH, fulfilling)
        return False, None

    def _attempt(
        self,
        attempt: FairAttempt,
        key: AskKey,
        ask: Ask,
        locality: Locality,
        fulfilling: bool,
    ) -> Resource | None:
        """Grant the container if it fits, else reserve the node if that is allowed."""
        node = self.node
        resource = ask.resource
        if fulfilling:
            if not fits(resource, node.available):
                return None
        elif not self._has_room(attempt, key, resource):
            return self._reserve(attempt, key, resource, locality)
        self._waits.allocated(attempt, key, locality)
        return self._grant(attempt, key, resource, locality, fulfilling)

    def _grant(
        self,
        attempt: FairAttempt,
        key: AskKey,
        resource: Resource,
        locality: Locality,
        fulfilling: bool,
    ) -> Resource:
        node = self.node
        step = self.step
        number = attempt.id
        priority, request = key.order
        reservation = node.reservation
        if fulfilling and reservation is not None:  # number and size date from then
            resource = reservation.resource
            ordinal = attempt.reserved_numbers[node.name]
        else:
            ordinal = attempt.next_container
        step.emit(
            ContainerAllocated(
                number << APPLICATION_SHIFT | attempt.number << ATTEMPT_SHIFT | ordinal,
                number,
                node.name,
                resource,
                priority,
                request,
                locality,
                attempt.needs_master,
                fulfilling,
                step.now_ms,
            )
        )
        if node.promised:
            promised = node.promised.get(attempt.id)
            if promised is not None:
                left = positive(subtract(promised, resource))
                self.step.emit(PreemptedRoomChanged(node.name, attempt.id, left))
        return resource

    def _reserve(
        self, attempt: FairAttempt, key: AskKey, resource: Resource, locality: Locality
    ) -> Resource | None:
        """Reserve the node for an ask that does not fit yet (Hadoop: FSAppAttempt.reserve); None if
        that is not allowed.

        If the application already has a reservation here while it is served promised room, the new
        one replaces it.
        """
        state = self.state
        node = self.node
        leaf = attempt.leaf
        if attempt.id in node.promised:
            return None
        if node.reservation is not None and node.reservation.application != attempt.id:
            return None
        if self._parts is not None:
            if self._promised is None:
                self._parts.reserve(attempt, key, resource)
            return None  # others go on with the rest of the node
        compare = leaf.policy.calculator
        if compare(state.total, resource, state.reservable, False) < 0:
            return None
        if not self._below_share(attempt) and not any(attempt.min_starvation):
            return None
        if locality != Locality.NODE_LOCAL and self._reserved_enough(attempt, locality):
            return None
        self.step.emit(ContainerReserved(attempt.id, node.name, resource, *key.order))
        return resource

    def _reserved_enough(self, attempt: FairAttempt, locality: Locality) -> bool:
        """Whether an application has reserved its part of the cluster's, or rack's, nodes."""
        reserved: int = len(attempt.reservations)
        nodes = len(self.state.nodes)
        if locality == Locality.RACK_LOCAL:
            rack = self.state.racks[self.node.rack]
            nodes = len(rack)
            reserved = sum(1 for name in attempt.reservations if name in rack)
        return reserved >= self._most_reservations(nodes)

    def _most_reservations(self, nodes: int) -> int:
        """How many of so many nodes one application may reserve."""
        return math.ceil(single(nodes * self.state.settings.reservable_nodes))


def _names_places(attempt: FairAttempt) -> bool:
    return any(key.places for key in attempt.asks.wanting)
