"""The fast path down the tree: the first child of each queue, the leaf's first application and its
first ask.

Nearly every container is granted here, so this is the hottest code of the package, written out for
two resource types and one partition. It has no rules of its own: it decides as the general walk of
`heartbeat.py` does. If a case is not simple (reservations, places, other partitions, a limit within
reach), it returns False without side effects, and the general walk runs.

Each queue on the path passes down what it has left of its limit, and the served application is the
first everywhere; so what fits below fits above too, and each maximum is checked once (Hadoop:
AbstractCSQueue.canAssignToThisQueue, ParentQueue.getResourceLimitsOfChild). The dominant calculator
compares vectors by their dominant shares; here a vector is smaller only if it is smaller in both
types, else the case is not simple.
"""

from typing import TYPE_CHECKING

from fairshare.core.model.events import ContainerAllocated, Locality
from fairshare.core.model.identifiers import APPLICATION_SHIFT
from fairshare.core.model.resources import UNBOUNDED, Resource
from fairshare.core.schedulers.capacity import limits
from fairshare.core.schedulers.capacity.attempts import Entry
from fairshare.core.schedulers.capacity.orders import move_stale
from fairshare.core.schedulers.capacity.queues import CapacityQueue
from fairshare.core.schedulers.capacity.state import CapacityState

if TYPE_CHECKING:
    from fairshare.core.schedulers.capacity.heartbeat import Heartbeat

_ANYWHERE = Locality.OFF_SWITCH  # looking up an enumeration's member costs more than an addition


def is_plain(state: CapacityState) -> bool:
    """Whether the fast path applies at all: two types, one partition, no amount of 0."""
    return (
        len(state.labels) == 1
        and len(state.none) == 2
        and all(state.total)
        and all(state.settings.minimum_allocation)
    )


def grant(beat: "Heartbeat", most: int) -> int:
    """Grant containers on the fast path, at most this many; returns how many until a case was not
    simple."""
    state, node, step = beat.state, beat.node, beat.step
    root = state.root
    if root.share.killable[0]:
        return 0
    descend = _descend_by_shares if state.calculator.name == "dominant" else _descend_by_memory
    whole, minimum, none = beat.whole, state.settings.minimum_allocation, state.none
    limit_of, examined, misses = beat.limit_of, beat.examined, beat.misses_counted
    granted = 0
    while granted < most:
        way = descend(root, whole, minimum, node.available)
        if way is None:
            break
        leaf, room_memory, room_vcores, reach = way
        users, order = leaf.users, leaf.order
        if not order or leaf.held or users.orphaned or leaf.policy == "fifo-with-partitions":
            break
        first = order[0]
        if leaf.resting and leaf.resting[0] < first and not _rests_plainly(state, leaf, first):
            break
        attempt = state.attempts[first[-1]]
        record = users.users.get(attempt.user)
        if record is None or record.pending_applications < 0:
            break
        if attempt.reservations or attempt.blacklist:
            break
        if users.missed_users and users.missed(attempt.user) is not None:
            break
        key = attempt.asks.wanting[0]
        ask = key.anywhere
        if ask is None or key.places or key.withdrawn or key.label or not ask.relax:
            break
        size = ask.resource
        memory, vcores = size
        if not 0 < memory <= room_memory or vcores > room_vcores:
            break
        if misses and beat.has_counted(attempt, key):
            break
        sure_memory, sure_vcores = leaf.sure_use
        memory, vcores = record.used.get("", none)
        sure = memory < sure_memory and vcores < sure_vcores and record.weight == 1.0
        if not sure and not limits.user_may_more(state, leaf, record):
            break
        limit_of[leaf] = reach
        if examined:
            examined.pop(leaf, None)
        number = attempt.id
        priority, request = key.order
        step.emit(
            ContainerAllocated(
                number << APPLICATION_SHIFT | attempt.number << 32 | attempt.next_container,
                number,
                node.name,
                size,
                priority,
                request,
                _ANYWHERE,
                attempt.submission.master is not None and attempt.waits_for_master,
                False,
                step.now_ms,
            )
        )
        granted += 1
    return granted


Found = tuple[CapacityQueue, int, int, Resource]
"""A leaf, the largest memory and vcores that are allowed there and fit, what the leaf can reach."""


def _descend_by_memory(
    queue: CapacityQueue, whole: Resource, minimum: Resource, free: Resource
) -> Found | None:
    """The leaf that is served next; None: there is none, or the case is not simple."""
    step, left = minimum[0], free[0]
    if left < step:
        return None
    memory = whole[0]  # the most that the queue may use
    share = queue.share
    while not queue.leaf:
        most = share.effective_maximum[0]
        if most < memory:
            memory = most
        used = share.used[0]
        order = share.order
        if used >= memory or not order:
            return None
        if share.stale and len(order) > 1:  # `in_order`, written out
            move_stale(share, "")
        queue = queue.ranked[order[0][-1]]
        share = queue.share
        memory += share.used[0] - used
        memory -= memory % step
    # First what the leaf can reach, for its limit; then what it can use of that.
    most = share.effective_maximum[0]
    reach = most - most % step
    if memory < reach:
        reach = memory
    if most < memory:
        memory = most
    memory -= share.used[0]
    return queue, min(memory, left), UNBOUNDED, (reach, 1 if reach > 0 else 0)


def _descend_by_shares(
    queue: CapacityQueue, whole: Resource, minimum: Resource, free: Resource
) -> Found | None:
    """The same by dominant shares."""
    step_memory, step_vcores = minimum
    left_memory, left_vcores = free
    if left_memory < step_memory or left_vcores < step_vcores:
        return None
    memory, vcores = whole
    share = queue.share
    while not queue.leaf:
        most_memory, most_vcores = share.effective_maximum
        if most_memory <= memory and most_vcores <= vcores:
            memory, vcores = most_memory, most_vcores
        elif most_memory < memory or most_vcores < vcores:
            return None
        used_memory, used_vcores = share.used
        order = share.order
        if used_memory >= memory or used_vcores >= vcores or not order:
            return None
        if share.stale and len(order) > 1:  # `in_order`, written out
            move_stale(share, "")
        queue = queue.ranked[order[0][-1]]
        share = queue.share
        own_memory, own_vcores = share.used
        memory += own_memory - used_memory
        memory -= memory % step_memory
        vcores += own_vcores - used_vcores
        vcores -= vcores % step_vcores
    # First what the leaf can reach, for its limit; then what it can use of that.
    most_memory, most_vcores = share.effective_maximum
    reach_memory = most_memory - most_memory % step_memory
    reach_vcores = most_vcores - most_vcores % step_vcores
    if reach_memory > memory or reach_vcores > vcores:
        if reach_memory < memory or reach_vcores < vcores:
            return None
        reach_memory, reach_vcores = memory, vcores
    if most_memory <= memory and most_vcores <= vcores:
        memory, vcores = most_memory, most_vcores
    elif most_memory < memory or most_vcores < vcores:
        return None
    used_memory, used_vcores = share.used
    return (
        queue,
        min(memory - used_memory, left_memory),
        min(vcores - used_vcores, left_vcores),
        (reach_memory, reach_vcores),
    )


def _rests_plainly(state: CapacityState, leaf: CapacityQueue, first: Entry) -> bool:
    """Whether considering the applications without asks before the first one with asks has no
    effect."""
    if leaf.fresh and leaf.fresh[0] < first:
        return False
    resting = state.attempts[leaf.resting[0][-1]]
    record = leaf.users.users.get(resting.user)
    return record is not None and record.pending_applications >= 0 and not resting.reservations
