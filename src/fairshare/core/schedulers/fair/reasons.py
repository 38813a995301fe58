"""The reasons for waiting that only the Fair Scheduler knows."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fairshare.core.model.asks import AskKey
from fairshare.core.model.identifiers import ApplicationId
from fairshare.core.model.resources import (
    Resource,
    add,
    count_fitting,
    fits,
    largest,
    smallest,
    subtract,
)
from fairshare.core.schedulers.calculators import single, take_from
from fairshare.core.schedulers.entitlement import (
    Entitlement,
    Obstacle,
    Preemption,
    largest_excesses,
)
from fairshare.core.schedulers.fair.attempts import FairAttempt
from fairshare.core.schedulers.fair.limits import master_fits, master_limit, user_limit
from fairshare.core.schedulers.fair.queues import FairQueue
from fairshare.core.schedulers.fair.settings import NEVER_MS
from fairshare.core.schedulers.fair.starvation import lacking_minimum, starved_below, utilization
from fairshare.core.schedulers.fair.state import FairState
from fairshare.core.schedulers.reasons import (
    MOST_AHEAD,
    Bound,
    Cause,
    Limits,
    Reason,
    applications_before,
    running_applications,
)


class FairLimits(Limits):
    """The limits on one application (Hadoop: FSLeafQueue.canRunAppAM, MaxRunningAppsEnforcer)."""

    _state: FairState
    _attempt: FairAttempt

    def of_application(self) -> Sequence[Reason]:
        """maxRunningApps of a user or of a queue, maxAMShare."""
        state, attempt = self._state, self._attempt
        leaf = attempt.leaf
        reasons: list[Reason] = []
        if not attempt.runnable:
            user = attempt.user
            most = user_limit(state, user)
            if state.users.running(user) >= most:
                reasons.append(running_applications(most, user=user))
            reasons += [
                running_applications(queue.max_running, queue=queue.name)
                for queue in leaf.path
                if queue.running >= queue.max_running
            ]
            return reasons
        ask = attempt.asks.wanting[0].anywhere if attempt.charged and attempt.asks.wanting else None
        if ask is None:
            return reasons
        # The limit may depend on what is free: that this is less than the master is a lack of room.
        free = largest(subtract(state.total, state.used), ask.resource)
        if not master_fits(attempt, free):
            reasons.append(
                Reason(
                    cause=Cause.QUEUE_MASTERS,
                    queue=leaf.name,
                    used=leaf.master_used,
                    limit=master_limit(leaf, free),
                    wanted=ask.resource,
                    never=any(state.total)
                    and not any(leaf.master_used)
                    and not master_fits(attempt, state.total),
                )
            )
        return reasons

    def of_ask(self, key: AskKey, size: Resource) -> Sequence[Reason]:
        """maxResources of the queue and its ancestors, except those of at least the whole
        cluster."""
        return [
            _maximum(queue)
            for queue in self._limited()
            if not fits(add(queue.used, size), queue.max_share)
        ]

    def bounds(self, size: Resource, label: str) -> Sequence[Bound]:
        """maxResources of the queue and its ancestors."""
        return [
            Bound(
                count_fitting(size, queue.max_share),
                count_fitting(size, subtract(queue.max_share, queue.used)),
                _maximum(queue),
            )
            for queue in self._limited()
        ]

    def _limited(self) -> Iterable[FairQueue]:
        """The queue and its ancestors with a maximum below the whole cluster."""
        path = self._attempt.leaf.path
        return (queue for queue in path if not fits(self._state.total, queue.max_share))

    def ahead(self, key: AskKey) -> tuple[int, tuple[ApplicationId, ...]]:
        """Applications before it in its leaf, and queues before its ancestors."""
        attempt = self._attempt
        leaf = attempt.leaf
        if attempt.entry is None:
            return 0, ()
        entry_of = leaf.order.key
        siblings = (a for a in leaf.order.members if a is not None and a.entry is not None)
        before = applications_before(((a.id, entry_of(a)) for a in siblings), entry_of(attempt))
        queues = 0
        for queue in leaf.path:
            if queue.parent is not None and queue.entry is not None:
                entry_of, members = queue.parent.order.key, queue.parent.order.members
                entries = (entry_of(q) for q in members if q is not None and q.entry is not None)
                mine: Any = entry_of(queue)
                queues += sum(1 for entry in entries if entry < mine)
        return len(before) + queues, tuple(before[:MOST_AHEAD])

    def preempting(self, key: AskKey) -> Sequence[int]:
        """The marked containers on the nodes that make room for it."""
        state, number = self._state, self._attempt.id
        if not state.kills:
            return ()
        promising = [node for node in state.nodes.values() if number in node.promised]
        return [
            state.kills[container]
            for node in promising
            for container in node.containers
            if container in state.kills
        ]

    def preemption(self, key: AskKey) -> Preemption | None:
        """What it lacks of its fair share, and the first condition of preemption that is not met
        (Hadoop: FSLeafQueue.updateStarvedApps, FSPreemptionThread)."""
        state, attempt = self._state, self._attempt
        leaf = attempt.leaf
        compare = leaf.policy.calculator
        share, used = attempt.fair_share, attempt.used
        if compare(state.total, used, smallest(share, attempt.demand), True) >= 0:
            return None
        # Queues first, since there may be many more applications: these are asked only in its own
        # leaf, or if no queue as a whole is above its share.
        above = {
            queue.name: take_from(queue.used, queue.fair_share)
            for queue in state.queues.values()
            if queue.leaf and queue is not leaf and _above(state, queue, queue)
        }
        for other in (leaf if above else state).attempts.values():
            if other is not attempt and _above(state, other, other.leaf):
                more = take_from(other.used, other.fair_share)
                above[other.leaf.name] = add(above.get(other.leaf.name, state.none), more)
        size = state.none if key.anywhere is None else key.anywhere.resource
        obstacle, numbers = self._obstacle(above, size)
        return Preemption(
            obstacle=obstacle,
            entitlement=Entitlement.FAIR_SHARE,
            queue=leaf.name,
            used=used,
            share=share,
            above=largest_excesses(above.items()),
            above_count=len(above),
            **numbers,
        )

    def _obstacle(
        self, above: Mapping[str, Resource], size: Resource
    ) -> tuple[Obstacle, dict[str, Any]]:
        """The first condition that is not met for a container of this size, with its numbers."""
        state, attempt = self._state, self._attempt
        leaf, settings = attempt.leaf, state.settings
        if not settings.preemption:
            return Obstacle.OFF, {}
        used, threshold = utilization(state), settings.preemption_utilization_threshold
        if used <= single(threshold):
            return Obstacle.UTILIZATION, {
                "percent": 100 * used,
                "threshold_percent": round(100 * threshold, 2),
            }
        lacking = lacking_minimum(leaf)
        least_ms = leaf.min_share_timeout_ms if any(lacking) else NEVER_MS
        if leaf.fair_share_timeout_ms == least_ms == NEVER_MS:
            return Obstacle.NO_TIMEOUT, {}
        due_ms = leaf.last_at_min_share_ms + least_ms
        wanted = starved_below(attempt)
        if leaf.policy.calculator(state.total, attempt.used, wanted, True) < 0:
            due_ms = min(due_ms, attempt.last_at_fair_share_ms + leaf.fair_share_timeout_ms)
        elif least_ms == NEVER_MS:
            return Obstacle.ABOVE_THRESHOLD, {"threshold_percent": 100 * leaf.fair_share_threshold}
        by_fairness = leaf.fair_share_timeout_ms != NEVER_MS
        deficits = [take_from(wanted, attempt.used)] if by_fairness else []
        if least_ms != NEVER_MS:
            deficits.append(lacking)
        if all(deficit[0] < size[0] for deficit in deficits):  # counted by memory alone
            return Obstacle.SMALL_DEFICIT, {"threshold_percent": 100 * leaf.fair_share_threshold}
        if not above:
            return Obstacle.NO_QUEUE_ABOVE, {}
        if not any(state.queues[name].allow_preemption for name in above):
            return Obstacle.PROTECTED, {}
        return Obstacle.NOT_YET, {"due_ms": due_ms}


def _maximum(queue: FairQueue) -> Reason:
    """That a queue has its maximum."""
    return Reason(
        cause=Cause.QUEUE_MAXIMUM, queue=queue.name, used=queue.used, limit=queue.max_share
    )


def _above(state: FairState, schedulable: FairQueue | FairAttempt, leaf: FairQueue) -> bool:
    """Whether a leaf or an application of it uses more than its fair share."""
    used, share = schedulable.used, schedulable.fair_share
    return leaf.policy.calculator(state.total, used, share, True) > 0


def run_limit(state: FairState, attempt: FairAttempt) -> Reason | None:
    """The limit on running applications that Hadoop names for an application that may not run: its
    user's, otherwise that of the first queue on the way up. None: it may run."""
    leaf, user = attempt.leaf, attempt.user
    if attempt.runnable:
        return None
    most = user_limit(state, user)
    if state.users.running(user) >= most:
        return running_applications(most, user=user)
    full = next((queue for queue in leaf.path if queue.running >= queue.max_running), leaf)
    return running_applications(full.max_running, queue=full.name)
