"""The Fair Scheduler's queue: its settings in force, its shares, its children in order, and the
division of a leaf's fair share among its runnable applications.

The package's `state.py` changes it.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from fairshare.core.model.queues import Queue
from fairshare.core.model.resources import NO_LIMIT, UNBOUNDED, Resource, fits, largest, smallest
from fairshare.core.schedulers.fair.attempts import FairAttempt
from fairshare.core.schedulers.fair.policies import POLICIES, Policy, fair_key
from fairshare.core.schedulers.fair.settings import NEVER_MS, Amount
from fairshare.core.schedulers.ordering import Entry, Order
from fairshare.core.schedulers.shares import FEW, Claim, shares_of_kinds


class Division:
    """The division of a leaf's fair share: the shares by weight, as of the last update.

    Applications of equal weight have equal shares, so that a division costs as much as there are
    weights, and thousands of applications get a new share without being visited.

    `weights` counts the runnable applications of each weight. `newcomers` are those of them that
    the last update did not see, or saw with another weight: each has a share of its own until the
    next one. `types` is the number of resource types that are divided, which are the first ones.
    """

    __slots__ = ("newcomers", "shares", "types", "weights")

    def __init__(self) -> None:
        self.weights: dict[float, int] = {}
        self.shares: dict[float, Resource] = {}
        self.newcomers: dict[int, FairAttempt] = {}
        self.types = 0

    def join(self, attempt: "FairAttempt") -> None:
        """Count an application that has become runnable."""
        self._count(attempt.weight, 1)
        self.newcomers[attempt.id] = attempt

    def leave(self, attempt: "FairAttempt") -> None:
        """Count an application no longer; it keeps the share that it has."""
        self._count(attempt.weight, -1)
        self.newcomers.pop(attempt.id, None)
        _keep(attempt)

    def weigh(self, attempt: "FairAttempt", weight: float) -> None:
        """Change the weight of an application that is counted; until the next division it keeps
        the share that it has."""
        if weight == attempt.weight:
            return
        self._set_apart(attempt)
        self._count(attempt.weight, -1)
        self._count(weight, 1)
        attempt.weight = weight

    def divide(self, whole: Resource, types: int, attempts: Iterable["FairAttempt"]) -> None:
        """Divide the first `types` amounts of a share among those that are counted: all runnable
        ones of `attempts`. Of the other types each keeps what it has.

        >>> division = Division()
        >>> division.weights = {1.0: 2, 2.0: 1}
        >>> division.divide((1000, 8), 2, ())
        >>> division.shares
        {1.0: (250, 2), 2.0: (500, 4)}
        """
        if types != self.types:
            self.types = types
            for attempt in attempts:
                self._set_apart(attempt)
        if not types:
            return
        counts = tuple(self.weights.items())
        by_weight = _kept_shares if len(counts) <= FEW else _shares_by_weight
        of_types = [by_weight(whole[index], counts) for index in range(types)]
        self.shares = {
            weight: share
            for (weight, _), share in zip(counts, zip(*of_types, strict=True), strict=True)
        }
        for attempt in self.newcomers.values():
            attempt.divided = True
        self.newcomers.clear()

    def _set_apart(self, attempt: "FairAttempt") -> None:
        if attempt.divided:
            _keep(attempt)
            self.newcomers[attempt.id] = attempt

    def _count(self, weight: float, change: int) -> None:
        count = self.weights.get(weight, 0) + change
        if count:
            self.weights[weight] = count
        else:
            del self.weights[weight]


def _keep(attempt: "FairAttempt") -> None:
    attempt.own_share = attempt.fair_share
    attempt.divided = False


def _shares_by_weight(total: int, counts: tuple[tuple[float, int], ...]) -> tuple[int, ...]:
    """What an application of each weight gets, of so many with each."""
    kinds = {Claim(weight, 0, UNBOUNDED): count for weight, count in counts}
    shares = shares_of_kinds(total, kinds, keep=False)
    return tuple([shares[claim] for claim in kinds])


_kept_shares = lru_cache(maxsize=4_096)(_shares_by_weight)


class FairQueue(Queue[FairAttempt]):
    """A queue among its siblings.

    Shares and demand are those of the last update (`steady_fair_share`: of the last change of
    nodes, queues or file). `asking` counts the children, or applications, that are in `order` or
    temporarily put aside. `path` is the queue, its parent and all further ancestors, root last;
    `bounded` those of them that have a maximum.
    """

    __slots__ = (
        "allow_preemption",
        "asking",
        "assigned",
        "bounded",
        "children",
        "could_reserve",
        "created_ms",
        "demand",
        "demand_sum",
        "division",
        "entry",
        "fair_share",
        "fair_share_threshold",
        "fair_share_timeout_ms",
        "last_at_min_share_ms",
        "master_used",
        "max_amount",
        "max_child_amount",
        "max_container",
        "max_master_share",
        "max_running",
        "max_share",
        "min_share",
        "min_share_timeout_ms",
        "order",
        "parent",
        "path",
        "policy",
        "preempted",
        "rank",
        "running",
        "shares_stale",
        "sizes",
        "sizes_stale",
        "smallest_size",
        "steady_fair_share",
        "waiting",
        "weight",
    )

    def __init__(
        self, name: str, leaf: bool, dynamic: bool, parent: "FairQueue | None", types: int
    ) -> None:
        super().__init__(name, leaf, dynamic, types)
        nothing: Resource = (0,) * types
        self.parent = parent
        self.children: dict[str, FairQueue] = {}
        self.path: tuple[FairQueue, ...] = (self, *(parent.path if parent else ()))
        self.bounded: tuple[FairQueue, ...] = ()
        # In force from the configuration.
        self.policy: Policy = POLICIES["fair"]
        self.weight = 1.0
        self.min_share = nothing
        self.max_amount: Amount | None = None  # None: unbounded
        self.max_child_amount: Amount | None = None
        self.max_share: Resource = nothing
        self.max_container: Resource | None = None
        self.max_running = NO_LIMIT
        self.max_master_share = 0.5
        self.min_share_timeout_ms = NEVER_MS
        self.fair_share_timeout_ms = NEVER_MS
        self.fair_share_threshold = 0.5
        self.allow_preemption = True
        # Computed.
        self.rank = 0
        self.entry: Entry | None = None
        self.order: Order[Any] = Order(fair_key, True)  # of queues, or of applications
        self.asking = 0
        self.running = 0
        self.waiting: dict[int, FairAttempt] = {}  # of a leaf, in the order of arrival
        self.assigned: dict[int, None] = {}  # accepted, without an attempt yet
        self.demand = nothing
        self.demand_sum = nothing
        self.fair_share = nothing
        self.steady_fair_share = nothing
        self.shares_stale = True
        self.division = Division()  # of a leaf
        self.master_used = nothing
        self.sizes: dict[Resource, int] = {}  # pending sizes of all below, with their counts
        self.sizes_stale = False
        self.smallest_size: Resource | None = None
        self.could_reserve = False
        self.created_ms = 0
        self.last_at_min_share_ms = 0
        self.preempted = 0

    def resolve_maximum(self, cluster: Resource, unbounded: Resource) -> None:
        """Compute the maximum for this cluster; a larger minimum takes precedence
        (Hadoop: FSQueue.getMaxShare)."""
        maximum = unbounded if self.max_amount is None else self.max_amount.resolve(cluster)
        self.max_share = largest(maximum, self.min_share)

    def count_size(self, size: Resource, change: int) -> None:
        """Add to the count of pending asks of this size, here and in all ancestors."""
        for queue in self.path:
            sizes = queue.sizes
            count = sizes.get(size, 0) + change
            if count:
                sizes[size] = count
                if count == change:
                    queue.sizes_stale = True
            else:
                del sizes[size]
                queue.sizes_stale = True

    def might_take(self, room: Resource, reservable: Resource) -> bool:
        """Whether a pending ask below might fit `room`, or be large enough to reserve a node.

        False is certain, True is not: only the smallest amounts of all asks are checked.
        """
        if self.sizes_stale:
            self._settle_sizes(reservable)
        if self.smallest_size is None:
            return False
        return self.could_reserve or fits(self.smallest_size, room)

    def only_size(self, reservable: Resource) -> Resource | None:
        """The size of all pending asks below, if they have the same one and it cannot reserve a
        node."""
        if len(self.sizes) != 1:
            return None
        if self.sizes_stale:
            self._settle_sizes(reservable)
        return None if self.could_reserve else self.smallest_size

    def _settle_sizes(self, reservable: Resource) -> None:
        self.sizes_stale = False
        least: Resource | None = None
        self.could_reserve = False
        for size in self.sizes:
            least = size if least is None else smallest(least, size)
            if any(s >= r for s, r in zip(size, reservable, strict=True)):
                self.could_reserve = True
        self.smallest_size = least

    @property
    def empty(self) -> bool:
        """Whether it has no applications, so that it may be removed (Hadoop: FSQueue.isEmpty)."""
        if self.leaf:
            return not self.attempts and not self.assigned
        return all(child.empty for child in self.children.values())


def common_ancestor(a: FairQueue, b: FairQueue) -> FairQueue:
    """The lowest queue on both paths: `root.a` for `root.a.x` and `root.a.y`
    (Hadoop: FairScheduler.findLowestCommonAncestorQueue)."""
    return next(queue for queue in a.path if queue in b.path)
