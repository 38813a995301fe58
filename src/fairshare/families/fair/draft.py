"""Owns drafts of fair-scheduler.xml: the settings of a queue that a form offers."""

from typing import Final

from fairshare.families.draft import Field
from fairshare.families.element_draft import ElementDraft
from fairshare.model.queues import ROOT

_SWITCH: Final = ("true", "false")
_FIELDS = (
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
)  # fmt: skip

DRAFT: Final = ElementDraft(_FIELDS, "queue", ROOT)
