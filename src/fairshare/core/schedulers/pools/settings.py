"""The pool scheduler's settings as frozen data.

Times are in milliseconds, even where the file uses seconds. Slots of a kind are integers; a pair is
always (map slots, reduce slots).
"""

from typing import Final, Literal, get_args

import msgspec

from fairshare.core.model.bookings import RULES, BookingRules
from fairshare.core.model.resources import NO_LIMIT, UNBOUNDED, Resource, ResourceTypes
from fairshare.core.model.time_limits import TimeLimit
from fairshare.core.model.usage import OFF, Fairness

MAP_SLOTS: Final = "map-slots"
REDUCE_SLOTS: Final = "reduce-slots"
SLOTS: Final = (MAP_SLOTS, REDUCE_SLOTS)

MAP, REDUCE = 0, 1
"""The two kinds of tasks: the index of a kind in every pair."""

NEVER_MS: Final = UNBOUNDED
DEFAULT_POOL: Final = "default"
DEFAULT_LOAD_MANAGER: Final = "cap-based"
NO_ADJUSTER: Final = ""

Generation = Literal["0.19", "0.20", "1.2"]
Mode = Literal["fair", "fifo"]

Priority = Literal["VERY_LOW", "LOW", "NORMAL", "HIGH", "VERY_HIGH"]
PRIORITIES: Final[tuple[Priority, ...]] = get_args(Priority)
"""Names of priorities, the least urgent first. As a number the first is 1, as in Hadoop 3."""

NORMAL: Final = 3
FACTORS: Final = (0.25, 0.5, 1.0, 2.0, 4.0)
"""The weight factors of the priorities, in the same order
(Hadoop: FairScheduler.getPriorityFactor)."""

TYPES: Final = ResourceTypes(("memory-mb", "vcores", *SLOTS), ("Mi", "", "", ""))


class PoolAllocation(msgspec.Struct, frozen=True):
    """The pools file's settings of one pool; None where unset (Hadoop: PoolManager.reloadAllocs).

    `parent` is the pool around it, if pools may be nested; names are then written with periods.
    """

    name: str
    parent: str = ""
    min_share: tuple[int, int] = (0, 0)
    max_share: tuple[int, int] = (NO_LIMIT, NO_LIMIT)
    weight: float = 1.0
    max_running_jobs: int | None = None
    mode: Mode | None = None
    min_share_timeout_ms: int | None = None


class PoolAllocations(msgspec.Struct, frozen=True):
    """The pools file as a whole. Pools are in the order of the file, parents before children."""

    pools: dict[str, PoolAllocation] = {}
    user_max_jobs: dict[str, int] = {}
    user_max_jobs_default: int = NO_LIMIT
    pool_max_jobs_default: int = NO_LIMIT
    default_mode: Mode = "fair"
    default_min_share_timeout_ms: int = NEVER_MS
    fair_share_timeout_ms: int = NEVER_MS


class PoolsSettings(msgspec.Struct, frozen=True):
    """All settings of the pool scheduler.

    `generation` is the release that decides: "0.19" and "0.20" use deficits, "1.2" has preemption
    and delay scheduling. `strict` asks for Hadoop's behaviour where it looks like a defect. `fifo`
    is the switch of the old scheduler page (Hadoop: FairSchedulerServlet). `defaults` are the
    site's own values of properties that a job may set, as they are written.
    """

    types: ResourceTypes = TYPES
    minimum_allocation: Resource = (0, 0, 0, 0)  # for asks that name no memory or vcores
    maximum_allocation: Resource = (UNBOUNDED,) * 4
    generation: Generation = "0.19"
    allocations: PoolAllocations = PoolAllocations()
    pool_property: str = ""  # empty: that of the generation
    allow_undeclared_pools: bool = True
    assign_multiple: bool | None = None  # None: that of the generation
    maps_per_heartbeat: int = -1
    reduces_per_heartbeat: int = -1
    size_based_weight: bool = False
    weight_adjuster: str = NO_ADJUSTER
    booster_factor: float = 3.0
    booster_duration_ms: int = 300_000
    boost_from: Literal["submission", "first-task"] = "submission"
    load_manager: str = DEFAULT_LOAD_MANAGER
    load_max_difference: float = 0.0
    update_interval_ms: int = 500
    preemption: bool = False
    preemption_only_log: bool = False
    preemption_interval_ms: int = 15_000
    locality_delay_ms: int = -1  # -1: follows the master's heartbeat interval
    locality_delay_node_ms: int | None = None
    locality_delay_rack_ms: int | None = None
    heartbeats_per_second: int = 100
    heartbeat_scaling: float = 1.0
    wait_for_maps: bool = True  # "0.20": reduces wait for a part of the maps (HADOOP-4666)
    strict: bool = False
    fifo: bool = False
    hierarchical: bool = False
    scale_min_shares: bool = False
    priority_factors: tuple[float, ...] = FACTORS
    acl_enabled: bool = False
    administrators: str = "*"  # yarn.admin.acl; counts only with acl_enabled
    master_max_attempts: int = 2
    defaults: dict[str, str] = {}
    fairness: Fairness = OFF
    time_limits: dict[str, TimeLimit] = {}  # of tasks, by queue
    bookings: BookingRules = RULES

    @property
    def deficits(self) -> bool:
        """Whether jobs accumulate deficits."""
        return self.generation != "1.2"

    @property
    def assigns_multiple(self) -> bool:
        """Whether a heartbeat may grant more than one task."""
        return not self.deficits if self.assign_multiple is None else self.assign_multiple

    def allocation(self, pool: str) -> PoolAllocation:
        """The settings of a pool, named in the file or not."""
        return self.allocations.pools.get(pool) or PoolAllocation(pool)

    def max_running_jobs(self, pool: str) -> int:
        """The limit of running jobs of a pool (Hadoop: PoolManager.getPoolMaxJobs)."""
        own = self.allocation(pool).max_running_jobs
        if own is not None:
            return own
        return NO_LIMIT if self.deficits else self.allocations.pool_max_jobs_default

    def user_max_running_jobs(self, user: str) -> int:
        """The limit of running jobs of a user (Hadoop: PoolManager.getUserMaxJobs)."""
        allocations = self.allocations
        return allocations.user_max_jobs.get(user, allocations.user_max_jobs_default)

    def min_share_timeout_ms(self, pool: str) -> int:
        """How long a pool may be below its minimum before tasks of others are killed for it."""
        own = self.allocation(pool).min_share_timeout_ms
        return self.allocations.default_min_share_timeout_ms if own is None else own

    def mode(self, pool: str) -> Mode:
        """The order of a pool's jobs according to the file."""
        return self.allocation(pool).mode or self.allocations.default_mode
