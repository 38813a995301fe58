"""Owns drafts of the pools file: the settings of a pool that a form offers."""

from typing import Final

from fairshare.families.draft import Field
from fairshare.families.element_draft import ElementDraft

_FIELDS = (
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
)  # fmt: skip

DRAFT: Final = ElementDraft(_FIELDS, "pool", "")
