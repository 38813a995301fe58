"""Owns the views of queues and applications: frozen, the same for all schedulers.

A field is None where a scheduler does not have it. Vectors are in the order of the state's types.
REST, pages, command line, scenarios and reports read these and compute nothing themselves.
"""

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from fairshare.model.applications import Application
from fairshare.model.events import ApplicationState
from fairshare.model.identifiers import ApplicationId
from fairshare.model.resources import Resource


class UserView(msgspec.Struct, frozen=True):
    """One user of a leaf of the Capacity Scheduler. Amounts are those of the default partition."""

    name: str
    used: Resource
    master_used: Resource
    max_resource: Resource  # the limit of an active user
    master_limit: Resource
    weight: float
    active: bool
    running_applications: int
    pending_applications: int


class PartitionView(msgspec.Struct, frozen=True):
    """A queue's part of one partition (node label). Capacities are percentages of 0 to 100.

    `configured`: the queue has a capacity of its own there. Of leaves: the masters' limits, for all
    masters and for those of one user of weight 1.
    """

    label: str  # "": the default partition
    configured: bool
    capacity: float
    max_capacity: float
    absolute_capacity: float
    absolute_max_capacity: float
    used_capacity: float
    absolute_used_capacity: float
    weight: float
    normalized_weight: float
    effective_min: Resource
    effective_max: Resource
    used: Resource
    reserved: Resource
    pending: Resource
    master_used: Resource
    max_master_share: float
    master_limit: Resource | None = None
    user_master_limit: Resource | None = None


class CapacityView(msgspec.Struct, frozen=True):
    """The fields of a queue that only the Capacity Scheduler has. Capacities are percentages of 0
    to 100."""

    state: str  # RUNNING, DRAINING or STOPPED
    mode: str  # percentage, weight or absolute
    priority: int
    capacity: float
    max_capacity: float
    absolute_capacity: float
    absolute_max_capacity: float
    used_capacity: float
    absolute_used_capacity: float
    weight: float  # -1: none
    normalized_weight: float
    effective_min: Resource
    effective_max: Resource
    max_allocation: Resource
    max_parallel_applications: int
    non_runnable_applications: int  # held back by max-parallel-apps
    intra_queue_preemptable: bool
    max_lifetime_s: int
    default_lifetime_s: int
    max_applications_per_user: int | None = None  # of leaves, as is all below
    user_limit_percent: float | None = None
    user_limit_factor: float | None = None
    active_users: int | None = None
    pending_after_user_limits: Resource | None = None
    user_master_limit: Resource | None = None  # of a user of weight 1
    default_priority: int | None = None
    users: tuple[UserView, ...] = ()
    partitions: tuple[PartitionView, ...] = ()  # the default one first
    accessible_labels: tuple[str, ...] = ()  # "*": all
    default_label: str = ""


class PoolSlotsView(msgspec.Struct, frozen=True):
    """One kind of slots of a pool of MapReduce; shares are those of the last update."""

    running: int
    demand: int  # running and to start
    fair_share: float
    min_share: int
    max_share: int | None
    to_preempt: int  # tasks that would be killed for it now
    since_min_share_ms: int | None  # None: not monitored
    since_half_share_ms: int | None


class PoolView(msgspec.Struct, frozen=True):
    """The fields of a queue that only the pool scheduler has. `jobs` counts waiting jobs too.

    `delays_ms` are the delays for node and rack locality; None where the scheduler does not delay.
    """

    generation: str
    jobs: int
    maps: PoolSlotsView
    reduces: PoolSlotsView
    delays_ms: tuple[int, int] | None = None


class JobSlotsView(msgspec.Struct, frozen=True):
    """One kind of tasks of a job; all fields but `running` are those of the last update."""

    finished: int
    running: int
    needed: int  # to start
    demand: int  # running and to start
    weight: float
    fair_share: float
    min_share: int  # its part of its pool's
    deficit: int | None  # slot-milliseconds; None: this generation has no deficits


class JobView(msgspec.Struct, frozen=True):
    """The fields of an application that only the pool scheduler has.

    `level` (node, rack, any) is that of the last map started; `waited_ms` is how long the job has
    waited since then for a nearer one; `passed_over` is whether the last heartbeat left it waiting.
    """

    priority: str  # VERY_LOW to VERY_HIGH
    initialized: bool
    maps: JobSlotsView
    reduces: JobSlotsView
    level: str
    waited_ms: int
    passed_over: bool


class QueueView(msgspec.Struct, frozen=True):
    """One queue in its current state. Shares are those of the last update."""

    name: str
    leaf: bool
    dynamic: bool
    parent: str  # "" for root
    children: tuple[str, ...]
    policy: str
    used: Resource
    reserved: Resource
    demand: Resource
    pending: Resource
    min_share: Resource
    max_share: Resource
    fair_share: Resource
    steady_fair_share: Resource
    weight: float
    running_applications: int  # runnable ones, including queues below
    pending_applications: int  # held back by a limit, including queues below
    max_running_applications: int | None
    containers: int
    reserved_containers: int
    preempted: int  # containers so far
    preemptable: bool
    master_used: Resource | None = None
    master_limit: Resource | None = None
    max_master_share: float | None = None
    max_container: Resource | None = None
    min_share_timeout_ms: int | None = None
    fair_share_timeout_ms: int | None = None
    fair_share_threshold: float | None = None
    active_applications: int | None = None  # leaves of the Fair Scheduler: had a container
    waiting_applications: int | None = None  # the others, those held back too
    capacity: CapacityView | None = None
    pool: PoolView | None = None


class ApplicationView(msgspec.Struct, frozen=True):
    """One application in its current state; the shares of an ended one are 0."""

    id: ApplicationId
    name: str
    user: str
    queue: str
    state: ApplicationState
    priority: int
    attempt: int
    runnable: bool
    submitted_ms: int
    started_ms: int
    finished_ms: int | None
    containers: int
    used: Resource
    reserved: Resource
    pending: Resource
    demand: Resource
    fair_share: Resource
    headroom: Resource
    to_preempt: int
    preempted: int
    diagnostics: str
    missed: dict[int, int] | None = None  # opportunities passed over, by request priority
    job: JobView | None = None


class VolatileFields(NamedTuple):
    """The fields of an application's view that may change without an event that names it."""

    demand: Resource
    fair_share: Resource
    headroom: Resource
    diagnostics: str


VolatileFieldsOf = Callable[[Application], VolatileFields]
"""Reads the volatile fields of an application; valid until the state changes."""
