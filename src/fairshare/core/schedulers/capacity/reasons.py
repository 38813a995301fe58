"""The reasons for waiting that only the Capacity Scheduler knows."""

from collections.abc import Iterable, Sequence

from fairshare.core.model.asks import AskKey
from fairshare.core.model.identifiers import ApplicationId, application_of
from fairshare.core.model.nodes import Node
from fairshare.core.model.resources import Resource, add, count_fitting, positive, subtract
from fairshare.core.schedulers.capacity import limits, orders
from fairshare.core.schedulers.capacity.attempts import CapacityAttempt, Stage
from fairshare.core.schedulers.capacity.calculators import truncate
from fairshare.core.schedulers.capacity.partitions import resolve
from fairshare.core.schedulers.capacity.queues import CapacityQueue
from fairshare.core.schedulers.capacity.state import CapacityState
from fairshare.core.schedulers.capacity.users import NO_FACTOR
from fairshare.core.schedulers.entitlement import (
    Entitlement,
    Obstacle,
    Preemption,
    largest_excesses,
)
from fairshare.core.schedulers.offers import accepts
from fairshare.core.schedulers.reasons import (
    MOST_AHEAD,
    Bound,
    Cause,
    Limits,
    Reason,
    applications_before,
    running_applications,
)


class CapacityLimits(Limits):
    """The limits on one application (Hadoop: LeafQueue, UsersManager, CSMaxRunningAppsEnforcer)."""

    _state: CapacityState
    _attempt: CapacityAttempt

    def of_application(self) -> Sequence[Reason]:
        """A removed leaf, max-parallel-apps, and the masters' limits."""
        attempt = self._attempt
        leaf = attempt.leaf
        if self._state.departed.get(leaf.name) is leaf:
            asks = attempt.asks.wanting or attempt.waits_for_master
            return [Reason(cause=Cause.QUEUE_GONE, queue=leaf.name)] if asks else ()
        if attempt.stage == Stage.HELD:
            return self._held()
        if attempt.stage == Stage.WAITING:
            return self._masters()
        return ()

    def _held(self) -> list[Reason]:
        state, attempt = self._state, self._attempt
        leaf, user = attempt.leaf, attempt.user
        reasons: list[Reason] = []
        most = limits.user_parallel_limit(state, user)
        if state.user_runnable.get(user, 0) >= most:
            reasons.append(running_applications(most, user=user))
        reasons += [
            running_applications(queue.maximum_parallel, queue=queue.name)
            for queue in leaf.path
            if queue.runnable >= queue.maximum_parallel
        ]
        return reasons or [Reason(cause=Cause.PASSED_OVER, queue=leaf.name, user=user)]

    def _masters(self) -> list[Reason]:
        state, attempt = self._state, self._attempt
        c = state.calculator
        leaf, user, label = attempt.leaf, attempt.user, attempt.label
        master_size = attempt.master_resource
        used = leaf.shares[label].master_used
        limit = limits.master_limit(state, leaf, label)
        if not any(state.total_of(label)):
            return [self._without_nodes(label)]
        reasons: list[Reason] = []
        if not c.fits(add(used, master_size), limit):
            reasons.append(
                Reason(
                    cause=Cause.QUEUE_MASTERS,
                    queue=leaf.name,
                    used=used,
                    limit=limit,
                    wanted=master_size,
                )
            )
        record = leaf.users.get(user)
        used_by_user = state.none if record is None else record.master_used.get(label, state.none)
        user_limit = limits.user_master_limit(state, leaf, label, user)
        if not c.fits(add(used_by_user, master_size), user_limit):
            reasons.append(
                Reason(
                    cause=Cause.USER_MASTERS,
                    queue=leaf.name,
                    user=user,
                    used=used_by_user,
                    limit=user_limit,
                    wanted=master_size,
                )
            )
        # There is room since the last pass: the master starts at the next event that frees
        # resources.
        return reasons or [
            Reason(cause=Cause.QUEUE_MASTERS, queue=leaf.name, used=used, limit=limit)
        ]

    def _without_nodes(self, label: str) -> Reason:
        """That the partition of its master has nothing of which masters could have a part."""
        state, queue = self._state, self._attempt.leaf.name
        nodes = sorted(one.name for one in state.nodes.values() if state.label_of(one) == label)
        if not nodes:
            return Reason(cause=Cause.NO_NODES, queue=queue, label=label)
        drained, count = Cause.NODES_DRAINED, len(nodes)
        return Reason(cause=drained, queue=queue, count=count, node=nodes[0], label=label)

    def of_ask(self, key: AskKey, size: Resource) -> Sequence[Reason]:
        """Maximum capacities of the queue and its ancestors, and the user's limit.

        A maximum of the whole partition is not reported, since the reason is then a lack of room. A
        queue that may use all that its parent may use has no maximum of its own. What is reserved
        for the ask counts as used already, and is granted without another look at the limits.
        """
        state, attempt = self._state, self._attempt
        c = state.calculator
        leaf, label = attempt.leaf, key.label
        closed = [q for q in leaf.path if label and not any(q.shares[label].effective_maximum)]
        if closed:
            return [Reason(cause=Cause.NO_CAPACITY, queue=closed[0].name, label=label)]
        if any((r.priority, r.request) == key.order for r in attempt.reservations.values()):
            return []
        reasons = [
            _maximum(queue, label)
            for queue in self._limited(label)
            if not c.fits(
                add(queue.shares[label].used, size), queue.shares[label].effective_maximum
            )
        ]
        record = leaf.users.get(attempt.user)
        if record is not None:
            used = record.used.get(label, state.none)
            limit = limits.user_limit_now(state, leaf, attempt.user, label, kept=True)
            if c.compare(state.total, used, limit) > 0:
                reasons.append(
                    Reason(
                        cause=Cause.USER_LIMIT,
                        queue=leaf.name,
                        user=attempt.user,
                        used=used,
                        limit=limit,
                        weight=record.weight,
                        count=self._lowering(leaf, label, limit),
                    )
                )
        return reasons

    def _limited(self, label: str) -> Iterable[CapacityQueue]:
        """The queue and its ancestors with a maximum of their own below the whole partition."""
        fits, total = self._state.calculator.fits, self._state.total_of(label)
        return (
            queue
            for queue in self._attempt.leaf.path
            if label in queue.shares
            and not _has_parents_maximum(queue, label)
            and not fits(total, queue.shares[label].effective_maximum)
        )

    def label_of(self, wanted: str | None) -> str:
        """The partition of tasks."""
        attempt = self._attempt
        return resolve(self._state, attempt.leaf, attempt.submission, wanted, master=False)

    def bounds(self, size: Resource, label: str) -> Sequence[Bound]:
        """Maximum capacities of the queue and its ancestors, and what no limit of the user exceeds.

        A user may get one container more than fits into its limit (Hadoop:
        LeafQueue.canAssignToUser).
        """
        state, attempt = self._state, self._attempt
        leaf = attempt.leaf
        bounds = [
            Bound(
                self._fitting(size, queue.shares[label].effective_maximum),
                self._fitting(
                    size, subtract(queue.shares[label].effective_maximum, queue.shares[label].used)
                ),
                _maximum(queue, label),
            )
            for queue in self._limited(label)
        ]
        share = leaf.shares.get(label)
        if share is None or leaf.user_limit_factor == NO_FACTOR:
            return bounds
        record = leaf.users.get(attempt.user)
        used = state.none if record is None else record.used.get(label, state.none)
        limit = limits.user_ceiling(state, leaf, attempt.user, label)
        reason = Reason(
            cause=Cause.USER_LIMIT,
            queue=leaf.name,
            user=attempt.user,
            used=used,
            limit=limit,
            weight=1.0 if record is None else record.weight,
        )
        left = subtract(limit, used)
        now = 0 if state.lacks(left) else 1 + self._fitting(size, left)
        return [*bounds, Bound(1 + self._fitting(size, limit), now, reason)]

    def _fitting(self, size: Resource, room: Resource) -> int:
        types = 1 if self._state.counts_memory_alone else len(size)
        return count_fitting(size[:types], room[:types])

    def _lowering(self, leaf: CapacityQueue, label: str, limit: Resource) -> int:
        """How many other users reduce a user's limit: without them it would be larger."""
        state, user = self._state, self._attempt.user
        others = max(leaf.users.active_count - 1, 0)
        if not others:
            return 0
        alone = limits.user_limit_alone(state, leaf, user, label)
        return others if state.calculator.compare(state.total, alone, limit) > 0 else 0

    def partition(self, key: AskKey) -> Iterable[Node]:
        """The nodes of the ask's partition."""
        state = self._state
        return [node for node in state.nodes.values() if state.label_of(node) == key.label]

    def ahead(self, key: AskKey) -> tuple[int, tuple[ApplicationId, ...]]:
        """Active applications before it in its leaf, and queues before its ancestors."""
        attempt = self._attempt
        leaf = attempt.leaf
        if attempt.entry is None or attempt.rests:
            return 0, ()
        entries = ((a.id, a.entry) for a in leaf.active.values() if a.entry and not a.rests)
        before = applications_before(entries, attempt.entry)
        queues = 0
        for queue in leaf.path:
            share = queue.shares.get(key.label)
            if queue.parent is None or share is None or share.entry is None:
                continue
            keys = orders.keys_now(queue.parent, key.label)
            queues += sum(1 for entry in keys.values() if entry < keys[queue.rank])
        return len(before) + queues, tuple(before[:MOST_AHEAD])

    def preempting(self, key: AskKey) -> Sequence[int]:
        """The containers that the monitor has selected on nodes that the ask accepts, if it selects
        for its queue: those of other leaves if this one is below its guarantee, and those of
        applications of this leaf that are served after it."""
        state, attempt = self._state, self._attempt
        leaf, wait_ms = attempt.leaf, state.settings.monitor.wait_before_kill_ms
        instants = []
        for container, since_ms in state.selected_ms.items():
            victim = state.attempts[application_of(container)]
            node = state.nodes[victim.application.containers[container].node]
            if state.label_of(node) != key.label or not accepts(key, node):
                continue
            if victim.leaf is leaf:
                mine, theirs = attempt.entry, victim.entry
                helps = mine is not None and theirs is not None and mine < theirs
            else:
                share, whole = leaf.shares.get(key.label), state.total_of(key.label)
                helps = share is not None and (
                    state.calculator.compare(whole, share.used, share.effective_minimum) < 0
                )
            if helps:
                instants.append(since_ms + wait_ms)
        return instants

    def preemption(self, key: AskKey) -> Preemption | None:
        """What its leaf lacks of its guaranteed capacity, and what keeps the monitor away
        (Hadoop: ProportionalCapacityPreemptionPolicy)."""
        state, leaf, label = self._state, self._attempt.leaf, key.label
        share = leaf.shares.get(label)
        if share is None or leaf.parent is None:
            return None
        c, whole = state.calculator, state.total_of(label)
        used, guarantee = share.used, share.effective_minimum
        if c.compare(whole, used, guarantee) >= 0:
            return None
        monitor = state.settings.monitor
        tolerated = 1.0 + monitor.max_ignored_over_capacity
        above: dict[str, Resource] = {}
        obstacles: set[Obstacle] = set()
        for queue in state.queues.values():
            other = queue.shares.get(label)
            if not queue.leaf or queue is leaf or other is None:
                continue
            if c.compare(whole, other.used, other.effective_minimum) <= 0:
                continue
            above[queue.name] = positive(subtract(other.used, other.effective_minimum))
            zone = truncate(other.effective_minimum, tolerated)
            if not queue.preemptable:
                obstacles.add(Obstacle.PROTECTED)
            elif c.compare(whole, other.used, zone) <= 0:
                obstacles.add(Obstacle.SMALL_EXCESS)
            else:
                obstacles.add(Obstacle.NONE)
        if not monitor.enabled:
            obstacle = Obstacle.OFF
        elif monitor.observe_only:
            obstacle = Obstacle.OBSERVE_ONLY
        else:
            order = (Obstacle.NONE, Obstacle.SMALL_EXCESS, Obstacle.PROTECTED)
            obstacle = next((one for one in order if one in obstacles), Obstacle.NO_QUEUE_ABOVE)
        return Preemption(
            obstacle=obstacle,
            entitlement=Entitlement.GUARANTEED_CAPACITY,
            queue=leaf.name,
            used=used,
            share=guarantee,
            above=largest_excesses(above.items()),
            above_count=len(above),
            threshold_percent=100 * monitor.max_ignored_over_capacity,
        )


def _maximum(queue: CapacityQueue, label: str) -> Reason:
    """That a queue has its maximum on a partition."""
    share = queue.shares[label]
    return Reason(
        cause=Cause.QUEUE_MAXIMUM,
        queue=queue.name,
        used=share.used,
        limit=share.effective_maximum,
    )


def _has_parents_maximum(queue: CapacityQueue, label: str) -> bool:
    """Whether the parent's maximum is also the queue's, as with a maximum of 100 %."""
    above = None if queue.parent is None else queue.parent.shares.get(label)
    share = queue.shares[label]
    return (
        above is not None
        and share.configured_maximum is None
        and share.effective_maximum == above.effective_maximum
    )
