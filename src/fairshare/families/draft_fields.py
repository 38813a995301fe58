"""Owns the settings of a queue that a form offers: their names in the file, what they are called in
YARN's pages, and what holds where nothing is written.

A file may say more; that is edited as text. Decides nothing.
"""

from typing import Final, Literal

import msgspec

from fairshare.families.draft import Kind


class Field(msgspec.Struct, frozen=True):
    """One setting. `hint` is an example of a value; `choices` are all values, if there are few."""

    name: str
    title: str
    unwritten: str
    hint: str = ""
    choices: tuple[str, ...] = ()
    where: Literal["any", "leaf", "parent"] = "any"


_SWITCH: Final = ("true", "false")

FIELDS: Final[dict[Kind, tuple[Field, ...]]] = {
    "fair": (
        Field("weight", "Weight", "1", "2.5"),
        Field("minResources", "Min Resources", "none", "memory-mb=8192, vcores=8"),
        Field("maxResources", "Max Resources", "queueMaxResourcesDefault", "50%"),
        Field("maxRunningApps", "Max Running Applications", "queueMaxAppsDefault", "50"),
        Field("maxAMShare", "Max AM Share", "queueMaxAMShareDefault, or 0.5", "0.3", where="leaf"),
        Field("schedulingPolicy", "Scheduling Policy", "defaultQueueSchedulingPolicy, or fair",
              choices=("fair", "drf", "fifo")),
        Field("maxContainerAllocation", "Max Container Allocation", "its parent's",
              "memory-mb=4096, vcores=4"),
        Field("maxChildResources", "Max Resources of Undeclared Children", "none", "20%",
              where="parent"),
        Field("fairSharePreemptionThreshold", "Fair Share Preemption Threshold",
              "its parent's, or 0.5", "0.5"),
        Field("fairSharePreemptionTimeout", "Fair Share Preemption Timeout (s)",
              "its parent's, or never", "60"),
        Field("minSharePreemptionTimeout", "Min Share Preemption Timeout (s)",
              "its parent's, or never", "30"),
        Field("allowPreemptionFrom", "Allow Preemption From", "true", choices=_SWITCH),
        Field("aclSubmitApps", "Who May Submit", "who may submit to its parent", "ann,bob staff"),
        Field("aclAdministerApps", "Who May Administer", "who administers its parent",
              "ann staff"),
    ),
    "capacity": (
        Field("capacity", "Configured Capacity", "0", "40, 2w or [memory=4096,vcores=4]"),
        Field("maximum-capacity", "Configured Max Capacity", "100", "60"),
        Field("state", "State", "RUNNING", choices=("RUNNING", "STOPPED")),
        Field("user-limit-factor", "User Limit Factor", "1", "2", where="leaf"),
        Field("minimum-user-limit-percent", "Minimum User Limit Percent", "100", "25",
              where="leaf"),
        Field("maximum-am-resource-percent", "Max AM Resource Percent", "0.1", "0.2",
              where="leaf"),
        Field("maximum-applications", "Max Applications", "its part of 10000", "500",
              where="leaf"),
        Field("max-parallel-apps", "Max Parallel Applications", "no limit", "20"),
        Field("ordering-policy", "Ordering Policy", "fifo, or utilization",
              choices=("fifo", "fair", "utilization", "priority-utilization")),
        Field("priority", "Priority", "0", "5"),
        Field("disable_preemption", "Preemption Disabled", "its parent's", choices=_SWITCH),
        Field("default-application-priority", "Default Application Priority", "0", "3",
              where="leaf"),
        Field("maximum-application-lifetime", "Max Application Lifetime (s)", "none", "86400",
              where="leaf"),
        Field("acl_submit_applications", "Who May Submit", "who may submit to its parent",
              "ann,bob staff"),
        Field("acl_administer_queue", "Who May Administer", "who administers its parent",
              "ann staff"),
    ),
    "pools": (
        Field("weight", "Weight", "1", "2.0"),
        Field("minMaps", "Min Maps", "0", "10"),
        Field("minReduces", "Min Reduces", "0", "5"),
        Field("maxMaps", "Max Maps", "no limit", "50"),
        Field("maxReduces", "Max Reduces", "no limit", "20"),
        Field("maxRunningJobs", "Max Running Jobs", "poolMaxJobsDefault", "20"),
        Field("schedulingMode", "Scheduling Mode", "defaultPoolSchedulingMode, or fair",
              choices=("fair", "fifo")),
        Field("minSharePreemptionTimeout", "Min Share Preemption Timeout (s)",
              "defaultMinSharePreemptionTimeout", "300"),
    ),
}  # fmt: skip
