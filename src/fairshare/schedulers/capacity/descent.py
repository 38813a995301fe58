"""Owns the straight way down the tree: the first child of each queue, the first application of the
leaf, its first ask.

Nearly every container is granted there, so this is the hottest code of the room, and it is written
out for two types of resources and one partition. It knows no rule of its own: it decides as the
walk of `heartbeat.py` does, and where something is not plain (reservations, places, other
partitions, a limit that is near) it answers no, having changed nothing, and that walk decides.

Each queue on the way hands down what it has left of its limit, and nobody stands before the one
who is served; so what fits below fits above too, and each maximum is looked at once
(spec/capacity.md 11.5, 11.6, 15.8). The dominant calculator compares vectors by their largest
shares; here one counts as the smaller one if it is that in both types, else the case is not plain.
"""

from typing import TYPE_CHECKING

from fairshare.model.events import ContainerAllocated, Locality
from fairshare.model.identifiers import container_id
from fairshare.model.resources import UNBOUNDED, Resource
from fairshare.schedulers.capacity import limits
from fairshare.schedulers.capacity.applications import Entry
from fairshare.schedulers.capacity.queues import CapacityQueue

if TYPE_CHECKING:
    from fairshare.schedulers.capacity.heartbeat import Heartbeat
    from fairshare.schedulers.capacity.state import CapacityState

_ANYWHERE = Locality.OFF_SWITCH  # to look a member of an enumeration up costs more than a sum


def is_plain(state: "CapacityState") -> bool:
    """Whether the straight way may be tried at all: two types, one partition, nothing of 0."""
    return (
        len(state.labels) == 1
        and len(state.none) == 2
        and all(state.total)
        and all(state.settings.minimum_allocation)
    )


def descend(beat: "Heartbeat") -> bool:
    """Grant one container on the straight way; no: nothing is plain, and nothing has changed."""
    state = beat.state
    dominant = state.calculator.name == "dominant"
    free_memory, free_vcores = beat.node.available
    step_memory, step_vcores = state.settings.minimum_allocation
    if free_memory < step_memory or (dominant and free_vcores < step_vcores):
        return False
    memory, vcores = beat.whole  # what the queue may have in all
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
    # What the leaf can reach, as it is told; then, what of that it can use.
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
    """Let a leaf's first application have a container, if that is plain.

    `room` is the largest that is allowed and fits; `reach` is what the leaf can reach.
    """
    state = beat.state
    users, order = leaf.users, leaf.order
    if not order or leaf.held or users.orphaned or leaf.policy == "fifo-with-partitions":
        return False
    first = order[0]
    if leaf.resting and leaf.resting[0] < first and not _rests_plainly(state, leaf, first):
        return False
    application = state.applications[first[-1]]  # type: ignore[index]
    record = users.users.get(application.user)
    if record is None or record.pending_applications < 0:
        return False
    if application.reservations or application.blacklist:
        return False
    if users.strangers and users.missed(application.user) is not None:
        return False
    key = application.asks.wanting[0]
    ask = key.anywhere
    if ask is None or key.places or key.withdrawn or key.label or not ask.relax:
        return False
    size = ask.resource
    memory, vcores = size
    if not 0 < memory <= room[0] or vcores > room[1] or beat.has_counted(application, key):
        return False
    if not limits.user_may_more(state, leaf, record):
        return False
    beat.grants(leaf, reach)
    number, now_ms = application.id, beat.step.now_ms
    priority, request = key.order
    beat.step.emit(
        ContainerAllocated(
            container_id(number, application.attempt, application.next_container),
            number,
            beat.node.name,
            size,
            priority,
            request,
            _ANYWHERE,
            application.master is None and application.waits_for_master,
            False,
            now_ms,
        )
    )
    return True


def _rests_plainly(state: "CapacityState", leaf: CapacityQueue, first: Entry) -> bool:
    """Whether nothing comes of those who stand before the first who asks, and ask for nothing."""
    if leaf.fresh and leaf.fresh[0] < first:
        return False
    resting = state.applications[leaf.resting[0][-1]]  # type: ignore[index]
    record = leaf.users.users.get(resting.user)
    return record is not None and record.pending_applications >= 0 and not resting.reservations
