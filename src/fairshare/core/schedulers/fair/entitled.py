"""Reservations in part: what a queue is entitled to is kept free for an ask that waits, and others
go on with the rest of the node (docs/decisions/0023). Hadoop reserves whole nodes alone.

Tasks that end before what is kept can be of use have it until then (`schedulers/backfill.py`).
"""

from itertools import pairwise
from typing import TYPE_CHECKING

from fairshare.core.model.asks import AskKey
from fairshare.core.model.events import ContainerReserved
from fairshare.core.model.nodes import Node, Reservation
from fairshare.core.model.resources import Resource, largest
from fairshare.core.schedulers.fair.attempts import FairAttempt
from fairshare.core.schedulers.fair.queues import FairQueue
from fairshare.core.schedulers.fair.state import FairState

if TYPE_CHECKING:
    from fairshare.core.schedulers.protocol import Step


class PartialReservations:
    """Those of one node in one heartbeat, in which shares and demands do not change. An ask waits
    for `after_ms` before anything is kept for it."""

    def __init__(self, state: FairState, step: "Step", node: Node, after_ms: int) -> None:
        self._state = state
        self._step = step
        self._node = node
        self._after_ms = after_ms
        self._claimed: dict[tuple[FairQueue, int], int] = {}

    def might_be_entitled(self, leaf: FairQueue, least: Resource) -> bool:
        """Whether a leaf may reserve the node for an ask that does not fit. What the smallest
        amounts lack here, all of its asks lack."""
        if self._node.reservation is not None:
            return False
        available = self._node.available
        return all(
            leaf.used[place] + amount <= self._entitlement(leaf, place)
            for place, amount in enumerate(least)
            if amount > available[place]
        )

    def reserve(self, attempt: FairAttempt, key: AskKey, size: Resource) -> None:
        """Reserve a part of the node for an ask that does not fit, if its queue is entitled to it:
        nothing yet, unless the application has waited for long enough since it last got
        something."""
        if self._node.reservation is not None or attempt.reservations:
            return
        share = self._entitlements(attempt.leaf)
        short = self._short(attempt.leaf, key, size, share)
        if short is None:
            return
        launched = attempt.launched
        got_ms = [attempt.containers[one].allocated_ms for one in launched]  # not held for a gang
        since_ms, now_ms = max([attempt.started_ms, *got_ms]), self._step.now_ms
        waited = now_ms - since_ms >= self._after_ms
        self._step.emit(
            ContainerReserved(
                attempt.id,
                self._node.name,
                size,
                *key.order,
                short if waited else (),
                now_ms if waited else since_ms,
                share,
            )
        )

    def keep(self, attempt: FairAttempt, key: AskKey, reservation: Reservation) -> bool:
        """Keep what the ask lacks here, if it has waited for long enough. False: its queue is not
        entitled to it any more, even by the share that it had at first, which counts, too, so that
        users that come and go end nothing."""
        share = largest(self._entitlements(attempt.leaf), reservation.share)
        short = self._short(attempt.leaf, key, reservation.resource, share)
        if short is None:
            return False
        before, now_ms = reservation.kept or (), self._step.now_ms
        kept = tuple(sorted({*before, *short}))
        waits = not before and now_ms - reservation.since_ms < self._after_ms
        if kept != before and not waits:
            self._step.emit(
                ContainerReserved(
                    reservation.application,
                    reservation.node,
                    reservation.resource,
                    reservation.priority,
                    reservation.request,
                    kept,
                    reservation.since_ms if before else now_ms,
                    reservation.share,
                )
            )
        return True

    def _short(
        self, leaf: FairQueue, key: AskKey, size: Resource, share: Resource
    ) -> tuple[int, ...] | None:
        """The types of which the node has too little for this size; None if the leaf is not
        entitled to as much of them, or if the cluster has enough elsewhere, so that others have no
        more than their shares."""
        state, available = self._state, self._node.available
        short = tuple(place for place, amount in enumerate(size) if amount > available[place])
        for place in short:
            if leaf.used[place] + size[place] > share[place]:
                return None
            if not key.places and state.total[place] - state.root.used[place] >= size[place]:
                return None
        return short

    def _entitlements(self, leaf: FairQueue) -> Resource:
        return tuple(self._entitlement(leaf, place) for place in range(len(self._state.total)))

    def _entitlement(self, leaf: FairQueue, place: int) -> int:
        """What a leaf is entitled to of a type: its part of the shares of those queues that want
        some of it, at each level. A type that no policy divides is divided as memory is."""
        total, part = self._state.total, 1.0
        for queue, parent in pairwise(leaf.path):
            divided = _divided(parent, place, len(total))
            mine = queue.fair_share[divided]
            if not mine:
                return 0
            claimed = self._claimed.get((parent, place))  # by all children that want some of it
            if claimed is None:
                claimed = self._claimed[parent, place] = sum(
                    child.fair_share[divided]
                    for child in parent.children.values()
                    if _wants(child, place)
                )
            part *= mine / (claimed if _wants(queue, place) else claimed + mine)
        return int(total[place] * part + 1e-6)  # a third of 3 is 1


def _divided(parent: FairQueue, place: int, types: int) -> int:
    """The type by whose shares a queue divides a type among its children."""
    return place if place < parent.policy.shared_types(types) else 0


def _wants(queue: FairQueue, place: int) -> bool:
    """Whether something below a queue uses or asks for a type."""
    if queue.leaf:
        return queue.demand_sum[place] > 0
    return any(_wants(child, place) for child in queue.children.values())
