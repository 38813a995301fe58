"""The maintenance of orders: a parent's children, a leaf's active and waiting applications.

Keys are tuples in sorted lists. `state.py` calls this when an event has changed what an order
depends on: an application moves at once, a queue when the order of its siblings is next read, so
that a key that changes often in between is computed once (Hadoop:
PriorityUtilizationQueueOrderingPolicy, OrderingPolicy).
"""

import math
from bisect import bisect_left, insort

from fairshare.core.model.resources import Resource, add
from fairshare.core.model.usage import MOST_CHARGE
from fairshare.core.schedulers.capacity.attempts import CapacityAttempt, Entry, Stage
from fairshare.core.schedulers.capacity.calculators import ResourceCalculator, larger
from fairshare.core.schedulers.capacity.queues import ABSOLUTE, CapacityQueue, FixedFields, Share


def remove(order: list[Entry], entry: Entry) -> None:
    """Remove a key from a sorted list that contains it."""
    del order[bisect_left(order, entry)]


def child_key(child: CapacityQueue, policy: str, label: str) -> Entry:
    """The sort key of a queue among its siblings: lower is served first
    (Hadoop: PriorityUtilizationQueueOrderingPolicy).

    First access to the label, then having a guarantee; then the used part of the guarantee (of the
    cluster for a queue without one). `priority-utilization` compares first whether a queue is below
    its guarantee, then the priority.
    """
    return _key(child, child.shares[label], _fixed_fields(child, policy, label))


def _fixed_fields(child: CapacityQueue, policy: str, label: str) -> FixedFields:
    """The part of a child's key that does not depend on its use.

    Of two with the same use the larger one is first: if all siblings that have something have
    amounts, by memory, then by each further type. Without the legacy mode the units may differ, and
    the absolute capacity decides.
    """
    share = child.shares[label]
    minimum = share.configured_minimum
    size: tuple[float, ...] = (-share.absolute_capacity,)
    if minimum is not None and child.parent is not None and child.parent.divides_amounts:
        size = tuple(-amount for amount in minimum)
    denied = 0 if child.may_use(label) else 1
    priority = -child.priority if policy == "priority-utilization" else None
    return (denied, share.absolute_capacity <= 0.0, priority, size)


def _key(child: CapacityQueue, share: Share, fixed: FixedFields) -> Entry:
    denied, no_guarantee, priority, size = fixed
    c = share.calculator
    if no_guarantee or c is None:
        use = share.absolute_used
    else:
        use = c.use(share.whole, share.used, share.divisor)
    if child.charge is not None:
        use = _charged(child.charge, share, use, no_guarantee=no_guarantee)
    if priority is None:
        return (denied, no_guarantee, 0, 0, use, size, child.rank)
    return (denied, no_guarantee, 1 if use >= 1.0 else 0, priority, use, size, child.rank)


def _charged(charge: Resource, share: Share, use: float, *, no_guarantee: bool) -> float:
    """The use with what was used in the past; below the guarantee only the present counts."""
    c = share.calculator
    if c is None or (use < 1.0 and not no_guarantee):
        return use
    used = add(share.used, charge)
    if no_guarantee:
        return c.divide(share.whole, used, share.whole)
    return c.use(share.whole, used, share.divisor)


def charges_changed(queue: CapacityQueue) -> None:
    """The charges of a queue's children, or of a leaf's users, have changed: the orders follow."""
    for share in queue.shares.values():
        for entry in share.order:
            share.stale[queue.ranked[int(entry[-1])]] = None
    for attempt in tuple(queue.active.values()):
        place_application(attempt)


def place(child: CapacityQueue, share: Share, label: str) -> None:
    """The use or the asks of a child on a partition, of which this is its share, have changed: it
    enters its siblings' order, leaves it when nothing is pending below it, or else moves before
    that order is next read."""
    parent = child.parent
    if parent is None:
        return
    above = parent.shares[label]
    old = share.entry
    if not any(share.pending):
        if old is not None:
            share.entry = None
            above.stale.pop(child, None)
            remove(above.order, old)
    elif old is not None:
        above.stale[child] = None
    else:
        share.entry = _present_key(child, share, label)
        insort(above.order, share.entry)


def _present_key(child: CapacityQueue, share: Share, label: str) -> Entry:
    fixed = share.fixed_key
    if fixed is None:
        fixed = share.fixed_key = _fixed_fields(child, child.path[1].policy, label)
    return _key(child, share, fixed)


def in_order(share: Share, label: str) -> list[Entry]:
    """The keys of the children that ask for a partition, of which this is their parent's share: the
    first is served first.

    Only while an input is handled; `keys_now` is for readers.
    """
    if share.stale and len(share.order) > 1:
        move_stale(share, label)
    return share.order


def move_stale(share: Share, label: str) -> None:
    """Move the children whose keys have changed."""
    order = share.order
    for child in share.stale:
        part = child.shares[label]
        old, fixed, c = part.entry, part.fixed_key, part.calculator
        assert old is not None  # those that leave are stale no longer
        if fixed is None or c is None or fixed[1] or fixed[2] is not None:
            entry = _present_key(child, part, label)
        else:  # the same, written out for the usual policy and a queue with a guarantee
            use = c.use(part.whole, part.used, part.divisor)
            if use >= 1.0 and child.charge is not None:
                use = c.use(part.whole, add(part.used, child.charge), part.divisor)
            entry = (fixed[0], False, 0, 0, use, fixed[3], child.rank)
        if entry != old:
            del order[0 if order[0] is old else bisect_left(order, old)]
            insort(order, entry)
            part.entry = entry
    share.stale.clear()


def settle(queue: CapacityQueue) -> None:
    """Move all children whose keys have changed: what the keys depend on besides use changes
    next, and as in Hadoop that moves none of them."""
    for label, share in queue.shares.items():
        move_stale(share, label)


def keys_now(queue: CapacityQueue, label: str) -> dict[int, Entry]:
    """The present keys of the children in `in_order`, by rank; without side effects, for views."""
    share = queue.shares[label]
    keys = {int(entry[-1]): entry for entry in share.order}
    for child in share.stale:
        part = child.shares[label]
        fixed = part.fixed_key or _fixed_fields(child, queue.policy, label)
        keys[child.rank] = _key(child, part, fixed)
    return keys


def borrowers(queue: CapacityQueue, label: str) -> list[Entry]:
    """The children that ask for the default partition, in their order on another one
    (Hadoop: PriorityUtilizationQueueOrderingPolicy.getAssignmentIterator)."""
    return sorted(
        child_key(child, queue.policy, label)
        for child in queue.ranked
        if any(child.shares[""].pending)
    )


def refresh_use(
    queue: CapacityQueue,
    label: str,
    c: ResourceCalculator,
    total: Resource,
    minimum: Resource,
) -> None:
    """Update what a queue's use is measured against (Hadoop: CSQueueUtils.updateUsedCapacity)."""
    share = queue.shares[label]
    share.measure(c, total, larger(c, total, share.effective_minimum, minimum))


def renumber(queue: CapacityQueue) -> None:
    """Give the children their ranks, and rebuild all orders of the queue."""
    queue.ranked = list(queue.children.values())
    queue.divides_amounts = all(
        child.mode == ABSOLUTE or child.share.absolute_capacity <= 0 for child in queue.ranked
    )
    for rank, child in enumerate(queue.ranked):
        child.rank = rank
        child.reconsider()
    for label, share in queue.shares.items():
        share.order = []
        share.stale.clear()
        for child in queue.ranked:
            part = child.shares[label]
            part.entry = None
            if any(part.pending):
                part.entry = child_key(child, queue.policy, label)
                share.order.append(part.entry)
        share.order.sort()


def application_key(leaf: CapacityQueue, attempt: CapacityAttempt) -> Entry:
    """The sort key of an active application in its leaf (Hadoop: FifoOrderingPolicy,
    FairOrderingPolicy); ends in its number.

    `fair`: by allocated memory, and what the user is charged for the past; with `size_based`
    divided by the logarithm of the demand. With a negative `drift` the use, and thus the demand,
    may be negative: then Hadoop's quotient is NaN and the order undefined; here the memory is not
    divided. The other orders know of the past only whose budget is used up, which comes last.
    """
    charge = leaf.charges.get(attempt.user) if leaf.charges else None
    if leaf.policy == "fair":
        magnitude = float(attempt.size)
        if charge is not None:
            magnitude += charge[0]
        if leaf.size_based and attempt.size and attempt.demand > 0:
            magnitude /= math.log1p(attempt.demand) / math.log(2)
        wants_nothing = 1 if attempt.demand == 0 else 0
        return (magnitude, attempt.start_order, wants_nothing, attempt.id)
    priority = -attempt.priority
    if charge is not None and charge[0] >= MOST_CHARGE:
        priority += MOST_CHARGE
    if leaf.policy == "fifo-for-pending-apps":
        return (0 if attempt.comes_back else 1, priority, attempt.id)
    return (priority, attempt.id)


def place_application(attempt: CapacityAttempt) -> None:
    """Add an active application to its leaf's order, move it there, or remove it.

    Applications with asks are in `order`; those without in `resting`, and in `fresh` as well while
    they have no headroom yet.
    """
    leaf = attempt.leaf
    entry = application_key(leaf, attempt) if attempt.stage == Stage.ACTIVE else None
    rests = entry is not None and not attempt.asks.wanting
    if entry == attempt.entry and rests == attempt.rests:
        return
    take_out(leaf, attempt)
    attempt.entry, attempt.rests = entry, rests
    if entry is None:
        return
    insort(leaf.resting if rests else leaf.order, entry)
    if rests and not attempt.looked_at:
        insort(leaf.fresh, entry)


def take_out(leaf: CapacityQueue, attempt: CapacityAttempt) -> None:
    """Remove an application from its leaf's order."""
    entry = attempt.entry
    if entry is None:
        return
    remove(leaf.resting if attempt.rests else leaf.order, entry)
    _freshen(leaf, entry)
    attempt.entry = None


def _freshen(leaf: CapacityQueue, entry: Entry) -> None:
    place = bisect_left(leaf.fresh, entry)
    if place < len(leaf.fresh) and leaf.fresh[place] == entry:
        del leaf.fresh[place]


def look_at(attempt: CapacityAttempt) -> None:
    """An application is considered in its leaf: from now on it has a headroom."""
    attempt.look_at()
    leaf, entry = attempt.leaf, attempt.entry
    if entry is not None and leaf.fresh:
        _freshen(leaf, entry)


def forget_change(leaf: CapacityQueue, attempt: CapacityAttempt) -> None:
    """Revert an application's change that the fair order has not applied yet.

    Hadoop re-sorts an application when the leaf is examined the next time; if the application
    leaves the order before that, or a reload rebuilds the order, the change is lost.
    """
    before = leaf.unsorted.pop(attempt.id, None)
    if before is not None:
        attempt.size, attempt.demand = before
        place_application(attempt)


def sort_applications(leaf: CapacityQueue) -> None:
    """Rebuild the order of a leaf's active applications: its policy may have changed."""
    leaf.order, leaf.resting, leaf.fresh = [], [], []
    for number, before in leaf.unsorted.items():
        attempt = leaf.attempts[number]
        attempt.size, attempt.demand = before
    leaf.unsorted.clear()
    for attempt in leaf.active.values():
        attempt.entry = None
        place_application(attempt)


def wait(attempt: CapacityAttempt) -> None:
    """Add an application to the list of those that wait for room for their master
    (Hadoop: FifoOrderingPolicyForPendingApps)."""
    leaf = attempt.leaf
    recovering = 0 if attempt.comes_back else 1
    entry = (recovering, -attempt.priority, attempt.id)
    attempt.waiting_entry = entry
    insort(leaf.waiting, entry)
    insort(leaf.waiting_kinds.setdefault(attempt.kind, []), entry)


def stop_waiting(attempt: CapacityAttempt) -> None:
    """Remove it from that list."""
    leaf, entry = attempt.leaf, attempt.waiting_entry
    if entry is not None:
        remove(leaf.waiting, entry)
        _leave_kind(attempt, entry)
        attempt.waiting_entry = None


def _leave_kind(attempt: CapacityAttempt, entry: Entry) -> None:
    kinds, kind = attempt.leaf.waiting_kinds, attempt.kind
    remove(kinds[kind], entry)
    if not kinds[kind]:
        del kinds[kind]


def relabel(attempt: CapacityAttempt, label: str) -> None:
    """Set the partition of its master. As in Hadoop it may wait for a second one."""
    entry = attempt.waiting_entry
    if entry is not None:
        _leave_kind(attempt, entry)
    attempt.label = label
    if entry is not None:
        insort(attempt.leaf.waiting_kinds.setdefault(attempt.kind, []), entry)


def active_in_order(leaf: CapacityQueue) -> list[CapacityAttempt]:
    """All active applications of a leaf, including those without asks, the first served first."""
    return sorted(leaf.active.values(), key=lambda a: application_key(leaf, a))
