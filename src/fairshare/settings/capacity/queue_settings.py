"""The settings of one queue of capacity-scheduler.xml: one row for each.

`tree.py` reads by these tables; known names, the form of the configuration page, lint of settings
of leaf and parent queues and docs/reference/capacity-scheduler.md come from them. To add a setting,
add its field to `QueueSettings` and a row here.
"""

from collections.abc import Callable
from typing import Any, Final

from fairshare.documents.problems import Problems
from fairshare.settings.capacity.queue_values import QueueValues
from fairshare.settings.setting import Setting, form_fields

Read = Callable[[QueueValues, str], Any]


def _on(values: QueueValues, name: str) -> Any:
    return values.boolean(name, default=True)


# Hadoop asks for some properties only of leaves, and for others only to make a queue.


def _of_leaf(read: Read) -> Read:
    return lambda values, name: read(values if values.kind == "leaf" else values.forgiving(), name)


def _integer_of_parent(values: QueueValues, name: str) -> Any:
    return (values if values.kind == "parent" else values.forgiving()).integer(name)


def _integer_to_make(values: QueueValues, name: str) -> Any:
    # What is wrong is reported by the reader of what keeps queues from being created.
    return (values if values.kind == "maker" else values.aside(Problems())).integer(name)


_SWITCH: Final = ("true", "false")

CHILDREN: Final = Setting(
    "queues", "children", QueueValues.children, "none",
    "The short names of the child queues, separated by commas.", "a,b",
)  # fmt: skip

SETTINGS: Final = (
    CHILDREN,
    Setting("capacity", "capacity", QueueValues.capacity, "0",
        "The guarantee: a percentage of the parent's, a weight relative to siblings, or amounts.",
        "40, 2w or [memory=4096,vcores=4]", "Configured Capacity"),
    Setting("maximum-capacity", "maximum_capacity", QueueValues.maximum, "100",
        "The maximum usage of the queue, as a percentage of the parent's or as amounts.",
        "60", "Configured Max Capacity"),
    Setting("state", "state", QueueValues.state, "RUNNING",
        "Whether the queue accepts applications.", "", "State", choices=QueueValues.STATES),
    Setting("user-limit-factor", "user_limit_factor", _of_leaf(QueueValues.single), "1",
        "The maximum usage of one user, as a multiple of the queue's capacity; -1 for unlimited.",
        "2", "User Limit Factor", "leaf"),
    Setting("minimum-user-limit-percent", "minimum_user_limit_percent",
        _of_leaf(QueueValues.single), "100",
        "The minimum percentage of the queue for each user, regardless of the number of users.",
        "25", "Minimum User Limit Percent", "leaf"),
    Setting("maximum-am-resource-percent", "maximum_master_share", QueueValues.single, "0.1",
        "The fraction of the queue that ApplicationMasters may use.",
        "0.2", "Max AM Resource Percent", "leaf"),
    Setting("maximum-applications", "maximum_applications", _of_leaf(QueueValues.integer),
        "its part of 10000", "The maximum number of applications of the queue, including pending"
        " ones.",
        "500", "Max Applications", "leaf"),
    Setting("max-parallel-apps", "maximum_parallel_applications", QueueValues.exact_integer,
        "no limit",
        "The maximum number of running applications of the"
        " queue.", "20", "Max Parallel Applications"),
    Setting("ordering-policy", "ordering_policy", QueueValues.ordering_policy,
        "fifo, or utilization",
        "The order of a leaf's applications, or of a parent's children. Leaf queues also support"
        " fifo-with-partitions and"
        " fifo-for-pending-apps.", "", "Ordering Policy",
        choices=("fifo", "fair", "utilization", "priority-utilization")),
    Setting("ordering-policy.fair.enable-size-based-weight", "size_based_weight",
        QueueValues.boolean,
        "false", "With ordering-policy fair: whether an application's share grows with its demand.",
        scope="leaf", choices=_SWITCH),
    Setting("ordering-policy.exclusive-enforced-partitions", "enforced_partitions",
        QueueValues.strings, "none",
        "With fifo-with-partitions: partitions whose applications have a separate order.",
        "gpu,ssd"),
    Setting("priority", "priority", QueueValues.integer, "0",
        "The queue's priority, for a parent with ordering-policy priority-utilization.",
        "5", "Priority"),
    Setting("disable_preemption", "preemption_disabled", QueueValues.boolean, "its parent's",
        "Whether no container of this queue is preempted for other queues.",
        "", "Preemption Disabled", choices=_SWITCH),
    Setting("intra-queue-preemption.disable_preemption", "intra_queue_preemption_disabled",
        QueueValues.boolean, "its parent's",
        "Whether no container of this queue is preempted for applications of the same queue.",
        choices=_SWITCH),
    Setting("default-application-priority", "default_application_priority",
        _of_leaf(QueueValues.integer), "0",
        "The priority of applications that are submitted without one.",
        "3", "Default Application Priority", "leaf"),
    Setting("maximum-application-lifetime", "maximum_lifetime_s", QueueValues.long, "none",
        "Seconds after which an application is killed at the latest.",
        "86400", "Max Application Lifetime (s)"),
    Setting("default-application-lifetime", "default_lifetime_s", QueueValues.long, "the maximum",
        "Seconds after which an application that was submitted without a lifetime is killed.",
        "3600"),
    Setting("acl_submit_applications", "submit_acl", QueueValues.text, "the list of its parent",
        "Users and groups that may submit applications: `user1,user2 group1,group2`.",
        "ann,bob staff", "Users That May Submit"),
    Setting("acl_administer_queue", "administer_acl", QueueValues.text, "the list of its parent",
        "Users and groups that may kill and move the queue's applications.",
        "ann staff", "Administrators"),
    Setting("acl_application_max_priority", "priority_rules", QueueValues.priority_rules,
        "no restriction", "The highest priority that users and groups may choose.",
        "[user=ann group=dev max_priority=7 default_priority=4]", scope="leaf"),
    Setting("maximum-allocation-mb", "maximum_allocation_mb", QueueValues.long, "the cluster's",
        "The maximum memory of one container, in MB.", "4096"),
    Setting("maximum-allocation-vcores", "maximum_allocation_vcores", QueueValues.integer,
        "the cluster's", "The maximum number of vcores of one container.", "4"),
    Setting("maximum-allocation", "maximum_allocation", QueueValues.largest_container,
        "the two above", "The maximum size of a container, by resource"
        " types.", "memory-mb=4G,vcores=2"),
    Setting("allow-zero-capacity-sum", "allow_zero_capacity_sum", QueueValues.boolean, "false",
        "Whether the capacities of the children may all be 0.", scope="parent", choices=_SWITCH),
    Setting("accessible-node-labels", "accessible_labels", QueueValues.accessible_labels,
        "its parent's", "The node labels whose nodes the queue may use; `*` for all.", "gpu,ssd"),
    Setting("default-node-label-expression", "default_label_expression", QueueValues.trimmed,
        "its parent's", "The node label of requests that name none.", "gpu"),
    Setting("auto-queue-creation-v2.enabled", "dynamic_children", QueueValues.boolean, "false",
        "Whether submissions create queues below this one.", choices=_SWITCH),
    Setting("auto-queue-creation-v2.max-queues", "maximum_dynamic_children",
        _integer_to_make, "1000", "The maximum number of queues that submissions"
        " create below this one.",
        "50", scope="parent"),
    Setting(
        "auto-queue-creation-v2.maximum-queue-depth", "maximum_queue_depth",
        _integer_of_parent, "the scheduler's",
        "The maximum number of levels of queues that a submission may create.", "3", scope="parent",
    ),
    Setting("auto-queue-creation-v2.queue-auto-removal.enable", "remove_dynamic", _on, "true",
        "Whether this queue, if a submission created it, is removed when it is idle.",
        choices=_SWITCH),
    Setting("auto-create-child-queue.enabled", "legacy_dynamic_leaves", QueueValues.boolean,
        "false",
        "Legacy auto-creation: whether leaf queues are created below this one for mappings.",
        choices=_SWITCH),
    Setting("auto-create-child-queue.max-queues", "legacy_maximum_leaves",
        _integer_to_make, "1000", "Legacy auto-creation: the maximum number of leaf"
        " queues below this one.",
        "50", scope="parent"),
    Setting("auto-create-child-queue.fail-on-exceeding-parent-capacity",
        "legacy_fail_on_exceeding", QueueValues.boolean, "false",
        "Legacy auto-creation: whether leaf queues above the parent's capacity are rejected.",
        scope="parent", choices=_SWITCH),
)  # fmt: skip
"""The settings of a queue, in the order of the form and of the reference page."""

USER_WEIGHT: Final = Setting(
    "weight", "user_weights", QueueValues.single, "1",
    "The share of this user relative to other users of the queue.", "1.5",
)  # fmt: skip
"""`user-settings.USER.weight` of a queue."""

LABEL: Final = (
    Setting("capacity", "capacity", QueueValues.label_capacity, "0",
        "The queue's guarantee in the partition, like `capacity`.", "40"),
    Setting("maximum-capacity", "maximum_capacity", QueueValues.label_maximum, "100",
        "The maximum usage of the queue in the partition, like `maximum-capacity`.", "60"),
    Setting("maximum-am-resource-percent", "maximum_master_share", QueueValues.single,
        "the queue's", "The fraction of it that ApplicationMasters may use.", "0.2"),
)  # fmt: skip
"""`accessible-node-labels.LABEL.*` of a queue: its settings for one partition."""


def _template(name: str, field: str, meaning: str) -> Setting:
    return Setting(name, field, QueueValues.text, "nothing", meaning, scope="parent")


TEMPLATE: Final = (
    _template(
        "auto-queue-creation-v2.template", "common",
        "Properties of created queues, both leaf and parent queues.",
    ),
    _template(
        "auto-queue-creation-v2.leaf-template", "leaf",
        "Properties of created leaf queues, which override the template above.",
    ),
    _template(
        "auto-queue-creation-v2.parent-template", "parent",
        "Properties of created parent queues, which override the template of both.",
    ),
    _template(
        "leaf-queue-template", "legacy_leaf", "Legacy auto-creation: properties of created leaf"
        " queues.",
    ),
)  # fmt: skip
"""`TEMPLATE.SETTING` of a queue: settings of the queues that submissions create below it."""

READ_TO_MAKE: Final = tuple(
    one for one in SETTINGS if one.field in ("maximum_dynamic_children", "legacy_maximum_leaves")
)
"""What is read of a queue only when another one is made below it."""

READ_AT_START: Final = frozenset({"capacity", "maximum-capacity", "maximum-am-resource-percent"})
"""What Hadoop reads of the older template at its start, beside what it says of labels; the rest,
and all of the other templates, only when a queue is made."""

FORM: Final = form_fields(SETTINGS)
