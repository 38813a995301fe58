"""Owns the settings at the top of the allocation file: defaults for all queues and users.

`allocation_file.py` reads by this table. The placement policy, users
and queues have a form of their own.
"""

from typing import Any, Final

from fairshare.core.model.resources import UNBOUNDED
from fairshare.core.schedulers.fair.policies import POLICIES
from fairshare.documents.xml import Element
from fairshare.settings.fair.element_values import BAD_FILE, ElementValues
from fairshare.settings.setting import Setting, by_name

_OF_PARENTS: Final = tuple(name for name, policy in POLICIES.items() if not policy.leaf_only)
"""The policies that any queue may have, and so a queue that names none."""


def _default_policy(values: ElementValues, element: Element) -> Any:
    policy = values.policy(element)
    if policy is not None and POLICIES[policy].leaf_only:
        values.problems.error(
            element.text_place,
            element.name,
            f"{policy} cannot be the default policy, because it is for leaf queues only:"
            " write it into the queues that shall have it",
            BAD_FILE,
        )
    return policy


def _amount(values: ElementValues, element: Element) -> Any:
    return values.amount(element, UNBOUNDED)


SETTINGS: Final = (
    Setting("userMaxAppsDefault", "user_max_applications_default", ElementValues.applications,
        "no limit",
        "The maximum number of running applications of a user, if no `<user>` names the"
        " user.", "10", scope="cluster"),
    Setting("queueMaxAppsDefault", "queue_max_applications_default", ElementValues.applications,
        "no limit", "maxRunningApps of queues without one.", "50",
        scope="cluster"),
    Setting("queueMaxResourcesDefault", "queue_max_share_default", _amount, "no limit",
        "maxResources of queues without one.", "50%", scope="cluster"),
    Setting("queueMaxAMShareDefault", "queue_max_master_share_default", ElementValues.share, "0.5",
        "maxAMShare of leaf queues without one.", "0.3",
        scope="cluster"),
    Setting("defaultFairSharePreemptionTimeout", "fair_share_timeout_ms", ElementValues.seconds,
        "never", "fairSharePreemptionTimeout of the root queue, in seconds.", "60",
        scope="cluster"),
    Setting("defaultMinSharePreemptionTimeout", "min_share_timeout_ms", ElementValues.seconds,
        "never", "minSharePreemptionTimeout of the root queue, in seconds.", "30",
        scope="cluster"),
    Setting("defaultFairSharePreemptionThreshold", "fair_share_threshold", ElementValues.fraction,
        "0.5", "fairSharePreemptionThreshold of the root queue.", "0.5",
        scope="cluster"),
    Setting("defaultQueueSchedulingPolicy", "default_policy", _default_policy, "fair",
        "schedulingPolicy of queues without one.", scope="cluster",
        choices=_OF_PARENTS, aliases=("defaultQueueSchedulingMode",)),
)  # fmt: skip
"""The settings at the top of the file, in the order in which they are written."""

BY_NAME: Final = by_name(SETTINGS)
