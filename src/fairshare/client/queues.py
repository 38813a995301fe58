"""Owns the form of what the server says of queues, whichever scheduler it has.

The names are those of the REST interface; `tests/unit/client/test_queues.py` holds both together.
"""

import msgspec

Amounts = dict[str, int]
"""Resources by name."""


class SlotFigures(msgspec.Struct, frozen=True):
    """One kind of slots of a pool, or of tasks of a job of MapReduce.

    `needed` are tasks to start, `demand` those that run too; `deficit` is in slot-milliseconds.
    """

    running: int = 0
    demand: int = 0
    fair_share: float = 0.0
    min_share: int = 0
    max_share: int | None = None
    needed: int = 0
    finished: int = 0
    weight: float = 1.0
    deficit: int | None = None
    to_preempt: int = 0
    since_min_share_ms: int | None = None
    since_half_share_ms: int | None = None


class PoolFigures(msgspec.Struct, frozen=True):
    """What the pool scheduler says of a queue. `generation` is the release that decides."""

    generation: str = ""
    jobs: int = 0
    maps: SlotFigures = SlotFigures()
    reduces: SlotFigures = SlotFigures()
    delays_ms: tuple[int, int] | None = None


class UserFigures(msgspec.Struct, frozen=True):
    """One user of a leaf of the Capacity Scheduler."""

    name: str = ""
    used: Amounts = {}
    master_used: Amounts = {}
    max_resource: Amounts = {}
    master_limit: Amounts = {}
    weight: float = 0.0
    active: bool = False
    running_applications: int = 0
    pending_applications: int = 0


class PartitionFigures(msgspec.Struct, frozen=True):
    """One queue in one partition of the Capacity Scheduler."""

    label: str = ""
    configured: bool = False
    capacity: float = 0.0
    max_capacity: float = 0.0
    absolute_capacity: float = 0.0
    absolute_max_capacity: float = 0.0
    used_capacity: float = 0.0
    absolute_used_capacity: float = 0.0
    weight: float = 0.0
    normalized_weight: float = 0.0
    effective_min: Amounts = {}
    effective_max: Amounts = {}
    used: Amounts = {}
    reserved: Amounts = {}
    pending: Amounts = {}
    master_used: Amounts = {}
    max_master_share: float = 0.0
    master_limit: Amounts | None = None
    user_master_limit: Amounts | None = None


class CapacityFigures(msgspec.Struct, frozen=True):
    """What the Capacity Scheduler says of a queue. Capacities are percentages of 0 to 100."""

    state: str = ""
    mode: str = ""
    priority: int = 0
    capacity: float = 0.0
    max_capacity: float = 0.0
    absolute_capacity: float = 0.0
    absolute_max_capacity: float = 0.0
    used_capacity: float = 0.0
    absolute_used_capacity: float = 0.0
    weight: float = 0.0
    normalized_weight: float = 0.0
    effective_min: Amounts = {}
    effective_max: Amounts = {}
    max_allocation: Amounts = {}
    max_parallel_applications: int = 0
    non_runnable_applications: int = 0
    intra_queue_preemptable: bool = False
    max_lifetime_s: int = 0
    default_lifetime_s: int = 0
    max_applications_per_user: int | None = None
    user_limit_percent: float | None = None
    user_limit_factor: float | None = None
    active_users: int | None = None
    pending_after_user_limits: Amounts | None = None
    user_master_limit: Amounts | None = None
    default_priority: int | None = None
    users: tuple[UserFigures, ...] = ()
    partitions: tuple[PartitionFigures, ...] = ()
    accessible_labels: tuple[str, ...] = ()
    default_label: str = ""


class Queue(msgspec.Struct, frozen=True):
    """One queue. A field is None where the scheduler has no such thing."""

    name: str
    parent: str = ""
    children: tuple[str, ...] = ()
    leaf: bool = True
    dynamic: bool = False
    policy: str | None = None
    weight: float | None = None
    used: Amounts = {}
    reserved: Amounts | None = None
    demand: Amounts | None = None
    pending: Amounts | None = None
    min_share: Amounts | None = None
    max_share: Amounts | None = None
    fair_share: Amounts | None = None
    steady_fair_share: Amounts | None = None
    running_applications: int = 0
    pending_applications: int = 0
    max_running_applications: int | None = None
    containers: int = 0
    preempted: int = 0
    pool: PoolFigures | None = None
    reserved_containers: int = 0
    preemptable: bool = False
    master_used: Amounts | None = None
    master_limit: Amounts | None = None
    max_master_share: float | None = None
    max_container: Amounts | None = None
    min_share_timeout_ms: int | None = None
    fair_share_timeout_ms: int | None = None
    fair_share_threshold: float | None = None
    active_applications: int | None = None
    waiting_applications: int | None = None
    capacity: CapacityFigures | None = None
