"""Owns the Fair Scheduler's limits: running applications, and resources for masters.

Only queries; `scheduler.py` emits the events (Hadoop: FSLeafQueue.canRunAppAM,
MaxRunningAppsEnforcer).
"""

import math
from collections.abc import Iterator
from heapq import heapify, heapreplace
from heapq import heappop as pop

from fairshare.core.model.resources import Resource, add, fits
from fairshare.core.schedulers.fair.attempts import FairAttempt
from fairshare.core.schedulers.fair.queues import FairQueue
from fairshare.core.schedulers.fair.state import FairState


def user_limit(state: FairState, user: str) -> int:
    """How many applications of a user may run at once, over all queues."""
    allocations = state.settings.allocations
    return allocations.user_max_applications.get(user, allocations.user_max_applications_default)


def may_run(state: FairState, user: str, leaf: FairQueue) -> bool:
    """Whether the limits of the user and of the queues allow one more application to run
    (Hadoop: MaxRunningAppsEnforcer.canAppBeRunnable)."""
    if state.users.running(user) >= user_limit(state, user):
        return False
    return all(queue.running < queue.max_running for queue in leaf.path)


def candidates_after_leaving(
    state: FairState, leaf: FairQueue, user: str
) -> list[list[FairAttempt]]:
    """Lists of waiting applications that may run after a runnable one has left
    (Hadoop: MaxRunningAppsEnforcer.updateRunnabilityOnAppRemoval).

    They include empty lists: at most as many applications as there are lists may start.
    """
    highest: FairQueue | None = None
    for queue in leaf.path:
        if queue.running == queue.max_running - 1:
            highest = queue
    lists = list(_waiting_below(highest)) if highest is not None else []
    if state.users.running(user) == user_limit(state, user) - 1:
        lists.append(list(state.users.waiting(user).values()))
    return lists


def candidates_after_reload(state: FairState) -> list[list[FairAttempt]]:
    """All lists of waiting applications below queues that have room."""
    return list(_waiting_below(state.root))


def _waiting_below(queue: FairQueue) -> Iterator[list[FairAttempt]]:
    if queue.running >= queue.max_running:
        return
    if queue.leaf:
        yield list(queue.waiting.values())
        return
    for child in queue.children.values():
        yield from _waiting_below(child)


def in_order_of_start(lists: list[list[FairAttempt]]) -> Iterator[FairAttempt]:
    """Merge lists by the start of their first applications; an immediate repetition is skipped."""
    heap = [(one[0].start_order, index, 0) for index, one in enumerate(lists) if one]
    heapify(heap)
    previous: FairAttempt | None = None
    while heap:
        _, index, place = heap[0]
        attempt = lists[index][place]
        if place + 1 < len(lists[index]):
            heapreplace(heap, (lists[index][place + 1].start_order, index, place + 1))
        else:
            pop(heap)
        if attempt is not previous:
            previous = attempt
            yield attempt


def master_limit(leaf: FairQueue, free: Resource) -> Resource | None:
    """The limit of all masters of a leaf together; None: no limit
    (Hadoop: FSLeafQueue.computeMaxAMResource).

    ceil(base x maxAMShare), where base is the leaf's fair share, and for types without a fair share
    the smaller of what the cluster has `free` and the leaf's maximum. Example: a share of 10240 MB
    and maxAMShare 0.2, which is 0.200000003 in 32 bits, give 2049 MB.
    """
    if abs(leaf.max_master_share + 1.0) < 0.0001:
        return None
    base = (
        share or min(available, maximum)
        for share, available, maximum in zip(leaf.fair_share, free, leaf.max_share, strict=True)
    )
    return tuple(math.ceil(amount * leaf.max_master_share) for amount in base)


def master_fits(attempt: FairAttempt, free: Resource) -> bool:
    """Whether the masters' limit allows the next container of an application to be its master
    (Hadoop: FSAppAttempt.isOverAMShareLimit).

    `free` is what the cluster had free at the beginning of the heartbeat: Hadoop updates it at the
    end.
    """
    wanting = attempt.asks.wanting
    leaf = attempt.leaf
    limit = master_limit(leaf, free)
    if limit is None or not wanting:
        return True
    ask = wanting[0].anywhere
    assert ask is not None
    return fits(add(leaf.master_used, ask.resource), limit)


def within_maximum(leaf: FairQueue, resource: Resource) -> bool:
    """Whether one more container keeps the leaf and its ancestors within their maximums."""
    return all(fits(add(queue.used, resource), queue.max_share) for queue in leaf.bounded)
