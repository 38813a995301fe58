"""The Capacity Scheduler's queue: its settings in force, its capacities, its usage.

Everything that is counted or granted by partition (node label) is in a `Share`; the default
partition is the label `""`.
"""

from bisect import insort

from fairshare.core.model.queues import Queue
from fairshare.core.model.resources import NO_LIMIT, UNBOUNDED, Resource
from fairshare.core.schedulers.capacity.attempts import CapacityAttempt, Entry, Kind
from fairshare.core.schedulers.capacity.calculators import ResourceCalculator
from fairshare.core.schedulers.capacity.settings import PriorityRule, QueueSettings
from fairshare.core.schedulers.capacity.users import Users

RUNNING = "RUNNING"
DRAINING = "DRAINING"
STOPPED = "STOPPED"

PERCENTAGE = "percentage"
WEIGHT = "weight"
ABSOLUTE = "absolute"

UNSET_WEIGHT = -1.0

Bounds = tuple[float, float, float, float, float, float]
"""The share of the ceiling; the least share that a limit has below it, whatever is in use; the
share of the guarantee; and of what is in use the part that counts, what is added to the part, and
what the share in use may be too large (`user_bounds.py`)."""

NO_USE: Resource = (-UNBOUNDED, -UNBOUNDED)

FixedFields = tuple[int, bool, int | None, tuple[float, ...]]
"""Of a queue's key among its siblings what does not depend on its use: whether it may not use a
partition, whether it has no guarantee, its priority if the policy uses it, and the size that breaks
ties."""


class Share:
    """A queue's part of one partition.

    Fractions are single precision. `used` and `used_capacity` include reservations; `pending` is
    the total of the asks of all applications below. `order` has the keys of the children with
    pending asks, the last element of each being the child's rank; those of children in `stale` may
    be older than their use. `fixed_key` is the fixed part of its own key; None: to be recomputed.
    """

    __slots__ = (
        "absolute_capacity",
        "absolute_maximum",
        "calculator",
        "capacity",
        "configured_maximum",
        "configured_minimum",
        "divisor",
        "effective_maximum",
        "effective_minimum",
        "entry",
        "fixed_key",
        "killable",
        "master_share",
        "master_used",
        "maximum_capacity",
        "normalized_weight",
        "order",
        "pending",
        "reserved",
        "stale",
        "used",
        "weight",
        "whole",
    )

    def __init__(self, none: Resource) -> None:
        self.used = none
        self.reserved = none
        self.killable = none  # the part of `used` that lazy preemption may kill
        self.pending = none
        self.master_used = none
        self.capacity = 0.0
        self.maximum_capacity = 1.0
        self.weight = UNSET_WEIGHT
        self.normalized_weight = 0.0
        self.absolute_capacity = 0.0
        self.absolute_maximum = 0.0
        self.configured_minimum: Resource | None = None
        self.configured_maximum: Resource | None = None
        self.effective_minimum = none
        self.effective_maximum = none
        self.master_share = 0.1
        self.entry: Entry | None = None
        self.fixed_key: FixedFields | None = None
        self.order: list[Entry] = []
        self.stale: dict[CapacityQueue, None] = {}
        # What its use is measured against, once known; a use of nothing is 0.
        self.calculator: ResourceCalculator | None = None
        self.whole = none
        self.divisor = 0.0

    def measure(self, c: ResourceCalculator, whole: Resource, guarantee: Resource) -> None:
        """Measure its use against this guarantee and this partition size from now on."""
        self.whole = whole
        if c.compare(whole, whole, (0,) * len(whole)) <= 0:
            self.calculator = None
            return
        self.calculator = c
        self.divisor = c.divisor(whole, guarantee)

    @property
    def used_capacity(self) -> float:
        """What is used, as a part of the guarantee (Hadoop: CSQueueUtils.updateUsedCapacity)."""
        c = self.calculator
        return 0.0 if c is None else c.use(self.whole, self.used, self.divisor)

    @property
    def absolute_used(self) -> float:
        """What is used, as a fraction of the partition."""
        c = self.calculator
        return 0.0 if c is None else c.divide(self.whole, self.used, self.whole)


class CapacityQueue(Queue[CapacityAttempt]):
    """A queue among its siblings.

    `path` is the queue, its parent and all further ancestors, root last; `share` is its part of the
    default partition. Of leaves: `order` has the keys of active applications with asks, `resting`
    those of the others, `fresh` of those among the latter that have no headroom yet, `unsorted` the
    previous values of applications that have changed since the fair order was last applied,
    `waiting` the keys of applications that wait for room for their master, `waiting_kinds` the same
    by what they wait for, `held` the applications that max-parallel-apps holds back, `limit` what
    the leaf can reach according to the last heartbeat, `user_bounds` those of the limits of users
    of weight 1 (None: to be recomputed), `sure_use` the use below which in each type these bounds
    are enough to know that such a user is below its limit (`NO_USE`: not known), `accepted` the
    applications that count for the leaf.

    `reserved_now` is what applications here or below have reserved on the default partition. A
    share's `reserved` is Hadoop's own count, which a move of an application does not change.
    """

    __slots__ = (
        "accessible",
        "active",
        "allow_zero_sum",
        "children",
        "containers",
        "created_ms",
        "default_label",
        "default_lifetime_s",
        "default_priority",
        "divides_amounts",
        "dynamic_eligible",
        "entitled",
        "expiring_ms",
        "fresh",
        "funded",
        "given",
        "held",
        "idle_since_ms",
        "intra_preemptable",
        "limit",
        "maximum_allocation",
        "maximum_applications",
        "maximum_lifetime_s",
        "maximum_parallel",
        "maximum_per_user",
        "mode",
        "number_of_applications",
        "order",
        "parent",
        "path",
        "policy",
        "preemptable",
        "preempted",
        "priority",
        "priority_rules",
        "rank",
        "ranked",
        "reserved_now",
        "resting",
        "runnable",
        "settings",
        "share",
        "shares",
        "size_based",
        "state",
        "sure_use",
        "template_worth",
        "unsorted",
        "user_bounds",
        "user_limit_factor",
        "user_limit_percent",
        "users",
        "waiting",
        "waiting_kinds",
    )

    def __init__(
        self, name: str, leaf: bool, dynamic: bool, parent: "CapacityQueue | None", none: Resource
    ) -> None:
        super().__init__(name, leaf, dynamic, len(none))
        self.parent = parent
        self.children: dict[str, CapacityQueue] = {}
        self.ranked: list[CapacityQueue] = []
        self.rank = 0
        self.path: tuple[CapacityQueue, ...] = (self, *(parent.path if parent else ()))
        self.share = Share(none)
        self.shares: dict[str, Share] = {"": self.share}
        # In force from the configuration.
        self.settings = QueueSettings()
        self.state = RUNNING
        self.mode = PERCENTAGE
        self.policy = "fifo" if leaf else "utilization"
        self.size_based = False
        self.priority = 0
        self.default_priority = 0
        self.priority_rules: tuple[PriorityRule, ...] = ()
        self.user_limit_percent = 100.0
        self.user_limit_factor = 1.0
        self.maximum_parallel = NO_LIMIT
        self.maximum_allocation = none
        self.maximum_lifetime_s = -1
        self.default_lifetime_s = -1
        self.preemptable = True
        self.intra_preemptable = True
        self.allow_zero_sum = False
        self.accessible: frozenset[str] = frozenset(("*",))
        self.default_label = ""
        self.dynamic_eligible = False
        self.divides_amounts = False  # whether its children have amounts, or nothing
        # of leaves of the older auto-creation (Hadoop: ManagedParentQueue)
        self.entitled: frozenset[str] = frozenset()
        self.funded: frozenset[str] = frozenset()  # of those with amounts: where these apply
        # Of parents with amounts: the template's fraction of them and of the partition, as last
        # computed.
        self.template_worth: dict[str, tuple[float, float]] = {}
        self.given: dict[str, float] = {}  # of parents: the sum of what their leaves were given
        # Computed.
        self.maximum_applications = 0
        self.maximum_per_user = 0
        self.number_of_applications = 0  # accepted ones, including queues below
        self.runnable = 0  # not held back, including queues below
        self.containers = 0  # with reservations, including queues below
        self.preempted = 0
        self.reserved_now = none
        self.created_ms = 0
        self.idle_since_ms = 0
        self.expiring_ms: int | None = None  # when a round found it empty
        self.users = Users(none)
        self.limit = none
        self.user_bounds: Bounds | None = None
        self.sure_use = NO_USE
        self.order: list[Entry] = []
        self.resting: list[Entry] = []
        self.fresh: list[Entry] = []
        self.unsorted: dict[int, tuple[int, int]] = {}
        self.active: dict[int, CapacityAttempt] = {}
        self.waiting: list[Entry] = []
        self.waiting_kinds: dict[Kind, list[Entry]] = {}
        self.held: dict[int, CapacityAttempt] = {}

    def derive(self) -> None:
        """Restore derived values, which are not part of a snapshot."""
        self.waiting_kinds = {}
        for entry in self.waiting:
            kind = self.attempts[int(entry[-1])].kind
            self.waiting_kinds.setdefault(kind, []).append(entry)

    def reconsider(self) -> None:
        """Drop cached values after a change of capacities or settings."""
        self.user_bounds = None
        self.sure_use = NO_USE
        for share in self.shares.values():
            share.fixed_key = None

    def may_use(self, label: str) -> bool:
        """Whether a partition is accessible; the default one always is."""
        return not label or "*" in self.accessible or label in self.accessible

    def serves(self, asked: str, label: str) -> bool:
        """Whether an application whose master is on one partition has its turn on another one.

        Always, unless the leaf keeps partitions apart (`fifo-with-partitions`): then those of
        an enforced partition have their turn only there, and all others only elsewhere.
        """
        if self.policy != "fifo-with-partitions":
            return True
        enforced = self.settings.enforced_partitions or ()
        return (asked if asked in enforced else "") == (label if label in enforced else "")

    def has_part(self, label: str) -> bool:
        """Whether it has a capacity on a partition: its own, or if created on demand its parent's.

        One of the older auto-creation has those that its template names, which count as its own.
        """
        if not label or label in self.settings.label_capacities:
            return True
        above = self.parent if self.dynamic else None
        return (
            above is not None and not above.settings.legacy_dynamic_leaves and above.has_part(label)
        )

    def stop(self) -> None:
        """Accept no more applications: DRAINING while applications are left
        (Hadoop: LeafQueue.stopQueue)."""
        for child in self.children.values():
            child.stop()
        if self.state != STOPPED:
            self.state = DRAINING if self.number_of_applications > 0 else STOPPED

    def may_lose(self, name: str) -> bool:
        """Whether a user's record may be removed although an application of theirs is active: the
        end of one that is held back reduces the count of pending ones below 0."""
        user = self.users.users.get(name)
        if user is None:
            return False
        return user.pending_applications < 0 or any(one.user == name for one in self.held.values())

    def user_added(self, user: str) -> None:
        """A user has a new record, from which its applications without asks have no headroom
        yet."""
        for attempt in self.active.values():
            entry = attempt.entry
            rests = attempt.user == user and attempt.rests
            if entry is not None and rests and entry not in self.fresh:
                insort(self.fresh, entry)

    @property
    def short_name(self) -> str:
        """The last part of its path."""
        return self.name.rpartition(".")[2]
