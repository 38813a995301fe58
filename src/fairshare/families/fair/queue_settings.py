"""Owns the settings of one queue of the allocation file, fair-scheduler.xml: one row for each.

`queue_elements.py` reads by this table, `writing.py` writes by it, the form of the configuration
page and docs/reference/fair-scheduler.md come from it. To add a setting, add its field to
`QueueSettings` and a row here.
"""

from typing import Any, Final

from fairshare.config.xml import Element
from fairshare.families.fair.element_texts import ElementTexts
from fairshare.families.fair.element_values import ElementValues
from fairshare.families.setting import Setting, by_name, form_fields
from fairshare.model.resources import UNBOUNDED


def _absolute(values: ElementValues, element: Element, missing: int) -> Any:
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


def _max_container(values: ElementValues, element: Element) -> Any:
    return _absolute(values, element, UNBOUNDED)


def _amount(values: ElementValues, element: Element) -> Any:
    return values.amount(element, UNBOUNDED)


SETTINGS: Final = (
    Setting(
        name="weight",
        field="weight",
        meaning="The share of this queue beside its siblings: twice the weight, twice the share.",
        unwritten="1",
        read=ElementValues.weight,
        write=ElementTexts.number,
        title="Weight",
        example="2.5",
    ),
    Setting(
        name="minResources",
        field="min_share",
        meaning="Resources that the queue receives before its siblings receive more than theirs.",
        unwritten="none",
        read=_min_share,
        write=ElementTexts.minimum,
        title="Min Resources",
        example="memory-mb=8192, vcores=8",
    ),
    Setting(
        name="maxResources",
        field="max_share",
        meaning="The most that the queue may use, as amounts or percentages of the cluster.",
        unwritten="queueMaxResourcesDefault",
        read=_amount,
        write=ElementTexts.amount,
        title="Max Resources",
        example="50%",
    ),
    Setting(
        name="maxRunningApps",
        field="max_running_applications",
        meaning="The most applications of the queue that run at once.",
        unwritten="queueMaxAppsDefault",
        read=ElementValues.applications,
        write=ElementTexts.text,
        title="Max Running Applications",
        example="50",
    ),
    Setting(
        name="maxAMShare",
        field="max_master_share",
        meaning="The fraction of the fair share that application masters may use; -1 for any.",
        unwritten="queueMaxAMShareDefault, or 0.5",
        read=ElementValues.share,
        write=ElementTexts.number,
        scope="leaf",
        title="Max AM Share",
        example="0.3",
    ),
    Setting(
        name="schedulingPolicy",
        field="policy",
        meaning="How the queue divides its share; fifo in leaf queues only.",
        unwritten="defaultQueueSchedulingPolicy, or fair",
        read=ElementValues.policy,
        write=ElementTexts.text,
        title="Scheduling Policy",
        choices=("fair", "drf", "fifo"),
        aliases=("schedulingMode",),
    ),
    Setting(
        name="maxContainerAllocation",
        field="max_container",
        meaning="The largest container that the queue grants.",
        unwritten="its parent's",
        read=_max_container,
        write=ElementTexts.maximum,
        title="Max Container Allocation",
        example="memory-mb=4096, vcores=4",
    ),
    Setting(
        name="maxChildResources",
        field="max_child_share",
        meaning="maxResources of queues below this one that the file does not name.",
        unwritten="none",
        read=_amount,
        write=ElementTexts.amount,
        scope="parent",
        title="Max Resources of Undeclared Children",
        example="20%",
    ),
    Setting(
        name="fairSharePreemptionThreshold",
        field="fair_share_threshold",
        meaning="The fraction of its fair share below which the queue counts as starved.",
        unwritten="its parent's, or 0.5",
        read=ElementValues.fraction,
        write=ElementTexts.number,
        title="Fair Share Preemption Threshold",
        example="0.5",
    ),
    Setting(
        name="fairSharePreemptionTimeout",
        field="fair_share_timeout_ms",
        meaning="Seconds below that fraction after which containers of others are preempted.",
        unwritten="its parent's, or never",
        read=ElementValues.seconds,
        write=ElementTexts.seconds,
        title="Fair Share Preemption Timeout (s)",
        example="60",
    ),
    Setting(
        name="minSharePreemptionTimeout",
        field="min_share_timeout_ms",
        meaning="Seconds below minResources after which containers of others are preempted.",
        unwritten="its parent's, or never",
        read=ElementValues.seconds,
        write=ElementTexts.seconds,
        title="Min Share Preemption Timeout (s)",
        example="30",
    ),
    Setting(
        name="allowPreemptionFrom",
        field="preemptable",
        meaning="Whether containers of this queue may be preempted.",
        unwritten="true",
        read=ElementValues.boolean,
        write=ElementTexts.boolean,
        title="Allow Preemption From",
        choices=("true", "false"),
    ),
    Setting(
        name="aclSubmitApps",
        field="submit_acl",
        meaning="Users and groups that may submit applications: `user1,user2 group1,group2`.",
        unwritten="the list of its parent",
        read=ElementValues.acl,
        write=ElementTexts.text,
        title="Users That May Submit",
        example="ann,bob staff",
    ),
    Setting(
        name="aclAdministerApps",
        field="administer_acl",
        meaning="Users and groups that may kill and move the queue's applications.",
        unwritten="the list of its parent",
        read=ElementValues.acl,
        write=ElementTexts.text,
        title="Administrators",
        example="ann staff",
    ),
)
"""The settings of a queue, in the order in which they are written and offered."""

BY_NAME: Final = by_name(SETTINGS)
FORM: Final = form_fields(SETTINGS)
