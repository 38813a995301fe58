"""The records of queues: what a scheduler shows of each, its share, and its past."""

from typing import Generic, TypeVar

import msgspec

from fairshare.api.applications import Id
from fairshare.api.fairness import PastUse
from fairshare.api.showing import shown
from fairshare.api.values import EMPTY, Amounts, Held

Shared = TypeVar("Shared")
"""How a record holds shares and limits, which a client need not get: its amounts, or None."""


class UserFields(msgspec.Struct, Generic[Held], frozen=True):
    """The fields of `UserFigures`."""

    name: str = ""
    used: Held = EMPTY
    master_used: Held = EMPTY
    max_resource: Held = EMPTY  # the limit of an active user
    master_limit: Held = EMPTY
    weight: float = 0.0
    active: bool = False
    running_applications: int = 0
    pending_applications: int = 0


class UserFigures(UserFields[Amounts], frozen=True):
    """One user of a leaf of the Capacity Scheduler. Amounts are those of the default partition."""


class PartitionFields(msgspec.Struct, Generic[Held], frozen=True):
    """The fields of `PartitionFigures`."""

    label: str = ""  # "": the default partition
    configured: bool = False
    capacity: float = 0.0
    max_capacity: float = 0.0
    absolute_capacity: float = 0.0
    absolute_max_capacity: float = 0.0
    used_capacity: float = 0.0
    absolute_used_capacity: float = 0.0
    weight: float = 0.0
    normalized_weight: float = 0.0
    effective_min: Held = EMPTY
    effective_max: Held = EMPTY
    used: Held = EMPTY
    reserved: Held = EMPTY
    pending: Held = EMPTY
    master_used: Held = EMPTY
    max_master_share: float = 0.0
    master_limit: Held | None = None
    user_master_limit: Held | None = None


class PartitionFigures(PartitionFields[Amounts], frozen=True):
    """A queue's part of one partition (node label). Capacities are percentages of 0 to 100.

    `configured`: the queue has a capacity of its own there. Of leaves: the masters' limits, for all
    masters and for those of one user of weight 1.
    """


class CapacityFields(msgspec.Struct, Generic[Held], frozen=True):
    """The fields of `CapacityFigures`."""

    state: str = ""  # RUNNING, DRAINING or STOPPED
    mode: str = ""  # percentage, weight or absolute
    priority: int = 0
    capacity: float = 0.0
    max_capacity: float = 0.0
    absolute_capacity: float = 0.0
    absolute_max_capacity: float = 0.0
    used_capacity: float = 0.0
    absolute_used_capacity: float = 0.0
    weight: float = 0.0  # -1: none
    normalized_weight: float = 0.0
    effective_min: Held = EMPTY
    effective_max: Held = EMPTY
    max_allocation: Held = EMPTY
    max_parallel_applications: int = 0
    non_runnable_applications: int = 0  # held back by max-parallel-apps
    intra_queue_preemptable: bool = False
    max_lifetime_s: int = 0
    default_lifetime_s: int = 0
    max_applications_per_user: int | None = None  # of leaves, as is all below
    user_limit_percent: float | None = None
    user_limit_factor: float | None = None
    active_users: int | None = None
    pending_after_user_limits: Held | None = None
    user_master_limit: Held | None = None  # of a user of weight 1
    default_priority: int | None = None
    users: tuple[UserFields[Held], ...] = ()
    partitions: tuple[PartitionFields[Held], ...] = ()  # the default one first
    accessible_labels: tuple[str, ...] = ()  # "*": all
    default_label: str = ""


class CapacityFigures(CapacityFields[Amounts], frozen=True):
    """The fields of a queue that only the Capacity Scheduler has. Capacities are percentages of 0
    to 100."""

    users: tuple[UserFigures, ...] = ()
    partitions: tuple[PartitionFigures, ...] = ()


class PoolSlots(msgspec.Struct, frozen=True):
    """One kind of slots of a pool of MapReduce; shares are those of the last update."""

    running: int = 0
    demand: int = 0  # running and to start
    fair_share: float = 0.0
    min_share: int = 0
    max_share: int | None = None
    to_preempt: int = 0  # tasks that would be killed for it now
    since_min_share_ms: int | None = None  # None: not monitored
    since_half_share_ms: int | None = None


class PoolFigures(msgspec.Struct, frozen=True):
    """The fields of a queue that only the pool scheduler has. `jobs` counts waiting jobs too.

    `generation` is the release whose behaviour applies. `delays_ms` are the delays for node and
    rack locality; None where the scheduler does not delay.
    """

    generation: str = ""
    jobs: int = 0
    maps: PoolSlots = PoolSlots()
    reduces: PoolSlots = PoolSlots()
    delays_ms: tuple[int, int] | None = None


class QueueFields(msgspec.Struct, Generic[Held, Shared], frozen=True):
    """The fields of `Queue` that schedulers fill."""

    name: str
    leaf: bool = True
    dynamic: bool = False
    parent: str = ""  # "" for root
    children: tuple[str, ...] = ()
    policy: str = ""
    used: Held = EMPTY
    reserved: Held = EMPTY
    demand: Held = EMPTY
    pending: Held = EMPTY
    min_share: Shared = EMPTY
    max_share: Shared = EMPTY
    fair_share: Shared = EMPTY
    steady_fair_share: Shared = EMPTY
    weight: float | None = 0.0
    running_applications: int = 0  # runnable ones, including queues below
    pending_applications: int = 0  # held back by a limit, including queues below
    max_running_applications: int | None = None
    containers: int = 0
    reserved_containers: int = 0
    preempted: int = 0  # containers so far
    preemptable: bool = False
    master_used: Held | None = None
    master_limit: Held | None = None
    max_master_share: float | None = None
    max_container: Held | None = None
    min_share_timeout_ms: int | None = None
    fair_share_timeout_ms: int | None = None
    fair_share_threshold: float | None = None
    active_applications: int | None = None  # leaves of the Fair Scheduler: had a container
    waiting_applications: int | None = None  # the others, those held back too
    capacity: CapacityFields[Held] | None = None
    pool: PoolFigures | None = None
    past: PastUse | None = None  # while the past counts
    booked: Amounts | None = None  # by bookings that are on, for it or one of its users


class ShareFields(msgspec.Struct, Generic[Held], frozen=True):
    """The fields of `Share`."""

    dominant: str = ""
    used_share: float = 0.0
    used_of_fair: float | None = None
    entitled: Held = EMPTY
    owed: Held = EMPTY
    borrowed: Held = EMPTY
    state: str = ""
    sentence: str = ""
    borrower: str | None = None


class Share(ShareFields[Amounts], frozen=True):
    """One queue beside its share; ratios are parts of 1, None where the divisor is 0.

    `dominant` is the type that is scarcest for it. `state`: idle (nothing runs or waits), served
    (has all it asks for), full (has its whole share, asks for more), borrows, owed. `borrower` is
    the queue that has most beyond its own share of what is owed here.
    """


class Queue(QueueFields[Amounts, Amounts | None], frozen=True):
    """One queue in its current state. Shares are those of the last update.

    A field is None where the scheduler has no such thing.
    """

    capacity: CapacityFigures | None = None
    share: Share | None = None

    _repr_html_ = shown


class Queues(msgspec.Struct, frozen=True, kw_only=True):
    """Queues, root first; `at_ms` is None for now."""

    at_ms: int | None = None
    total: Amounts = {}
    queues: tuple[Queue, ...]


class Point(msgspec.Struct, frozen=True):
    """A queue at one instant, and all that the cluster had then."""

    at_ms: int
    used_share: float
    used: Amounts
    demand: Amounts
    fair_share: Amounts
    steady_fair_share: Amounts
    guaranteed: Amounts
    total: Amounts
    entitled: Amounts
    owed: Amounts


class History(msgspec.Struct, frozen=True):
    """The lines of a queue."""

    queue: str
    began_ms: int
    now_ms: int
    points: tuple[Point, ...]


class OwedPartFields(msgspec.Struct, Generic[Id], frozen=True):
    """The fields of `OwedPart`."""

    kind: str
    words: str
    amount: int
    applications: int
    first: Id | None
    sentence: str
    remedy: str


class OwedPart(OwedPartFields[str], frozen=True):
    """One part of what is owed. `sentence` and `remedy` are those of its `first` application."""


class Holder(msgspec.Struct, frozen=True):
    """A queue with more than its share, and by how much."""

    queue: str
    amount: int


class Owed(msgspec.Struct, frozen=True):
    """What a queue is owed of the resource type that it uses most of, in parts by cause that add up
    to it; amounts are of that type.

    `sentence` sums it up. `since_ms` is since when it has been owed something without a break, as
    far as past states are remembered; None: it is owed nothing. `unasked` is the part of its share
    that no application requests. `holders` have more than their share of the type, the largest
    excess first. Of its `waiting` applications `looked` were asked why they wait.
    """

    queue: str
    type: str
    owed: int
    unasked: int
    waiting: int
    looked: int
    parts: tuple[OwedPart, ...]
    sentence: str
    since_ms: int | None
    holders: tuple[Holder, ...]

    _repr_html_ = shown
