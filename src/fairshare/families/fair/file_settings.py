"""Owns the settings at the top of the allocation file: defaults for all queues and users.

`allocation_file.py` reads by this table and `writing.py` writes by it. The placement policy, users
and queues have a form of their own.
"""

from typing import Any, Final

from fairshare.config.xml import Element
from fairshare.families.fair.element_texts import ElementTexts
from fairshare.families.fair.element_values import BAD_FILE, ElementValues
from fairshare.families.setting import Setting, by_name
from fairshare.model.resources import UNBOUNDED


def _default_policy(values: ElementValues, element: Element) -> Any:
    policy = values.policy(element)
    if policy == "fifo":
        values.problems.error(
            element.text_place,
            element.name,
            "fifo cannot be the default policy, because it is for leaf queues only:"
            " write it into the queues that shall have it",
            BAD_FILE,
        )
    return policy


def _amount(values: ElementValues, element: Element) -> Any:
    return values.amount(element, UNBOUNDED)


SETTINGS: Final = (
    Setting(
        name="userMaxAppsDefault",
        field="user_max_applications_default",
        meaning="The most applications of a user that run at once, if no `<user>` names the user.",
        unwritten="no limit",
        read=ElementValues.applications,
        write=ElementTexts.text,
        scope="cluster",
        example="10",
    ),
    Setting(
        name="queueMaxAppsDefault",
        field="queue_max_applications_default",
        meaning="maxRunningApps of queues without one.",
        unwritten="no limit",
        read=ElementValues.applications,
        write=ElementTexts.text,
        scope="cluster",
        example="50",
    ),
    Setting(
        name="queueMaxResourcesDefault",
        field="queue_max_share_default",
        meaning="maxResources of queues without one.",
        unwritten="no limit",
        read=_amount,
        write=ElementTexts.amount,
        scope="cluster",
        example="50%",
    ),
    Setting(
        name="queueMaxAMShareDefault",
        field="queue_max_master_share_default",
        meaning="maxAMShare of leaf queues without one.",
        unwritten="0.5",
        read=ElementValues.share,
        write=ElementTexts.number,
        scope="cluster",
        example="0.3",
    ),
    Setting(
        name="defaultFairSharePreemptionTimeout",
        field="fair_share_timeout_ms",
        meaning="fairSharePreemptionTimeout of the root queue, in seconds.",
        unwritten="never",
        read=ElementValues.seconds,
        write=ElementTexts.seconds,
        scope="cluster",
        example="60",
    ),
    Setting(
        name="defaultMinSharePreemptionTimeout",
        field="min_share_timeout_ms",
        meaning="minSharePreemptionTimeout of the root queue, in seconds.",
        unwritten="never",
        read=ElementValues.seconds,
        write=ElementTexts.seconds,
        scope="cluster",
        example="30",
    ),
    Setting(
        name="defaultFairSharePreemptionThreshold",
        field="fair_share_threshold",
        meaning="fairSharePreemptionThreshold of the root queue.",
        unwritten="0.5",
        read=ElementValues.fraction,
        write=ElementTexts.number,
        scope="cluster",
        example="0.5",
    ),
    Setting(
        name="defaultQueueSchedulingPolicy",
        field="default_policy",
        meaning="schedulingPolicy of queues without one.",
        unwritten="fair",
        read=_default_policy,
        write=ElementTexts.text,
        scope="cluster",
        choices=("fair", "drf"),
        aliases=("defaultQueueSchedulingMode",),
    ),
)
"""The settings at the top of the file, in the order in which they are written."""

BY_NAME: Final = by_name(SETTINGS)
