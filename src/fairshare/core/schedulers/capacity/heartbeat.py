"""The processing of a node's heartbeat: the walk from the root to a leaf's applications.

Each attempt starts at the root and grants at most one container; attempts are repeated as long as
the settings allow (Hadoop: CapacityScheduler.allocateContainersToNode, LeafQueue.assignContainers).
`assignment.py` decides what one application takes.
"""

from bisect import bisect_right
from collections.abc import Iterator
from heapq import merge
from itertools import islice
from typing import TYPE_CHECKING

from fairshare.core.model.asks import AskKey
from fairshare.core.model.events import Locality, OffersCounted, ReservationDropped
from fairshare.core.model.nodes import Node
from fairshare.core.model.resources import Resource, add, subtract
from fairshare.core.schedulers.bookings import refusal
from fairshare.core.schedulers.capacity import assignment, fast_path, limits, orders
from fairshare.core.schedulers.capacity.assignment import Answer, ResourceLimits
from fairshare.core.schedulers.capacity.attempts import CapacityAttempt, Entry
from fairshare.core.schedulers.capacity.calculators import MOST_CONTAINERS, larger, smaller
from fairshare.core.schedulers.capacity.capacities import child_limit, leaf_limit
from fairshare.core.schedulers.capacity.events import (
    ApplicationsOrdered,
    HeadroomComputed,
    QueueLimited,
)
from fairshare.core.schedulers.capacity.queues import CapacityQueue
from fairshare.core.schedulers.capacity.state import CapacityState

if TYPE_CHECKING:
    from fairshare.core.schedulers.protocol import Step

_OFF_SWITCH, _RESERVED = Answer.OFF_SWITCH, Answer.RESERVED  # looking them up costs time

MOST_REFUSED = 100
"""The maximum number of attempts in one heartbeat that end without effect since a limit forbids the
container found. As in Hadoop each attempt counts; without a maximum the loop would not end."""


class _Turns:
    """The active applications of a leaf in their order, without those whose turn has no effect.

    The turn of an application without asks only checks limits. Hadoop gives all of them a turn;
    here only those that have no headroom yet, and all of them while `limit_open`: until an
    application without reservations has had its turn, the leaf's limit is checked for each
    application, and one that has no reservation to release may end the search for all after it.
    """

    __slots__ = ("leaf", "limit_open")

    def __init__(self, leaf: CapacityQueue) -> None:
        self.leaf = leaf
        self.limit_open = True

    def __iter__(self) -> Iterator[Entry]:
        leaf = self.leaf
        entries = merge(leaf.resting, leaf.order) if leaf.resting else iter(leaf.order)
        for entry in entries:
            yield entry
            if not self.limit_open:
                break
        else:
            return
        # With orphaned users: the leaf's reach is recorded for the first application whose user it
        # knows.
        if not leaf.resting or leaf.users.orphaned:
            yield from entries
            return
        asking = islice(leaf.order, bisect_right(leaf.order, entry), None)
        fresh = leaf.fresh[bisect_right(leaf.fresh, entry) :]
        yield from merge(fresh, asking) if fresh else asking


class Heartbeat:
    """One heartbeat of one node. `ignore` is set while a node of another partition serves asks for
    the default partition (Hadoop: SchedulingMode.IGNORE_PARTITION_EXCLUSIVITY). `limit_of` is what
    leaves can reach, `examined` the leaves that it looked at since they were last granted anything:
    both are recorded at the end."""

    __slots__ = (
        "_default_misses",
        "_misses",
        "_plain",
        "examined",
        "ignore",
        "label",
        "limit_of",
        "node",
        "refused",
        "state",
        "step",
        "whole",
    )

    def __init__(self, state: CapacityState, step: "Step", node: Node) -> None:
        self.state = state
        self.step = step
        self.node = node
        self.label = state.label_of(node)
        self.whole = state.total_of(self.label)
        self.ignore = False
        self.refused = 0  # attempts whose container a limit forbade after all
        self._plain = not state.kept and fast_path.is_plain(state)
        self.limit_of: dict[CapacityQueue, Resource] = {}
        self.examined: dict[CapacityQueue, None] = {}
        self._misses: dict[tuple[int, tuple[int, int]], tuple[AskKey, int]] = {}
        self._default_misses: dict[tuple[int, tuple[int, int]], int] = {}

    def run(self) -> None:
        """Repeat attempts until the settings' or the node's limit is reached
        (Hadoop: CapacityScheduler.canAllocateMore)."""
        settings = self.state.settings
        most_off_switch = max(settings.maximum_off_switch_assignments, 1)
        most = settings.maximum_assignments if settings.multiple_assignments else 1
        if most == 0:
            most = 1
        if most < 0:
            most = MOST_CONTAINERS
        off_switch = done = 0
        while True:
            if self._plain and self.node.reservation is None:
                granted = fast_path.grant(self, min(most_off_switch - off_switch, most - done))
                off_switch += granted
                done += granted
                if off_switch >= most_off_switch or done == most:
                    break
            answer = self._attempt()
            if answer < _OFF_SWITCH:
                break
            done += 1
            off_switch += answer is _OFF_SWITCH
            if off_switch >= most_off_switch or answer is _RESERVED or done == most:
                break
            if self.refused >= MOST_REFUSED:
                break
        for (number, _), (key, _count) in tuple(self._misses.items()):
            self.emit_misses(self.state.attempts[number], key)
        for leaf in self.examined:
            if leaf.unsorted:
                self.step.emit(ApplicationsOrdered(leaf.name))
        for leaf, limit in self.limit_of.items():
            if leaf.limit != limit:
                self.step.emit(QueueLimited(leaf.name, limit))

    def _attempt(self) -> Answer:
        state = self.state
        node = self.node
        if node.reservation is not None:
            self._serve_reservation()
            return Answer.NOTHING
        self.ignore = False
        minimum = state.settings.minimum_allocation
        available = node.available
        if node.marked:  # it counts what lazily preempted containers would release
            for record in node.marked.values():
                available = add(available, record.resource)
        if not state.calculator.containers(available, minimum):
            return Answer.NOTHING
        if not state.calculator.fits(minimum, available):  # below 0 in a type, since it shrank
            return Answer.NOTHING
        answer = self._parent(state.root, ResourceLimits(self.whole, state.none))
        if answer < _OFF_SWITCH and self.label and state.shares_with_all(self.label):
            self.ignore = True
            answer = self._parent(state.root, ResourceLimits(state.total_of(""), state.none))
        return answer

    # Queues.

    def _serve_reservation(self) -> None:
        """No other application may use the node in this heartbeat, whatever the result
        (Hadoop: CapacityScheduler.allocateContainerOnSingleNode)."""
        state = self.state
        reservation = self.node.reservation
        assert reservation is not None
        attempt = state.attempts[reservation.application]
        key = attempt.asks.keys[(reservation.priority, reservation.request)]
        if not key.pending or (
            state.kept and refusal(state, attempt, key, reservation.resource, self.step.now_ms)
        ):
            self.step.emit(ReservationDropped(self.node.name))
            return
        assignment.fulfil(self, attempt, key, reservation)

    def _within(self, queue: CapacityQueue, room: ResourceLimits, unreservable: Resource) -> bool:
        """Whether a queue is below its limit, or can be by releasing reservations
        (Hadoop: AbstractCSQueue.canAssignToThisQueue)."""
        c = self.state.calculator
        share = queue.shares[self.label]
        cap = self.whole
        if not self.ignore:
            cap = smaller(c, self.state.total, share.effective_maximum, room.limit)
        used = share.used if queue.leaf else subtract(share.used, share.killable)
        room.headroom = subtract(cap, used)
        if c.compare(self.state.total, used, cap) < 0:
            return True
        none = self.state.none
        if not self.state.settings.continue_looking:
            return False
        if c.compare(self.state.total, unreservable, none) <= 0:
            return False
        return c.compare(self.state.total, subtract(used, unreservable), cap) < 0

    def _wants(self, queue: CapacityQueue) -> bool:
        label = "" if self.ignore else self.label
        pending = queue.shares[label].pending
        return self.state.calculator.compare(self.whole, pending, self.state.none) > 0

    def _parent(self, queue: CapacityQueue, room: ResourceLimits) -> Answer:
        state = self.state
        c = state.calculator
        if not self.ignore and not queue.may_use(self.label):
            return Answer.NOTHING
        share = queue.shares[self.label]
        # As in Hadoop what is reserved on the default partition counts, whatever the node's
        # partition, and of that only memory and vcores.
        reserved = (*queue.reserved_now[:2], *state.none[2:])
        if not self._wants(queue) or not self._within(queue, room, reserved):
            return Answer.NOTHING
        answer = Answer.NOTHING
        minimum = state.settings.minimum_allocation
        order = (
            orders.borrowers(queue, self.label)
            if self.ignore
            else orders.in_order(share, self.label)
        )
        for entry in tuple(order):
            child = queue.ranked[int(entry[-1])]
            room.limit = smaller(c, state.total, room.limit, share.effective_maximum)
            limit = child_limit(
                c, room.limit, room.blocked, share, child.shares[self.label], minimum
            )
            below = ResourceLimits(limit, state.none)
            child_answer = self._leaf(child, below) if child.leaf else self._parent(child, below)
            if child_answer >= _OFF_SWITCH:
                return child_answer
            if child_answer == Answer.QUEUE_LIMIT:
                answer = child_answer
                kept = below.headroom if child.leaf else below.blocked
                room.blocked = add(room.blocked, larger(c, state.total, kept, state.none))
        return answer

    def _leaf(self, leaf: CapacityQueue, room: ResourceLimits) -> Answer:
        state = self.state
        c = state.calculator
        share = leaf.shares[self.label]
        settings = state.settings
        limit = leaf_limit(state, leaf, room.limit)
        if any(share.effective_minimum):
            room.may_kill = c.compare(state.total, share.used, share.effective_minimum) < 0
        else:
            room.may_kill = share.absolute_used < share.absolute_capacity
        if not self.ignore and not leaf.may_use(self.label):
            return Answer.NOTHING
        if not self._wants(leaf) or not leaf.active:
            return Answer.NOTHING
        self.examined[leaf] = None
        blocked: dict[str, Resource] = {}
        turns = _Turns(leaf)
        for entry in turns:
            attempt = state.attempts[int(entry[-1])]
            if not leaf.serves(attempt.label, self.label):
                continue
            reserved = attempt.reserved_on("")
            if turns.limit_open:
                if not self._within(leaf, room, reserved):
                    return Answer.NOTHING
                turns.limit_open = settings.continue_looking and any(reserved)
            if leaf.users.get(attempt.user) is not None:
                self.limit_of[leaf] = limit
            self._consider(attempt)
            if attempt.rests or not self._user_may(leaf, attempt, room, blocked):
                continue
            refused = self.refused
            answer = assignment.offer(self, attempt, room)
            if answer >= Answer.OFF_SWITCH and self.refused == refused:
                del self.examined[leaf]  # changes since then have not been examined
            if answer >= Answer.OFF_SWITCH or answer == Answer.QUEUE_LIMIT:
                return answer
            if answer != Answer.SKIPPED:
                return Answer.NOTHING
        return Answer.NOTHING

    def _user_may(
        self,
        leaf: CapacityQueue,
        attempt: CapacityAttempt,
        room: ResourceLimits,
        blocked: dict[str, Resource],
    ) -> bool:
        """Whether an application's user is within its limit (Hadoop: LeafQueue.canAssignToUser)."""
        state = self.state
        c = state.calculator
        user = attempt.user
        failed = blocked.get(user)
        reserved = attempt.reserved_on("")
        if failed is not None and c.fits(reserved, failed):
            return False
        room.need = state.none
        record = leaf.users.get(user)
        missed = leaf.users.missed(user, self.label)
        if record is None or (missed is not None and c.fits(attempt.reserved, missed)):
            return False
        limit = limits.user_limit(state, leaf, user, self.label, ignore=self.ignore)
        used = record.used.get(self.label, state.none)
        if c.compare(state.total, used, limit) <= 0:
            return True
        if state.settings.continue_looking:
            without = subtract(record.used.get("", state.none), reserved)
            if c.compare(state.total, without, limit) <= 0:
                room.need = subtract(used, limit)
                return True
        if failed is None or c.fits(failed, reserved):
            blocked[user] = reserved
        if not self.label and missed is None and leaf.may_lose(user):
            self.step.emit(HeadroomComputed(attempt.id))
        return False

    # State that is kept until the end of the heartbeat.

    def _consider(self, attempt: CapacityAttempt) -> None:
        """It is an application's turn: from now on it has a headroom."""
        leaf = attempt.leaf
        users = leaf.users
        if users.get(attempt.user) is None:
            news = users.missed(attempt.user) is None
        else:
            news = users.outdated or not attempt.looked_at
        if news:
            self.step.emit(HeadroomComputed(attempt.id))

    @property
    def misses_counted(self) -> bool:
        """Whether some ask has missed an opportunity in this heartbeat."""
        return bool(self._misses)

    def has_counted(self, attempt: CapacityAttempt, key: AskKey) -> bool:
        """Whether an ask has missed an opportunity in this heartbeat."""
        return (attempt.id, key.order) in self._misses

    def misses(self, attempt: CapacityAttempt, key: AskKey) -> int:
        """The missed opportunities of an ask, including those of this heartbeat."""
        changed = self._misses.get((attempt.id, key.order))
        return key.opportunities if changed is None else changed[1]

    def missed(self, attempt: CapacityAttempt, key: AskKey, count: int) -> None:
        """Set the count of an ask's missed opportunities."""
        self._misses[attempt.id, key.order] = (key, count)

    def emit_misses(self, attempt: CapacityAttempt, key: AskKey) -> None:
        """Emit an event for what was counted for an ask."""
        changed = self._misses.pop((attempt.id, key.order), None)
        if changed is None:
            return
        count = changed[1]
        apart = self._default_misses.get((attempt.id, key.order))
        if apart is not None and apart != attempt.default_misses.get(key.order, 0):
            self.step.emit(
                OffersCounted(
                    attempt.id, *key.order, count, Locality.NODE_LOCAL, default_misses=apart
                )
            )
        elif count != key.opportunities:
            self.step.emit(OffersCounted(attempt.id, *key.order, count, Locality.NODE_LOCAL))

    def wait_for_default(self, attempt: CapacityAttempt, key: AskKey) -> bool:
        """Count one more opportunity for an ask of the default partition. Returns whether it must
        still wait for a node of that partition: while it had fewer opportunities than there are
        nodes (Hadoop: SchedulingMode.IGNORE_PARTITION_EXCLUSIVITY)."""
        state = self.state
        if len(state.labels) == 1 or key.label:
            return False
        place = (attempt.id, key.order)
        count = self._default_misses.get(place, attempt.default_misses.get(key.order, 0)) + 1
        self._default_misses[place] = count
        self._misses.setdefault(place, (key, key.opportunities))
        return self.ignore and count < len(state.nodes)

    def served(self, attempt: CapacityAttempt, key: AskKey) -> None:
        """An ask was served: on the default partition its wait for that partition starts again."""
        if not self.label and len(self.state.labels) > 1:
            self._default_misses[attempt.id, key.order] = 0
