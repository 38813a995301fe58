"""The settings of one queue of the allocation file, fair-scheduler.xml: one row for each.

`queue_elements.py` reads by this table, the form of the configuration page and
docs/reference/fair-scheduler.md come from it. To add a setting, add its field to `QueueSettings`
and a row here.
"""

from typing import Any, Final

from fairshare.core.model.queues import ROOT
from fairshare.core.model.resources import UNBOUNDED
from fairshare.core.schedulers.fair.policies import POLICIES
from fairshare.documents.xml import Element
from fairshare.settings.draft import ElementDraft
from fairshare.settings.fair.element_values import ElementValues
from fairshare.settings.setting import Setting, by_name, form_fields


def _absolute(values: ElementValues, element: Element, missing: int = UNBOUNDED) -> Any:
    amount = values.amount(element, missing)
    if amount is not None and amount.absolute is None:
        values.problems.trap(
            element.text_place,
            element.name,
            f"a percentage in <{element.name}> has no effect: write amounts",
            "drops it",
        )
    return amount and amount.absolute


def _min_share(values: ElementValues, element: Element) -> Any:
    return _absolute(values, element, 0)


SETTINGS: Final = (
    Setting("weight", "weight", ElementValues.weight, "1",
        "The share of this queue relative to its siblings: twice the weight, twice the"
        " share.", "2.5",
        "Weight"),
    Setting("minResources", "min_share", _min_share, "none",
        "Resources that the queue receives before its siblings receive more than theirs.",
        "memory-mb=8192, vcores=8", "Min Resources"),
    Setting("maxResources", "max_share", ElementValues.amount, "queueMaxResourcesDefault",
        "The maximum usage of the queue, as amounts or percentages of the cluster.", "50%",
        "Max Resources"),
    Setting("maxRunningApps", "max_running_applications", ElementValues.applications,
        "queueMaxAppsDefault", "The maximum number of running applications of the queue.", "50",
        "Max Running Applications"),
    Setting("maxAMShare", "max_master_share", ElementValues.share,
        "queueMaxAMShareDefault, or 0.5",
        "The fraction of the fair share that ApplicationMasters may use; -1 for unlimited.", "0.3",
        "Max AM Share", scope="leaf"),
    Setting("schedulingPolicy", "policy", ElementValues.policy,
        "defaultQueueSchedulingPolicy, or fair",
        "How the queue divides its share; fifo in leaf queues only.", title="Scheduling Policy",
        choices=tuple(POLICIES), aliases=("schedulingMode",)),
    Setting("maxContainerAllocation", "max_container", _absolute, "its parent's",
        "The maximum size of a container of the queue.", "memory-mb=4096, vcores=4",
        "Max Container Allocation"),
    Setting("maxChildResources", "max_child_share", ElementValues.amount, "none",
        "maxResources of queues below this one that the file does not name.", "20%",
        "Max Resources of Undeclared Children", scope="parent"),
    Setting("fairSharePreemptionThreshold", "fair_share_threshold", ElementValues.fraction,
        "its parent's, or 0.5",
        "The fraction of its fair share below which the queue counts as starved.", "0.5",
        "Fair Share Preemption Threshold"),
    Setting("fairSharePreemptionTimeout", "fair_share_timeout_ms", ElementValues.seconds,
        "its parent's, or never",
        "Seconds below that fraction after which containers of others are preempted.", "60",
        "Fair Share Preemption Timeout (s)"),
    Setting("minSharePreemptionTimeout", "min_share_timeout_ms", ElementValues.seconds,
        "its parent's, or never",
        "Seconds below minResources after which containers of others are preempted.", "30",
        "Min Share Preemption Timeout (s)"),
    Setting("allowPreemptionFrom", "preemptable", ElementValues.boolean, "true",
        "Whether containers of this queue may be preempted.", title="Allow Preemption From",
        choices=("true", "false")),
    Setting("aclSubmitApps", "submit_acl", ElementValues.acl, "the list of its parent",
        "Users and groups that may submit applications: `user1,user2 group1,group2`.",
        "ann,bob staff", "Users That May Submit"),
    Setting("aclAdministerApps", "administer_acl", ElementValues.acl, "the list of its parent",
        "Users and groups that may kill and move the queue's applications.", "ann staff",
        "Administrators"),
)  # fmt: skip
"""The settings of a queue, in the order in which they are written and offered."""

BY_NAME: Final = by_name(SETTINGS)
DRAFT: Final = ElementDraft(form_fields(SETTINGS), "queue", ROOT)
"""Drafts of the file, with the form of these settings."""
