"""The Fair Scheduler's settings as frozen data.

Vectors are in the order of `FairSettings.types`. Times are in milliseconds here, even where the
file uses seconds. Floats that Hadoop keeps in 32 bits are already rounded to 32 bits.
"""

import msgspec

from fairshare.core.model.bookings import RULES, BookingRules
from fairshare.core.model.resources import NO_LIMIT, UNBOUNDED, Resource, ResourceTypes
from fairshare.core.model.time_limits import TimeLimit
from fairshare.core.model.usage import OFF, Fairness
from fairshare.core.placement.rules import RuleSettings

__all__ = ["AllocationSettings", "Amount", "FairSettings", "QueueSettings", "RuleSettings"]


NEVER_MS = UNBOUNDED
"""A timeout that never expires."""


class Amount(msgspec.Struct, frozen=True, array_like=True):
    """Resources that are absolute, or fractions of the cluster's total at the time of use.

    Exactly one of the two is set. `fractions` are doubles, 0.5 for `50%`.
    """

    absolute: Resource | None = None
    fractions: tuple[float, ...] | None = None

    def resolve(self, cluster: Resource) -> Resource:
        """The integers for this cluster: `trunc(total * fraction)`
        (Hadoop: ConfigurableResource.getResource).

        >>> Amount(fractions=(0.5, 0.25)).resolve((10240, 10))
        (5120, 2)
        """
        if self.absolute is not None:
            return self.absolute
        assert self.fractions is not None
        return tuple(int(t * f) for t, f in zip(cluster, self.fractions, strict=True))


class QueueSettings(msgspec.Struct, frozen=True):
    """The allocation file's settings of one queue; None where unset
    (Hadoop: AllocationFileQueueParser)."""

    name: str  # full name, root.a.b
    parent: bool = False  # a configured parent, else a configured leaf
    min_share: Resource | None = None
    max_share: Amount | None = None
    max_child_share: Amount | None = None
    max_container: Resource | None = None
    max_running_applications: int | None = None
    max_master_share: float | None = None
    weight: float = 1.0
    policy: str | None = None  # fair, fifo, drf or a registered name, lower case
    submit_acl: str | None = None
    administer_acl: str | None = None
    min_share_timeout_ms: int | None = None
    fair_share_timeout_ms: int | None = None
    fair_share_threshold: float | None = None
    preemptable: bool = True
    reservable: bool = False


class AllocationSettings(msgspec.Struct, frozen=True):
    """The allocation file (fair-scheduler.xml), or the defaults without one."""

    queues: dict[str, QueueSettings] = {}  # by full name, in the order of the file
    user_max_applications: dict[str, int] = {}
    user_max_applications_default: int = NO_LIMIT
    queue_max_applications_default: int = NO_LIMIT
    queue_max_share_default: Amount | None = None  # None: unbounded
    queue_max_master_share_default: float = 0.5
    fair_share_timeout_ms: int = NEVER_MS
    min_share_timeout_ms: int = NEVER_MS
    fair_share_threshold: float = 0.5
    default_policy: str = "fair"
    rules: tuple[RuleSettings, ...] | None = None  # None: derived from yarn-site
    from_file: bool = False  # False: there is no allocation file


class FairSettings(msgspec.Struct, frozen=True):
    """All settings of the Fair Scheduler (Hadoop: FairSchedulerConfiguration,
    AllocationFileLoaderService)."""

    types: ResourceTypes = ResourceTypes()
    minimum_allocation: Resource = (1024, 1)
    maximum_allocation: Resource = (8192, 4)
    increment_allocation: Resource = (1024, 1)  # 0: no increment
    maximum_override_delay_ms: int = 10_000  # scheduling-wait-ms
    user_as_default_queue: bool = True
    allow_undeclared_pools: bool = True
    preemption: bool = False
    preemption_utilization_threshold: float = 0.8
    master_preemption: bool = True
    master_preemption_queues: dict[str, bool] = {}
    wait_before_kill_ms: int = 15_000
    wait_before_next_starvation_check_ms: int = 10_000
    size_based_weight: bool = False
    assign_multiple: bool = False
    dynamic_max_assign: bool = True
    max_assign: int = -1
    locality_threshold_node: float = -1.0
    locality_threshold_rack: float = -1.0
    continuous_scheduling: bool = False
    continuous_scheduling_sleep_ms: int = 5
    locality_delay_node_ms: int = -1
    locality_delay_rack_ms: int = -1
    update_interval_ms: int = 500
    reservable_nodes: float = 0.05
    entitled_after_ms: int | None = None
    reservation_threshold_multiple: float = 2.0
    acl_enabled: bool = False
    administrators: str = "*"  # yarn.admin.acl; counts only with acl_enabled
    heartbeat_interval_ms: int = 1_000
    master_max_attempts: int = 2  # yarn.resourcemanager.am.max-attempts
    allocations: AllocationSettings = AllocationSettings()
    tag_users: tuple[str, ...] = ()  # users whose applications are placed by their tags
    fairness: Fairness = OFF
    time_limits: dict[str, TimeLimit] = {}  # of tasks, by queue
    bookings: BookingRules = RULES
