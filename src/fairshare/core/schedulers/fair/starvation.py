"""The starvation check: which applications are below their share, by how much, and for long enough.

Part of the update pass when preemption is on; computed from the state (Hadoop:
FSLeafQueue.updateStarvedApps).
"""

from typing import TYPE_CHECKING

from fairshare.core.model.resources import Resource, add, smallest, subtract
from fairshare.core.schedulers.calculators import single, take_from
from fairshare.core.schedulers.fair.attempts import FairAttempt
from fairshare.core.schedulers.fair.queues import FairQueue

if TYPE_CHECKING:
    from fairshare.core.schedulers.fair.state import FairState


def check_due(state: "FairState") -> bool:
    """Whether preemption is on and the cluster is full enough for it
    (Hadoop: FairScheduler.shouldAttemptPreemption)."""
    settings = state.settings
    threshold = single(settings.preemption_utilization_threshold)
    return settings.preemption and utilization(state) > threshold


def utilization(state: "FairState") -> float:
    """The part of memory or vcores that is used, whichever is larger (32 bits)."""
    return max(
        single(used / single(total)) if total else 0.0
        for used, total in zip(state.used[:2], state.total[:2], strict=True)
    )


def lacking_minimum(leaf: FairQueue) -> Resource:
    """What a leaf lacks of its minimum, as far as it has demand for it."""
    return take_from(smallest(leaf.min_share, leaf.demand), leaf.used)


def starved_below(attempt: FairAttempt) -> Resource:
    """The part of its fair share below which an application counts as starved, as far as it has
    demand for it."""
    threshold = attempt.leaf.fair_share_threshold
    return smallest(tuple(int(part * threshold) for part in attempt.fair_share), attempt.demand)


def check(state: "FairState", now_ms: int) -> None:
    """Check every leaf; sets `state.starved` to the applications to be served, in this order."""
    line = _Line()
    for queue in state.queues.values():
        if queue.leaf:
            wanting = _wanting(queue, now_ms)
            by_fairness = _check_fair_shares(state, queue, wanting, now_ms, line)
            lacking = lacking_minimum(queue)
            if not any(lacking):
                queue.last_at_min_share_ms = now_ms
            if now_ms - queue.last_at_min_share_ms < queue.min_share_timeout_ms:
                lacking = state.none
            _spread(state, queue, wanting, take_from(lacking, by_fairness), line)
    state.starved = [attempt.id for attempt in line.drain()]


def _wanting(leaf: FairQueue, now_ms: int) -> list[FairAttempt]:
    """The applications with unmet demand whose next check is due, in the order of the policy."""
    attempts = [
        attempt
        for attempt in leaf.attempts.values()
        if attempt.runnable
        and attempt.demand != attempt.used
        and now_ms >= attempt.next_starvation_check_ms
    ]
    return sorted(attempts, key=leaf.order.key)


def _check_fair_shares(
    state: "FairState",
    leaf: FairQueue,
    wanting: list[FairAttempt],
    now_ms: int,
    line: "_Line",
) -> Resource:
    """Compute the starvation by fair share of each application, up to the first without any
    (Hadoop: FSLeafQueue.updateStarvedAppsFairshare)."""
    whole = state.none
    compare = leaf.policy.calculator
    for attempt in wanting:
        starvation = starved_below(attempt)
        starved = compare(state.total, attempt.used, starvation, True) < 0
        if not starved:
            attempt.last_at_fair_share_ms = now_ms
        long_enough = now_ms - attempt.last_at_fair_share_ms >= leaf.fair_share_timeout_ms
        if not starved or not long_enough:
            attempt.fair_starvation = state.none
            return whole
        attempt.fair_starvation = take_from(starvation, attempt.used)
        if not any(attempt.fair_starvation):
            return whole
        whole = add(whole, attempt.fair_starvation)
        line.enter(attempt)
    return whole


def _spread(
    state: "FairState",
    leaf: FairQueue,
    wanting: list[FairAttempt],
    lacking: Resource,
    line: "_Line",
) -> None:
    """Distribute what the leaf lacks of its minimum over its applications
    (Hadoop: FSLeafQueue.updateStarvedAppsMinshare).

    As in Hadoop, an application that wants more than is left gets the remainder of its own demand,
    not what is left.
    """
    compare = leaf.policy.calculator
    for attempt in wanting:
        if not any(lacking):
            attempt.min_starvation = state.none
            continue
        pending = subtract(attempt.demand, attempt.used)
        lacking_here = take_from(pending, attempt.fair_starvation)
        if compare(state.total, lacking_here, lacking, False) > 0:
            lacking_here = take_from(lacking_here, lacking)
            lacking = state.none
        else:
            lacking = take_from(lacking, lacking_here)
        attempt.min_starvation = lacking_here
        line.enter(attempt)


class _Line:
    """A queue of the starved applications, the smallest need first.

    Needs are vectors and have no total order, so the result depends on the algorithm: this is a
    binary heap as in Java's PriorityQueue, whose comparison never finds two equal.
    """

    def __init__(self) -> None:
        self._heap: list[FairAttempt] = []
        self._known: set[int] = set()

    def enter(self, attempt: FairAttempt) -> None:
        """Add an application, unless it was added before."""
        if attempt.id in self._known:
            return
        self._known.add(attempt.id)
        heap = self._heap
        heap.append(attempt)
        place = len(heap) - 1
        while place:
            above = (place - 1) // 2
            if not _before(attempt, heap[above]):
                break
            heap[place] = heap[above]
            place = above
        heap[place] = attempt

    def drain(self) -> list[FairAttempt]:
        """Remove and return all applications, in order."""
        heap = self._heap
        served = []
        while heap:
            served.append(heap[0])
            last = heap.pop()
            if heap:
                self._sink(last)
        return served

    def _sink(self, attempt: FairAttempt) -> None:
        heap = self._heap
        place = 0
        while (child := 2 * place + 1) < len(heap):
            if child + 1 < len(heap) and not _before(heap[child], heap[child + 1]):
                child += 1
            if _before(attempt, heap[child]):
                break
            heap[place] = heap[child]
            place = child
        heap[place] = attempt


def _before(a: FairAttempt, b: FairAttempt) -> bool:
    need_a, need_b = a.starvation, b.starvation
    return all(x <= y for x, y in zip(need_a, need_b, strict=True))
