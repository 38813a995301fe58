"""Owns the settings of the pools file: one row for each, of a pool and of the whole file.

`file.py` reads by these tables; the form of the configuration page and docs/reference/pools.md come
from them. To add a setting, add its field to `PoolAllocation` or `PoolAllocations` and a row here.
"""

from typing import Final

from fairshare.config import literals
from fairshare.families.setting import Setting, by_name, form_fields


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
    Setting(
        name="weight",
        field="weight",
        meaning="The share of this pool beside the others: twice the weight, twice the share.",
        unwritten="1",
        read=_weight,
        title="Weight",
        example="2.0",
        since="0.20",
    ),
    Setting(
        name="minMaps",
        field="min_maps",
        meaning="Map slots that the pool receives before others receive more than theirs.",
        unwritten="0",
        read=literals.integer,
        title="Min Maps",
        example="10",
        since="0.19",
    ),
    Setting(
        name="minReduces",
        field="min_reduces",
        meaning="Reduce slots that the pool receives before others receive more than theirs.",
        unwritten="0",
        read=literals.integer,
        title="Min Reduces",
        example="5",
        since="0.19",
    ),
    Setting(
        name="maxMaps",
        field="max_maps",
        meaning="The most map slots that the pool may use.",
        unwritten="no limit",
        read=literals.integer,
        title="Max Maps",
        example="50",
        since="1.2",
    ),
    Setting(
        name="maxReduces",
        field="max_reduces",
        meaning="The most reduce slots that the pool may use.",
        unwritten="no limit",
        read=literals.integer,
        title="Max Reduces",
        example="20",
        since="1.2",
    ),
    Setting(
        name="maxRunningJobs",
        field="max_running_jobs",
        meaning="The most jobs of the pool that run at once.",
        unwritten="poolMaxJobsDefault",
        read=literals.integer,
        title="Max Running Jobs",
        example="20",
        since="0.19",
    ),
    Setting(
        name="schedulingMode",
        field="mode",
        meaning="How the pool divides its share among its jobs.",
        unwritten="defaultPoolSchedulingMode, or fair",
        read=_mode,
        title="Scheduling Mode",
        choices=("fair", "fifo"),
        since="1.2",
    ),
    Setting(
        name="minSharePreemptionTimeout",
        field="min_share_timeout_ms",
        meaning="Seconds below its minimum after which tasks of other pools are killed.",
        unwritten="defaultMinSharePreemptionTimeout",
        read=_seconds,
        title="Min Share Preemption Timeout (s)",
        example="300",
        since="1.2",
    ),
)
"""The settings of a pool, in the order of the form."""

FILE: Final = (
    Setting(
        name="userMaxJobsDefault",
        field="user_max_jobs_default",
        meaning="The most jobs of a user that run at once, if no `<user>` names the user.",
        unwritten="no limit",
        read=literals.integer,
        scope="cluster",
        example="5",
        since="0.19",
    ),
    Setting(
        name="poolMaxJobsDefault",
        field="pool_max_jobs_default",
        meaning="maxRunningJobs of pools without one.",
        unwritten="no limit",
        read=literals.integer,
        scope="cluster",
        example="20",
        since="1.2",
    ),
    Setting(
        name="defaultPoolSchedulingMode",
        field="default_mode",
        meaning="schedulingMode of pools without one.",
        unwritten="fair",
        read=_mode,
        scope="cluster",
        choices=("fair", "fifo"),
        since="1.2",
    ),
    Setting(
        name="defaultMinSharePreemptionTimeout",
        field="default_min_share_timeout_ms",
        meaning="minSharePreemptionTimeout of pools without one, in seconds.",
        unwritten="never",
        read=_seconds,
        scope="cluster",
        example="300",
        since="1.2",
    ),
    Setting(
        name="fairSharePreemptionTimeout",
        field="fair_share_timeout_ms",
        meaning="Seconds below half of its fair share after which tasks of other pools are killed.",
        unwritten="never",
        read=_seconds,
        scope="cluster",
        example="600",
        since="1.2",
    ),
)
"""The settings at the top of the file."""

POOL_BY_NAME: Final = by_name(POOL)
FILE_BY_NAME: Final = by_name(FILE)
USER_BY_NAME: Final = {"maxRunningJobs": POOL_BY_NAME["maxRunningJobs"]}
FORM: Final = form_fields(POOL)
