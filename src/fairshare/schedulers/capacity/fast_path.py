"""Owns the fast path down the tree: the first child of each queue, the leaf's first application and
its first ask.

Nearly every container is granted here, so this is the hottest code of the package, written out for
two resource types and one partition. It has no rules of its own: it decides as the general walk of
`heartbeat.py` does. If a case is not simple (reservations, places, other partitions, a limit within
reach), it returns False without side effects, and the general walk runs.

Each queue on the path passes down what it has left of its limit, and the served application is the
first everywhere; so what fits below fits above too, and each maximum is checked once
(Hadoop: AbstractCSQueue.canAssignToThisQueue, ParentQueue.getResourceLimitsOfChild). The dominant
calculator compares vectors by their dominant shares; here a vector is smaller only if it is smaller
in both types, else the case is not simple.
"""

from typing import TYPE_CHECKING

from fairshare.model.events import ContainerAllocated, Locality
from fairshare.model.identifiers import container_id
from fairshare.model.resources import UNBOUNDED, Resource
from fairshare.schedulers.capacity import limits
from fairshare.schedulers.capacity.attempts import Entry
from fairshare.schedulers.capacity.orders import move_stale
from fairshare.schedulers.capacity.queues import CapacityQueue
from fairshare.schedulers.capacity.state import CapacityState

if TYPE_CHECKING:
    from fairshare.schedulers.capacity.heartbeat import Heartbeat

_ANYWHERE = Locality.OFF_SWITCH  # looking up an enumeration's member costs more than an addition


def is_plain(state: CapacityState) -> bool:
    """Whether the fast path applies at all: two types, one partition, no amount of 0."""
    return (
        len(state.labels) == 1
        and len(state.none) == 2
        and all(state.total)
        and all(state.settings.minimum_allocation)
    )


def descend(beat: "Heartbeat") -> bool:
    """Grant one container on the fast path; False: the case is not simple, and nothing has
    changed."""
    state = beat.state
    dominant = state.calculator.name == "dominant"
    free_memory, free_vcores = beat.node.available
    step_memory, step_vcores = state.settings.minimum_allocation
    if free_memory < step_memory or (dominant and free_vcores < step_vcores):
        return False
    memory, vcores = beat.whole  # the most that the queue may use
    queue = state.root
    share = queue.shares[""]
    while not queue.leaf:
        most_memory, most_vcores = share.effective_maximum
        if dominant:
            if most_memory <= memory and most_vcores <= vcores:
                memory, vcores = most_memory, most_vcores
            elif most_memory < memory or most_vcores < vcores:
                return False
        elif most_memory < memory:
            memory = most_memory
        used_memory, used_vcores = share.used
        if used_memory >= memory or (dominant and used_vcores >= vcores):
            return False
        order = share.order
        if share.stale and len(order) > 1:  # `in_order`, written out
            move_stale(share, "")
        if not order or share.killable[0]:
            return False
        queue = queue.ranked[order[0][-1]]  # type: ignore[call-overload]
        share = queue.shares[""]
        own_memory, own_vcores = share.used
        memory += own_memory - used_memory
        memory -= memory % step_memory
        if dominant:
            vcores += own_vcores - used_vcores
            vcores -= vcores % step_vcores
    # First what the leaf can reach, for its limit; then what it can use of that.
    most_memory, most_vcores = share.effective_maximum
    reach_memory = most_memory - most_memory % step_memory
    reach_vcores = most_vcores - most_vcores % step_vcores
    if dominant:
        if reach_memory > memory or reach_vcores > vcores:
            if reach_memory < memory or reach_vcores < vcores:
                return False
            reach_memory, reach_vcores = memory, vcores
        if most_memory <= memory and most_vcores <= vcores:
            memory, vcores = most_memory, most_vcores
        elif most_memory < memory or most_vcores < vcores:
            return False
    else:
        if reach_memory > memory:
            reach_memory = memory
        reach_vcores = 1 if reach_memory > 0 else 0
        if most_memory < memory:
            memory = most_memory
    used_memory, used_vcores = share.used
    memory = min(memory - used_memory, free_memory)
    if dominant:
        vcores = min(vcores - used_vcores, free_vcores)
    else:
        vcores = UNBOUNDED
    return _serve(beat, queue, (memory, vcores), (reach_memory, reach_vcores))


def _serve(beat: "Heartbeat", leaf: CapacityQueue, room: Resource, reach: Resource) -> bool:
    """Grant the leaf's first application a container, if the case is simple.

    `room` is the largest size that is allowed and fits; `reach` is what the leaf can reach.
    """
    state = beat.state
    users, order = leaf.users, leaf.order
    if not order or leaf.held or users.orphaned or leaf.policy == "fifo-with-partitions":
        return False
    first = order[0]
    if leaf.resting and leaf.resting[0] < first and not _rests_plainly(state, leaf, first):
        return False
    attempt = state.attempts[first[-1]]  # type: ignore[index]
    record = users.users.get(attempt.user)
    if record is None or record.pending_applications < 0:
        return False
    if attempt.reservations or attempt.blacklist:
        return False
    if users.strangers and users.missed(attempt.user) is not None:
        return False
    key = attempt.asks.wanting[0]
    ask = key.anywhere
    if ask is None or key.places or key.withdrawn or key.label or not ask.relax:
        return False
    size = ask.resource
    memory, vcores = size
    if not 0 < memory <= room[0] or vcores > room[1] or beat.has_counted(attempt, key):
        return False
    if not limits.user_may_more(state, leaf, record):
        return False
    beat.grants(leaf, reach)
    number, now_ms = attempt.id, beat.step.now_ms
    priority, request = key.order
    beat.step.emit(
        ContainerAllocated(
            container_id(number, attempt.number, attempt.next_container),
            number,
            beat.node.name,
            size,
            priority,
            request,
            _ANYWHERE,
            attempt.waits_for_master,
            False,
            now_ms,
        )
    )
    return True


def _rests_plainly(state: CapacityState, leaf: CapacityQueue, first: Entry) -> bool:
    """Whether considering the applications without asks before the first one with asks has no
    effect."""
    if leaf.fresh and leaf.fresh[0] < first:
        return False
    resting = state.attempts[leaf.resting[0][-1]]  # type: ignore[index]
    record = leaf.users.users.get(resting.user)
    return record is not None and record.pending_applications >= 0 and not resting.reservations
