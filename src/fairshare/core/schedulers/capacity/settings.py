"""The Capacity Scheduler's settings as frozen data.

All values are as configured: the core computes what is inherited, derived or defaulted, so that a
reload is judged as a whole. None means that the file does not set the value. Floats that Hadoop
keeps in 32 bits are already rounded to 32 bits (Hadoop: QueueCapacities), so that 0.7 is
0.699999988079071. Vectors are in the order of `CapacitySettings.types`.
"""

import enum

import msgspec

from fairshare.core.model.bookings import RULES, BookingRules
from fairshare.core.model.resources import NO_LIMIT, Resource, ResourceTypes
from fairshare.core.model.time_limits import TimeLimit
from fairshare.core.model.usage import OFF, Fairness
from fairshare.core.placement.mapping import MappingAction, MappingFallback, MappingRule, Matcher

__all__ = [
    "ALL_LABELS",
    "NO_LIMIT",
    "PARENT_POLICIES",
    "UNSET",
    "Amount",
    "Capacity",
    "CapacitySettings",
    "IntraQueuePreemption",
    "LabelCapacity",
    "MappingAction",
    "MappingFallback",
    "MappingRule",
    "Matcher",
    "MonitorSettings",
    "Percentage",
    "PriorityRule",
    "QueueSettings",
    "Template",
    "Unit",
    "Vector",
    "Weight",
    "WorkflowPriority",
]

UNSET = -1
"""A number that means that nothing is set (Hadoop: CapacitySchedulerConfiguration.UNDEFINED)."""


ALL_LABELS = "*"
"""In `accessible_labels`: every label."""


class Unit(enum.StrEnum):
    """The unit of a number in a capacity vector."""

    ABSOLUTE = "absolute"
    PERCENTAGE = "percentage"
    WEIGHT = "weight"


class Amount(msgspec.Struct, frozen=True, array_like=True):
    """One type's part of a capacity vector: `50%` is (50.0, PERCENTAGE), `4` is (4, ABSOLUTE).

    Absolute amounts are integers in the type's unit (memory in MB).
    """

    value: int | float
    unit: Unit = Unit.ABSOLUTE


class Percentage(msgspec.Struct, frozen=True, tag="percentage"):
    """`12.5`: a percentage of the parent's capacity, as a 32-bit float; not yet divided by 100."""

    percent: float


class Weight(msgspec.Struct, frozen=True, tag="weight"):
    """`3w`: a part of the parent's capacity in proportion to the siblings' weights."""

    weight: float


class Vector(msgspec.Struct, frozen=True, tag="vector"):
    """`[memory=10240,vcores=10]`, or `[memory=50%,vcores=2w]` without the legacy mode
    (Hadoop: QueueCapacityVector).

    One amount for each resource type, in order; a type that the text does not name is an absolute
    0. In legacy mode all amounts are absolute (another unit is an error in the file).
    """

    amounts: tuple[Amount, ...]

    @property
    def absolute(self) -> Resource | None:
        """The integers, if all amounts are absolute."""
        if any(amount.unit != Unit.ABSOLUTE for amount in self.amounts):
            return None
        return tuple(int(amount.value) for amount in self.amounts)


Capacity = Percentage | Weight | Vector


def is_unset(capacity: Capacity | None) -> bool:
    """Whether a queue created on demand has weight 1 in place of its template's capacity: as in
    Hadoop also if that is a vector without memory."""
    if isinstance(capacity, Vector):
        return not capacity.amounts[0].value
    return capacity is None


class LabelCapacity(msgspec.Struct, frozen=True):
    """`accessible-node-labels.<label>.*` of one queue
    (Hadoop: CapacitySchedulerConfiguration.getAccessibleNodeLabels); fractions as in
    QueueSettings."""

    capacity: Capacity | None = None
    maximum_capacity: Capacity | None = None
    maximum_master_share: float | None = None


class PriorityRule(msgspec.Struct, frozen=True):
    """One group `[user=... group=... max_priority=7 default_priority=4]` of a priority list
    (Hadoop: AppPriorityACLConfigurationParser).

    `acl` is a list in Hadoop's form, `user1,user2 group1,group2`; `*` allows all users. As in
    Hadoop the first of `user=` and `group=` in the text gives the users; the reader that
    converts the text to `acl` decides this.
    """

    acl: str
    maximum_priority: int
    default_priority: int = 0


PARENT_POLICIES = ("utilization", "priority-utilization")
"""The ordering policies of parent queues."""


class QueueSettings(msgspec.Struct, frozen=True):
    """The file's settings of one queue, or a template's for queues to be created; None: unset
    (Hadoop: CapacitySchedulerConfiguration).

    `children` are short names in the file's order. Fractions (`maximum_master_share`) are parts of
    1; `minimum_user_limit_percent` is a percentage. `ordering_policy` is the keyword or class name
    of the file, converted to the keyword for Hadoop's own classes. `maximum_allocation` has the
    named types only.
    """

    children: tuple[str, ...] | None = None
    capacity: Capacity | None = None
    maximum_capacity: Capacity | None = None
    minimum_user_limit_percent: float | None = None
    user_limit_factor: float | None = None
    user_weights: dict[str, float] = {}
    maximum_applications: int | None = None
    maximum_parallel_applications: int | None = None
    maximum_master_share: float | None = None
    ordering_policy: str | None = None
    size_based_weight: bool | None = None  # ordering-policy.fair.enable-size-based-weight
    # of fifo-with-partitions (Hadoop: FifoOrderingPolicyWithExclusivePartitions)
    enforced_partitions: tuple[str, ...] | None = None
    priority: int | None = None
    default_application_priority: int | None = None
    state: str | None = None  # upper case, as configured; the core refuses invalid ones
    submit_acl: str | None = None
    administer_acl: str | None = None
    priority_rules: tuple[PriorityRule, ...] | None = None  # acl_application_max_priority
    maximum_allocation_mb: int | None = None
    maximum_allocation_vcores: int | None = None
    maximum_allocation: dict[str, int] | None = None
    preemption_disabled: bool | None = None
    intra_queue_preemption_disabled: bool | None = None
    maximum_lifetime_s: int | None = None
    default_lifetime_s: int | None = None
    allow_zero_capacity_sum: bool | None = None
    accessible_labels: tuple[str, ...] | None = None  # ("*",): all
    label_capacities: dict[str, LabelCapacity] = {}
    default_label_expression: str | None = None
    # Auto-creation (Hadoop: AutoCreatedQueueTemplate, AutoCreatedLeafQueueConfig). Of a queue only,
    # never of a template.
    dynamic_children: bool | None = None  # auto-queue-creation-v2.enabled
    maximum_dynamic_children: int | None = None  # auto-queue-creation-v2.max-queues
    maximum_queue_depth: int | None = None  # auto-queue-creation-v2.maximum-queue-depth
    remove_dynamic: bool | None = None  # auto-queue-creation-v2.queue-auto-removal.enable
    legacy_dynamic_leaves: bool | None = None  # auto-create-child-queue.enabled
    legacy_fail_on_exceeding: bool | None = None  # ...fail-on-exceeding-parent-capacity
    legacy_maximum_leaves: int | None = None  # auto-create-child-queue.max-queues
    # Of templates and of queues to be created: what cannot be read, by `leaf:FIELD` (it keeps
    # leaves from being created), `parent:FIELD`, and of any queue `maker:FIELD` (children).
    unreadable: dict[str, str] = {}


class Template(msgspec.Struct, frozen=True):
    """The settings that a parent gives to queues created below it
    (Hadoop: AutoCreatedQueueTemplate).

    `common` applies to leaves and parents; `leaf` and `parent` apply to one kind and take
    precedence. `legacy_leaf` is the older `leaf-queue-template.*`.
    """

    common: QueueSettings = QueueSettings()
    leaf: QueueSettings = QueueSettings()
    parent: QueueSettings = QueueSettings()
    legacy_leaf: QueueSettings = QueueSettings()


class WorkflowPriority(msgspec.Struct, frozen=True):
    """One entry of `workflow-priority-mappings`: workflow, queue (full path), priority."""

    workflow: str
    queue: str
    priority: int


class IntraQueuePreemption(msgspec.Struct, frozen=True):
    """`intra-queue-preemption.*` of the monitor (Hadoop: IntraQueueCandidatesSelector)."""

    enabled: bool = False
    minimum_threshold: float = 0.5  # 32-bit
    max_allowable_limit: float = 0.20000000298023224  # 32-bit
    order: str = "userlimit_first"  # or priority_first; lower case
    conservative_drf: bool = True


class MonitorSettings(msgspec.Struct, frozen=True):
    """The preemption monitor: `yarn.resourcemanager.monitor.capacity.preemption.*`
    (Hadoop: ProportionalCapacityPreemptionPolicy)."""

    enabled: bool = False  # the monitor is on, and the proportional policy among its policies
    monitor_on: bool = False  # yarn.resourcemanager.scheduler.monitor.enable alone
    observe_only: bool = False
    interval_ms: int = 3_000
    wait_before_kill_ms: int = 15_000
    total_per_round: float = 0.10000000149011612  # 32-bit, part of the cluster
    max_ignored_over_capacity: float = 0.1  # a double
    natural_termination_factor: float = 0.2  # a double
    select_reserved: bool = False  # select_based_on_reserved_containers
    balance_reserved: bool = False  # additional_res_balance_based_on_reserved_containers
    balance_after_satisfied: bool = False  # preemption-to-balance-queue-after-satisfied.enabled
    balance_wait_before_kill_ms: int = 300_000
    conservative_drf: bool = False
    intra_queue: IntraQueuePreemption = IntraQueuePreemption()
    # yarn.scheduler.capacity.ordering-policy.priority-utilization.underutilized-preemption.*
    underutilized: bool = False
    underutilized_delay_ms: int = 60_000
    underutilized_move_reservation: bool = False
    auto_removal: bool = False  # the policies include the one that deletes idle dynamic queues
    legacy_queue_management: bool = False  # they include the one that gives legacy leaves capacity
    legacy_interval_ms: int = 1_500  # ...capacity.queue-management.monitoring-interval


class CapacitySettings(msgspec.Struct, frozen=True):
    """All settings of the Capacity Scheduler (Hadoop: CapacitySchedulerConfiguration). Queues by
    full path, `root` among them.

    `queues` has a queue if the file sets anything of it, children lists included; names in a
    children list without an entry of their own have QueueSettings() (the reader need not add them).
    Entries of paths that no children list leads to are kept too: they apply to a queue when it is
    created on demand.
    """

    types: ResourceTypes = ResourceTypes()
    queues: dict[str, QueueSettings] = {}
    # by owner's path, in which parts may be `*` (Hadoop: AutoCreatedQueueTemplate)
    templates: dict[str, Template] = {}
    # yarn-site.xml
    minimum_allocation: Resource = (1024, 1)
    maximum_allocation: Resource = (8192, 4)
    maximum_override_delay_ms: int = 10_000  # work-preserving-recovery.scheduling-wait-ms
    maximum_application_priority: int = 0  # yarn.cluster.max-application-priority
    acl_enabled: bool = False
    administrators_acl: str = "*"
    master_max_attempts: int = 2
    heartbeat_interval_ms: int = 1_000
    monitor: MonitorSettings = MonitorSettings()
    # capacity-scheduler.xml, global
    dominant: bool = False  # DominantResourceCalculator, else memory only
    maximum_applications: int = 10_000
    queue_maximum_applications: int = -1  # global-queue-max-application
    maximum_master_share: float = 0.10000000149011612  # 32-bit
    maximum_parallel_applications: int = NO_LIMIT
    user_maximum_parallel_applications: int = NO_LIMIT
    users_maximum_parallel_applications: dict[str, int] = {}
    minimum_user_limit_percent: float = 100.0
    user_limit_factor: float = 1.0
    node_locality_delay: int = 40
    rack_locality_additional_delay: int = -1
    rack_locality_full_reset: bool = True
    continue_looking: bool = True  # reservations-continue-look-all-nodes
    multiple_assignments: bool = True
    maximum_assignments: int = 100  # -1: no limit
    maximum_off_switch_assignments: int = 1
    mappings: tuple[MappingRule, ...] = ()
    mappings_override: bool = False
    workflow_priorities: tuple[WorkflowPriority, ...] = ()
    workflow_priorities_override: bool = False
    workflow_tag_prefix: str = "workflowid:"  # yarn.workflow-id.tag-prefix
    legacy_queue_mode: bool = True
    lazy_preemption: bool = False
    maximum_queue_depth: int = 2  # auto-queue-creation-v2.maximum-queue-depth
    queue_expiration_ms: int = 300_000  # auto-queue-creation-v2.queue-expiration-time
    # Node labels (Hadoop: RMNodeLabelsManager): exclusive or not, by name. Administrators may add
    # more; nodes may report theirs in their attributes.
    labels: dict[str, bool] = {}
    label_of_node: dict[str, str] = {}
    labels_enabled: bool = False  # yarn.node-labels.enabled
    labels_distributed: bool = False  # yarn.node-labels.configuration-type: nodes report theirs
    master_default_label: str | None = None  # yarn.resourcemanager.node-labels.am.default-...
    master_may_borrow: bool = False  # ...node-labels.am.allow-non-exclusive-allocation
    # New fields come last: the oldest snapshots identify values by position.
    reservations: bool = True  # reserve nodes for asks that do not fit yet: docs/decisions/0007
    tag_users: tuple[str, ...] = ()  # users whose applications are placed by their tags
    fairness: Fairness = OFF
    time_limits: dict[str, TimeLimit] = {}  # of tasks, by queue
    bookings: BookingRules = RULES
