"""One round's snapshot of the queues (use, demand and guarantee of each on a partition), and the
ideal assignment of each queue: guarantees first, then the rest by guarantee and need (Hadoop:
ProportionalCapacityPreemptionPolicy.cloneQueues, TempQueuePerPartition,
PreemptableResourceCalculator)."""

import math

from fairshare.core.model.resources import Resource, add, largest, smallest, subtract, total
from fairshare.core.schedulers.calculators import single
from fairshare.core.schedulers.capacity.calculators import (
    ResourceCalculator,
    larger,
    smaller,
    truncate,
)
from fairshare.core.schedulers.capacity.queues import CapacityQueue
from fairshare.core.schedulers.capacity.state import CapacityState
from fairshare.core.schedulers.capacity.views import pending_after_user_limits
from fairshare.core.schedulers.hash_order import in_hash_order, table_size, text_code


class Claim:
    """A queue on a partition, during one round.

    `ideal` is what it should have, `keep` what may not be taken from it, `wanted_back` what it
    should thus give back, `target` what is taken from a leaf in this round. `untouchable` and
    `preemptable` split its use above its guarantee.
    """

    __slots__ = (
        "absolute_capacity",
        "children",
        "guarantee",
        "ideal",
        "keep",
        "killable",
        "label",
        "maximum",
        "normalized",
        "parent",
        "pending",
        "pending_without_reserved",
        "preemptable",
        "priority",
        "queue",
        "target",
        "untouchable",
        "used",
        "wanted_back",
    )

    def __init__(
        self, state: CapacityState, queue: CapacityQueue, label: str, parent: "Claim | None"
    ) -> None:
        share = queue.shares[label]
        none = state.none
        whole = state.total_of(label)
        self.queue = queue
        self.label = label
        self.parent = parent
        self.used = share.used
        self.killable = share.killable
        self.guarantee = (
            share.effective_minimum
            if any(share.effective_minimum)
            else truncate(whole, share.absolute_capacity)
        )
        self.maximum = share.effective_maximum
        if not any(self.maximum):
            open_to_all = bool(label) and not state.settings.labels.get(label, True)
            self.maximum = truncate(whole, 1.0 if open_to_all else share.absolute_maximum)
        self.absolute_capacity = share.absolute_capacity
        above = queue.parent
        by_priority = above is not None and above.policy == "priority-utilization"
        self.priority = queue.priority if by_priority else 0
        self.ideal = none
        self.keep = none
        self.wanted_back = none
        self.target = none
        self.untouchable = none
        self.preemptable = none
        self.normalized: list[float] = [0.0] * len(none)
        self.children = [Claim(state, child, label, self) for child in queue.children.values()]
        if queue.leaf:
            self.pending = pending_after_user_limits(state, queue, label)
            self.pending_without_reserved = pending_after_user_limits(
                state, queue, label, without_reserved=True
            )
        else:
            self.pending = self.pending_without_reserved = none
            for child in self.children:
                self.pending = add(self.pending, child.pending)
                self.pending_without_reserved = add(
                    self.pending_without_reserved, child.pending_without_reserved
                )

    def leaves(self) -> "list[Claim]":
        """The claims of all leaves of this subtree."""
        if self.queue.leaf:
            return [self]
        return [leaf for child in self.children for leaf in child.leaves()]

    def leaf_names(self) -> list[str]:
        """The leaves of this subtree in the order in which Hadoop selects from them: each queue has
        a hash set of them, built from those of its children."""
        if self.queue.leaf:
            return [self.queue.name]
        names = [name for child in self.children for name in child.leaf_names()]
        return in_hash_order(names, text_code, table_size(len(names), concurrent=False))

    def split_extras(self, c: ResourceCalculator, whole: Resource, none: Resource) -> None:
        """Compute how much of the use above the guarantee may be taken, here and below."""
        for child in self.children:
            child.split_extras(c, whole, none)
        extra = subtract(self.used, self.guarantee)
        if c.compare(whole, extra, none) < 0:
            extra = none
        self.untouchable = self.preemptable = none
        if not self.children:
            if self.queue.preemptable:
                self.preemptable = extra
            else:
                self.untouchable = extra
            return
        below = none
        for child in self.children:
            below = add(below, child.preemptable)
        if c.compare(whole, below, extra) < 0:
            self.untouchable = subtract(extra, below)
        self.preemptable = smaller(c, whole, below, extra)

    def deduct(
        self, c: ResourceCalculator, whole: Resource, amount: Resource, none: Resource
    ) -> None:
        """Subtract what this round has already taken from this leaf
        (Hadoop: TempQueuePerPartition.deductActuallyToBePreempted)."""
        if c.compare(whole, self.target, amount) > 0:
            self.target = subtract(self.target, amount)
        self.target = larger(c, whole, self.target, none)


NO_GUARANTEE = float(2**31 - 1)


class IdealAssignment:
    """One computation for one partition.

    `reserved` is for the selector of reserved nodes: reservations then do not reduce the demand,
    and targets are not damped. `balance`: leaves may exceed their guarantee. `underserved` collects
    the queues that wanted more, in the order in which this was found.
    """

    def __init__(
        self,
        state: CapacityState,
        root: Claim,
        allowed: Resource,
        underserved: dict[tuple[str, str], None],
        *,
        reserved: bool = False,
        balance: bool = False,
    ) -> None:
        self.state = state
        self.c = state.calculator
        self.none = state.none
        self.root = root
        self.allowed = allowed
        self.underserved = underserved
        self.reserved = reserved
        self.balance = balance
        self.whole = state.total_of(root.label)

    def run(self) -> None:
        """Compute the ideals from root down, and the targets of the leaves."""
        self.root.split_extras(self.c, self.whole, self.none)
        self.root.ideal = self.root.guarantee
        self._descend(self.root)
        for leaf in self.root.leaves():
            self._aim(leaf)

    def _descend(self, parent: Claim) -> None:
        """Divide the parent's ideal, then compute what each child must give back, and descend
        (Hadoop: PreemptableResourceCalculator.recursivelyComputeIdealAssignment)."""
        claims, pool = parent.children, parent.ideal
        if not claims:
            return
        c = self.c
        with_guarantee = [q for q in claims if c.compare(pool, q.guarantee, self.none) > 0]
        without = [q for q in claims if q not in with_guarantee]
        left = self._fix_point(with_guarantee, pool, pool, even=False)
        if without and c.compare(pool, left, self.none) > 0:
            self._fix_point(without, pool, left, even=True)
        needed = self.none
        for claim in claims:
            if c.compare(pool, claim.used, claim.ideal) > 0:
                needed = add(needed, subtract(claim.used, claim.ideal))
        scale = 1.0
        if c.compare(pool, needed, self.allowed) > 0:
            scale = c.divide(pool, self.allowed, needed)
        for claim in claims:
            used = subtract(claim.used, claim.killable)
            wanted = add(claim.used, claim.pending)
            keep = larger(c, pool, smaller(c, pool, wanted, claim.guarantee), claim.ideal)
            claim.keep = keep
            claim.wanted_back = self.none
            if c.compare(pool, used, keep) > 0:
                claim.wanted_back = truncate(subtract(used, keep), scale)
        for claim in claims:
            self._descend(claim)

    def _fix_point(
        self, claims: list[Claim], whole: Resource, pool: Resource, *, even: bool
    ) -> Resource:
        """Serve the most underserved queues until none wants more or nothing is left.

        As in Hadoop the returned remainder takes only the initial ideals and the very first offer
        into account (quirk 4).
        """
        c = self.c
        needy: list[Claim] = []
        for claim in claims:
            if c.compare(whole, claim.used, claim.guarantee) > 0:
                claim.ideal = add(smallest(claim.guarantee, claim.used), claim.untouchable)
            else:
                claim.ideal = claim.used
            pool = subtract(pool, claim.ideal)
            if c.compare(whole, claim.ideal, add(claim.used, claim.pending)) < 0:
                needy.append(claim)
        believed = pool
        first = True
        while needy and c.compare(whole, pool, self.none) > 0:
            self._normalize(needy, even=even)
            served = self._most_underserved(whole, needy)
            frozen = pool
            for claim in served:
                if not c.above_zero(pool):
                    break
                offer = smallest(self._part(frozen, claim.normalized), pool)
                accepted = self._accept(claim, whole, offer)
                if c.compare(whole, accepted, self.none) > 0:
                    needy.append(claim)
                pool = subtract(pool, accepted)
                if first:
                    believed, first = pool, False
                pool = largest(pool, self.none)
        for claim in sorted(needy, key=lambda q: self._key(whole, q)):
            self._note(claim)
        return believed

    def _part(self, pool: Resource, by: list[float]) -> Resource:
        """The pool times each type's part, rounded up; parts are 32-bit, the product is not.

        A third of 18 is 7 this way, since the 32-bit third is slightly more than 1/3.
        """
        if self.c.name == "memory":
            memory = int(pool[0] * by[0] + 0.5)
            return (memory, 1 if memory > 0 else 0, *pool[2:])
        return tuple(math.ceil(x * part) for x, part in zip(pool, by, strict=True))

    def _normalize(self, claims: list[Claim], *, even: bool) -> None:
        """Set the parts in which needy queues divide what is left, by type."""
        count = len(claims)
        sums = total((claim.guarantee for claim in claims), len(self.none))
        capacity = 0.0
        for claim in claims:
            capacity = single(capacity + claim.absolute_capacity)
        for kind, summed in enumerate(sums):
            by_capacity = summed != 0 and any(
                q.guarantee[kind] == 0 and q.absolute_capacity != 0 for q in claims
            )
            for claim in claims:
                if even or summed == 0 or (by_capacity and capacity == 0):
                    part = single(1.0 / count)
                elif by_capacity:
                    part = single(claim.absolute_capacity / capacity)
                else:
                    part = single(claim.guarantee[kind] / summed)
                claim.normalized[kind] = part

    def _key(self, whole: Resource, claim: Claim) -> tuple[float, ...]:
        """The sort key by which queues are served: the rule of the order of queues
        (Hadoop: PriorityUtilizationQueueOrderingPolicy), by the ideal."""
        part = NO_GUARANTEE
        if self.c.compare(whole, claim.guarantee, self.none) > 0:
            part = self.c.divide(whole, claim.ideal, claim.guarantee)
        return (1 if part >= 1.0 else 0, -claim.priority, part)

    def _most_underserved(self, whole: Resource, needy: list[Claim]) -> list[Claim]:
        """Remove all queues that share the first place from the needy ones, and return them."""
        keyed = sorted(((self._key(whole, q), place) for place, q in enumerate(needy)))
        line = [(key, needy[place]) for key, place in keyed]
        first = line[0][0]
        served = [claim for key, claim in line if key == first]
        for claim in served:
            self._note(claim)
        needy[:] = [claim for key, claim in line if key != first]
        if needy:
            self._note(needy[0])
        return served

    def _note(self, claim: Claim) -> None:
        self.underserved[claim.label, claim.queue.name] = None

    def _accept(self, claim: Claim, whole: Resource, offer: Resource) -> Resource:
        """Let a queue accept a part of an offer; a leaf at most up to its guarantee or its present
        use."""
        c = self.c
        pending = claim.pending if self.reserved else claim.pending_without_reserved
        wanted = subtract(add(claim.used, pending), claim.ideal)
        below_maximum = largest(subtract(claim.maximum, claim.ideal), self.none)
        accepted = smallest(below_maximum, smaller(c, whole, offer, wanted))
        if not claim.children and not self.balance:
            most = subtract(larger(c, whole, claim.used, claim.guarantee), claim.ideal)
            accepted = smaller(c, whole, accepted, larger(c, whole, most, self.none))
        accepted = smallest(largest(accepted, self.none), offer)
        claim.ideal = add(claim.ideal, accepted)
        return accepted

    def _aim(self, leaf: Claim) -> None:
        """Set the target of a leaf: 0 within the dead zone, else a part of what it must give back
        (Hadoop: PreemptableResourceCalculator.calculateResToObtainByPartitionForLeafQueues)."""
        c = self.c
        monitor = self.state.settings.monitor
        leaf.target = self.none
        if not leaf.queue.preemptable:
            return
        zone = truncate(leaf.guarantee, 1.0 + monitor.max_ignored_over_capacity)
        if c.compare(self.state.total, leaf.used, zone) <= 0:
            return
        leaf.target = leaf.wanted_back
        wanted = c.compare(self.state.total, leaf.wanted_back, self.none) > 0
        if wanted and not self.reserved:
            factor = monitor.natural_termination_factor
            ones = (1,) * len(self.none)
            leaf.target = c.multiply_up(leaf.wanted_back, factor, ones)
