"""Preemption inside a leaf: between its users, and between its applications' priorities.

Only leaves that wanted more in this round are considered (Hadoop: IntraQueueCandidatesSelector).
"""

from functools import cmp_to_key

from fairshare.core.model.resources import Resource, add, subtract
from fairshare.core.schedulers.capacity import limits
from fairshare.core.schedulers.capacity.attempts import CapacityAttempt, Stage
from fairshare.core.schedulers.capacity.calculators import (
    larger,
    smaller,
    subtract_not_below_zero,
    truncate,
)
from fairshare.core.schedulers.capacity.orders import application_key
from fairshare.core.schedulers.capacity.preemption.ideal import Claim
from fairshare.core.schedulers.capacity.preemption.selection import Selection, victims
from fairshare.core.schedulers.capacity.state import CapacityState

USER_LIMIT_FIRST = "userlimit_first"


class _User:
    """A user of the leaf during one round. `limit` and `used` are without its masters."""

    def __init__(self, limit: Resource, used: Resource, masters: Resource, none: Resource) -> None:
        self.limit = limit
        self.used = used
        self.masters = masters
        self.ideal = none
        self.selected = none
        self.quota_done = False


class _Part:
    """An application during one round: its ideal, its need, and what is taken from it."""

    def __init__(
        self, attempt: CapacityAttempt, used: Resource, masters: Resource, none: Resource
    ) -> None:
        self.attempt = attempt
        self.used = used
        self.masters = masters
        self.ideal = none
        self.selected = none
        self.need = none
        self.offered = none  # the most that may be taken from it
        self.taken = none

    @property
    def used_by_tasks(self) -> Resource:
        """What it uses without its master."""
        return subtract(self.used, self.masters)


class IntraQueue:
    """The intra-queue selector of one round."""

    def __init__(
        self,
        state: CapacityState,
        selection: Selection,
        roots: list[Claim],
        underserved: dict[tuple[str, str], None],
    ) -> None:
        self.state = state
        self.c = state.calculator
        self.none = state.none
        self.settings = state.settings.monitor.intra_queue
        self.by_user = self.settings.order == USER_LIMIT_FIRST
        self.selection = selection
        leaves = {(leaf.label, leaf.queue.name): leaf for root in roots for leaf in root.leaves()}
        self.leaves = [leaves[key] for key in underserved if key in leaves]

    def run(self, wait_ms: int) -> None:
        """Compute first what each application should give, then select its containers."""
        planned = []
        for leaf in self.leaves:
            if leaf.queue.shares[leaf.label].used_capacity < self.settings.minimum_threshold:
                continue
            users: dict[str, _User] = {}
            parts = self._plan(leaf, users)
            if parts:
                planned.append((leaf, parts, users))
        for leaf, parts, _ in planned:
            # Subtract the selections of other selectors from what each of the leaf's applications
            # should give, where that is more: from all of them, as in Hadoop.
            whole = self.state.total_of(leaf.label)
            for size in self.selection.chosen_from(leaf):
                for part in parts:
                    if self.c.compare(whole, part.taken, size) > 0:
                        part.taken = subtract(part.taken, size)
        for leaf, parts, users in planned:
            if leaf.queue.intra_preemptable and leaf.queue.preemptable:
                self._choose(leaf, parts, users, wait_ms)

    def _above(self, a: Resource, b: Resource) -> bool:
        return self.c.compare(self.state.total, a, b) > 0

    def _plan(self, leaf: Claim, users: dict[str, _User]) -> list[_Part]:
        """The applications, the least deserving first, with what each should give."""
        queue, label = leaf.queue, leaf.label
        applications = [
            attempt
            for attempt in queue.attempts.values()
            if attempt.stage in (Stage.WAITING, Stage.ACTIVE)
        ]
        if len(applications) == 1:
            return []
        masters: dict[str, Resource] = {}
        left = subtract(leaf.used, leaf.target)
        for attempt in queue.active.values():
            if attempt.label == label:
                size = attempt.master_resource
                masters[attempt.user] = add(masters.get(attempt.user, self.none), size)
                left = subtract(left, size)
        parts = [self._part(attempt, label) for attempt in applications]
        for part in parts:
            name = part.attempt.user
            if name not in users:
                users[name] = self._user(leaf, name, masters.get(name, self.none))
        parts.sort(key=cmp_to_key(lambda a, b: self._compare(leaf, users, a, b)))
        self._assign_ideals(leaf, parts, users, left)
        parts.reverse()
        self._offer(leaf, parts)
        # For each application in need, the most deserving first, take from the least deserving
        # (Hadoop: FifoIntraQueuePreemptionPlugin.validateOutSameAppPriorityFromDemand).
        for taker in reversed(parts):
            if not self._above(taker.need, self.none):
                continue
            for giver in parts:
                if self._above(giver.offered, self.none):
                    self._take(taker, giver, users)
        return parts

    def _part(self, attempt: CapacityAttempt, label: str) -> _Part:
        used = self.none if label else attempt.drift  # as Hadoop counts it, possibly negative
        for record in attempt.containers.values():
            if self.state.label_of(self.state.nodes[record.node]) == label:
                used = add(used, record.resource)
        waits = attempt.managed and attempt.master is None
        masters = self.none if waits or attempt.label != label else attempt.master_resource
        return _Part(attempt, used, masters, self.none)

    def _user(self, leaf: Claim, name: str, masters: Resource) -> _User:
        limit = limits.user_limit(self.state, leaf.queue, name, leaf.label, everyone=True)
        record = leaf.queue.users.get(name)
        used = self.none if record is None else record.used.get(leaf.label, self.none)
        return _User(subtract(limit, masters), subtract(used, masters), masters, self.none)

    def _compare(self, leaf: Claim, users: dict[str, _User], a: _Part, b: _Part) -> int:
        """Negative if a deserves more than b (Hadoop: FifoIntraQueuePreemptionPlugin)."""
        attempt, other = a.attempt, b.attempt
        if leaf.queue.policy == "fair" and self.by_user:
            if attempt.user == other.user:
                x, y = application_key(leaf.queue, attempt), application_key(leaf.queue, other)
                return -1 if x < y else 1
            order = self.c.compare(
                self.state.total, users[attempt.user].used, users[other.user].used
            )
            return order or (-1 if attempt.id < other.id else 1)
        if attempt.priority != other.priority:
            return -1 if attempt.priority > other.priority else 1
        return -1 if attempt.id < other.id else 1

    def _assign_ideals(
        self, leaf: Claim, parts: list[_Part], users: dict[str, _User], left: Resource
    ) -> None:
        """Set the ideals, the most deserving application first, each user up to its limit
        (Hadoop: FifoIntraQueuePreemptionPlugin.calculateIdealAssignedResourcePerApp)."""
        c, total = self.c, self.state.total
        for part in parts:
            if c.compare(total, left, self.none) <= 0:
                continue
            if self.settings.conservative_drf and c.zero_or_less(left):
                continue
            user = users[part.attempt.user]
            for size in self.selection.chosen_of(part.attempt, leaf.label):
                part.selected = add(part.selected, size)
                user.selected = add(user.selected, size)
            pending = part.attempt.asks.pending_on(leaf.label)
            want = subtract(add(part.used_by_tasks, pending), part.selected)
            if c.compare(total, user.ideal, user.limit) >= 0:
                continue
            want = smaller(c, total, want, subtract(user.limit, user.ideal))
            part.ideal = smaller(c, total, left, want)
            user.ideal = add(user.ideal, part.ideal)
            has = subtract(part.used_by_tasks, part.selected)
            if self._above(part.ideal, has):
                part.need = subtract(part.ideal, has)
            left = subtract_not_below_zero(left, part.ideal)

    def _offer(self, leaf: Claim, parts: list[_Part]) -> None:
        """Set what may be taken from each, the least deserving first, within the limit
        (Hadoop: FifoIntraQueuePreemptionPlugin.calculateToBePreemptedResourcePerApp)."""
        c, total = self.c, self.state.total
        limit = truncate(leaf.guarantee, self.settings.max_allowable_limit)
        limit = subtract(limit, leaf.target) if self._above(limit, leaf.target) else self.none
        limit = smaller(c, total, limit, self.selection.budget)
        for part in parts:
            if not self._above(limit, self.none) or not self._above(part.used, self.none):
                continue
            spare = subtract(part.used, part.ideal)
            spare = subtract_not_below_zero(spare, part.selected)
            spare = subtract_not_below_zero(spare, part.masters)
            if self.by_user:
                spare = subtract_not_below_zero(spare, self.state.settings.minimum_allocation)
            part.offered = smaller(c, total, larger(c, total, spare, self.none), limit)
            limit = subtract_not_below_zero(limit, part.offered)

    def _take(self, taker: _Part, giver: _Part, users: dict[str, _User]) -> None:
        c, total = self.c, self.state.total
        same_user = taker.attempt.user == giver.attempt.user
        priority, other = taker.attempt.priority, giver.attempt.priority
        if same_user and other >= priority:
            return
        if c.compare(total, giver.offered, giver.taken) <= 0 or not any(taker.need):
            return
        user = users[giver.attempt.user]
        reached = self._above(user.used, user.limit)
        if not same_user and not reached and self.by_user:
            return
        available = subtract(giver.offered, giver.taken)
        if not same_user and priority == other and reached:
            quota = subtract(subtract(user.used, user.selected), user.limit)
            if user.quota_done:
                quota = self.none
            if c.compare(total, quota, available) < 0:
                user.quota_done = True
                available = quota
        if self._above(available, self.none):
            amount = smaller(c, total, taker.need, available)
            taker.need = subtract(taker.need, amount)
            giver.taken = add(giver.taken, amount)

    def _choose(
        self, leaf: Claim, parts: list[_Part], users: dict[str, _User], wait_ms: int
    ) -> None:
        """Select containers, the least deserving application first; never a master
        (Hadoop: IntraQueueCandidatesSelector.preemptFromLeastStarvedApp)."""
        amount = self.none
        for part in parts:
            amount = add(amount, part.taken)
        targets = {leaf.label: amount}
        rolling = {name: add(user.used, user.masters) for name, user in users.items()}
        for part in parts:
            if any(part.taken):
                self._choose_from(part.attempt, users, targets, rolling, wait_ms)

    def _choose_from(
        self,
        attempt: CapacityAttempt,
        users: dict[str, _User],
        targets: dict[str, Resource],
        rolling: dict[str, Resource],
        wait_ms: int,
    ) -> None:
        selection = self.selection
        user = users[attempt.user]
        limit = add(user.limit, user.masters)
        for record in victims(attempt):
            if not targets:
                return
            if selection.spares(record) or record.container == attempt.master:
                continue
            after = subtract(rolling[attempt.user], record.resource)
            if self.by_user and not self._above(after, limit):
                return
            taken = selection.worth_taking(
                targets,
                record.node,
                record.resource,
                conservative=self.settings.conservative_drf,
            )
            if taken:
                selection.containers[record.container] = wait_ms
                if self.by_user:
                    rolling[attempt.user] = after
