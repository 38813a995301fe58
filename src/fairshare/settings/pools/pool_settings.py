"""The settings of the pools file: one row for each, of a pool and of the whole file.

`file.py` reads by these tables; the form of the configuration page and docs/reference/pools.md come
from them. To add a setting, add its field to `PoolAllocation` or `PoolAllocations` and a row here.
"""

from typing import Final

from fairshare.documents import literals
from fairshare.settings.draft import ElementDraft
from fairshare.settings.setting import Setting, by_name, form_fields


def _seconds(text: str) -> int:
    """Whole seconds, in milliseconds."""
    return literals.long(text) * 1_000


def _weight(text: str) -> float:
    weight = literals.double(text)
    if weight < 0.0:
        raise ValueError(f"{literals.trim(text)!r} is below 0: a weight is 0 or more")
    return weight


def _mode(text: str) -> str:
    mode = literals.trim(text).lower()
    if mode not in ("fair", "fifo"):
        raise ValueError(f"{literals.trim(text)!r} is not a scheduling mode: write fair or fifo")
    return mode


POOL: Final = (
    Setting("weight", "weight", _weight, "1",
        "The share of this pool relative to the others: twice the weight, twice the share.", "2.0",
        "Weight", since="0.20"),
    Setting("minMaps", "min_maps", literals.integer, "0",
        "Map slots that the pool receives before others receive more than theirs.", "10",
        "Min Maps", since="0.19"),
    Setting("minReduces", "min_reduces", literals.integer, "0",
        "Reduce slots that the pool receives before others receive more than theirs.", "5",
        "Min Reduces", since="0.19"),
    Setting("maxMaps", "max_maps", literals.integer, "no limit",
        "The maximum number of map slots of the pool.", "50", "Max Maps", since="1.2"),
    Setting("maxReduces", "max_reduces", literals.integer, "no limit",
        "The maximum number of reduce slots of the pool.", "20", "Max Reduces", since="1.2"),
    Setting("maxRunningJobs", "max_running_jobs", literals.integer, "poolMaxJobsDefault",
        "The maximum number of running jobs of the pool.", "20", "Max Running Jobs", since="0.19"),
    Setting("schedulingMode", "mode", _mode, "defaultPoolSchedulingMode, or fair",
        "How the pool divides its share among its jobs.", title="Scheduling Mode",
        choices=("fair", "fifo"), since="1.2"),
    Setting("minSharePreemptionTimeout", "min_share_timeout_ms", _seconds,
        "defaultMinSharePreemptionTimeout",
        "Seconds below its minimum after which tasks of other pools are killed.", "300",
        "Min Share Preemption Timeout (s)", since="1.2"),
)  # fmt: skip
"""The settings of a pool, in the order of the form."""

FILE: Final = (
    Setting("userMaxJobsDefault", "user_max_jobs_default", literals.integer, "no limit",
        "The maximum number of running jobs of a user, if no `<user>` names the user.", "5",
        scope="cluster", since="0.19"),
    Setting("poolMaxJobsDefault", "pool_max_jobs_default", literals.integer, "no limit",
        "maxRunningJobs of pools without one.", "20", scope="cluster", since="1.2"),
    Setting("defaultPoolSchedulingMode", "default_mode", _mode, "fair",
        "schedulingMode of pools without one.", scope="cluster", choices=("fair", "fifo"),
        since="1.2"),
    Setting("defaultMinSharePreemptionTimeout", "default_min_share_timeout_ms", _seconds, "never",
        "minSharePreemptionTimeout of pools without one, in seconds.", "300", scope="cluster",
        since="1.2"),
    Setting("fairSharePreemptionTimeout", "fair_share_timeout_ms", _seconds, "never",
        "Seconds below half of its fair share after which tasks of other pools are killed.", "600",
        scope="cluster", since="1.2"),
)  # fmt: skip
"""The settings at the top of the file."""

POOL_BY_NAME: Final = by_name(POOL)
FILE_BY_NAME: Final = by_name(FILE)
USER_BY_NAME: Final = {"maxRunningJobs": POOL_BY_NAME["maxRunningJobs"]}
DRAFT: Final = ElementDraft(form_fields(POOL), "pool", "")
"""Drafts of the file, with the form of these settings."""
