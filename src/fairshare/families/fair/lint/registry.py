"""Owns the list of lint rules by name. A new one is one function in this room and one line here."""

from collections.abc import Callable, Iterator
from typing import Final

from fairshare.config.findings import Finding, add_findings
from fairshare.config.problems import Problems
from fairshare.families.fair.lint import (
    access,
    assignment,
    limits,
    placement,
    policies,
    preemption,
    properties,
    shares,
)
from fairshare.families.fair.lint.subject import Subject

Rule = Callable[[Subject], Iterator[Finding]]

RULES: Final[dict[str, Rule]] = {
    "minimum-above-maximum": shares.minimum_above_maximum,
    "minimums-above-bound": shares.minimums_above_bound,
    "minimums-above-parents-minimum": shares.minimums_above_parents_minimum,
    "weight-zero": shares.weight_zero,
    "maximum-zero": shares.maximum_zero,
    "maximum-without-vcores": shares.maximum_without_vcores,
    "maximum-below-container": shares.maximum_below_container,
    "child-maximum-of-leaf": shares.child_maximum_of_leaf,
    "master-share-too-small": limits.master_share_too_small,
    "container-maximum-above-schedulers": limits.container_maximum_above_schedulers,
    "container-maximum-below-minimum": limits.container_maximum_below_minimum,
    "increment-does-not-divide-maximum": limits.increment_does_not_divide_maximum,
    "preemption-cannot-fire": preemption.preemption_cannot_fire,
    "timeouts-without-preemption": preemption.timeouts_without_preemption,
    "timeout-without-minimum": preemption.timeout_without_minimum,
    "threshold-zero": preemption.threshold_zero,
    "threshold-above-one": preemption.threshold_above_one,
    "preemption-overridden": preemption.preemption_overridden,
    "nothing-to-preempt": preemption.nothing_to_preempt,
    "master-preemption-of-no-leaf": preemption.master_preemption_of_no_leaf,
    "utilization-out-of-reach": preemption.utilization_out_of_reach,
    "rule-never-reached": placement.rule_never_reached,
    "rule-finds-no-queue": placement.rule_finds_no_queue,
    "default-queue-is-parent": placement.default_queue_is_parent,
    "placement-properties-overridden": placement.placement_properties_overridden,
    "user-queues-not-created": placement.user_queues_not_created,
    "default-queue-undeclared": placement.default_queue_undeclared,
    "nobody-may-submit": access.nobody_may_submit,
    "restriction-void": access.restriction_void,
    "administration-opens-submission": access.administration_opens_submission,
    "administration-unchecked": access.administration_unchecked,
    "default-policy-forbidden": policies.default_policy_forbidden,
    "assigns-one": assignment.assigns_one,
    "assigns-by-free-room": assignment.assigns_by_free_room,
    "locality-half-set": assignment.locality_half_set,
    "locality-of-other-mode": assignment.locality_of_other_mode,
    "sleep-not-honoured": assignment.sleep_not_honoured,
    "property-of-other-scheduler": properties.property_of_other_scheduler,
}


def apply_rules(subject: Subject, problems: Problems) -> None:
    """Add what all rules of the Fair Scheduler find."""
    for name, rule in RULES.items():
        add_findings(name, rule(subject), problems)
