"""Owns one round's snapshot of the queues: each one's use, demand and guarantee on a partition.

Each round creates a new snapshot and discards it at its end
(Hadoop: ProportionalCapacityPreemptionPolicy.cloneQueues, TempQueuePerPartition).
"""

from fairshare.core.model.resources import Resource, add, subtract
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
