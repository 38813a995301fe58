"""Owns one round's picture of the queues: what each uses, wants and is guaranteed on a partition.

A picture is made anew in each round and thrown away after it (spec/capacity.md 21.3, 21.4).
"""

from typing import TYPE_CHECKING

from fairshare.model.resources import Resource, add, subtract
from fairshare.schedulers.capacity.calculators import ResourceCalculator, larger, smaller, truncate
from fairshare.schedulers.capacity.queues import CapacityQueue
from fairshare.schedulers.capacity.views import pending_after_user_limits
from fairshare.schedulers.hash_order import in_hash_order, table_size, text_code

if TYPE_CHECKING:
    from fairshare.schedulers.capacity.state import CapacityState


class Claim:
    """A queue on a partition, during one round.

    `ideal` is what it should have, `keep` what nobody takes from it, `wanted_back` what it should
    lose by that, `target` what is taken from a leaf in this round. `untouchable` and `preemptable`
    split what it has above its guarantee.
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
        self, state: "CapacityState", queue: CapacityQueue, label: str, parent: "Claim | None"
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
        """The claims of all leaves from here down."""
        if self.queue.leaf:
            return [self]
        return [leaf for child in self.children for leaf in child.leaves()]

    def leaf_names(self) -> list[str]:
        """The leaves from here down as they are asked to give: Hadoop has a hash set of them for
        each queue, made of those of its children."""
        if self.queue.leaf:
            return [self.queue.name]
        names = [name for child in self.children for name in child.leaf_names()]
        return in_hash_order(names, text_code, table_size(len(names), concurrent=False))

    def split_extras(self, c: ResourceCalculator, whole: Resource, none: Resource) -> None:
        """Say how much above the guarantee may be taken, here and below."""
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
        """Something was taken from this leaf already in this round (21.7)."""
        if c.compare(whole, self.target, amount) > 0:
            self.target = subtract(self.target, amount)
        self.target = larger(c, whole, self.target, none)
