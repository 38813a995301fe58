"""Owns the list of lint rules of the Capacity Scheduler by name. A new one is one line here."""

from collections.abc import Callable, Iterator
from typing import Final

from fairshare.config.findings import Finding
from fairshare.families.capacity.lint import (
    access,
    capacities,
    containers,
    creation,
    placement,
    preemption,
    priorities,
    properties,
    structure,
    users,
)
from fairshare.families.capacity.lint.subject import CapacitySubject

Rule = Callable[[CapacitySubject], Iterator[Finding]]

RULES: Final[dict[str, Rule]] = {
    "maximum-below-capacity": capacities.maximum_below_capacity,
    "maximum-out-of-range": capacities.maximum_out_of_range,
    "maximum-zero": capacities.maximum_zero,
    "capacity-zero": capacities.capacity_zero,
    "fraction-as-percentage": capacities.fraction_as_percentage,
    "percentage-as-fraction": capacities.percentage_as_fraction,
    "amounts-above-cluster": capacities.amounts_above_cluster,
    "vcores-not-looked-at": capacities.vcores_not_looked_at,
    "user-percent-above-100": users.user_percent_above_100,
    "no-applications-per-user": users.no_applications_per_user,
    "user-factor-zero": users.user_factor_zero,
    "one-user-cannot-grow": users.one_user_cannot_grow,
    "user-weight-zero": users.user_weight_zero,
    "masters-get-nothing": users.masters_get_nothing,
    "no-applications": users.no_applications,
    "leaf-setting-of-parent": structure.leaf_setting_of_parent,
    "parent-setting-of-leaf": structure.parent_setting_of_leaf,
    "creation-is-off": structure.creation_is_off,
    "queue-stopped": structure.queue_stopped,
    "no-default-queue": structure.no_default_queue,
    "short-name-twice": structure.short_name_twice,
    "mapping-never-reached": placement.mapping_never_reached,
    "mapping-to-stopped-queue": placement.mapping_to_stopped_queue,
    "fallback-missing": placement.fallback_missing,
    "override-without-mappings": placement.override_without_mappings,
    "preemption-is-off": preemption.preemption_is_off,
    "intra-queue-preemption-is-off": preemption.intra_queue_is_off,
    "preemption-observes": preemption.preemption_observes,
    "preemption-disabled-everywhere": preemption.preemption_disabled_everywhere,
    "underutilized-without-priorities": preemption.underutilized_without_priorities,
    "queue-priority-not-looked-at": priorities.queue_priority_not_looked_at,
    "application-priority-capped": priorities.application_priority_capped,
    "priority-under-fair": priorities.priority_under_fair,
    "priority-rules-not-checked": priorities.priority_rules_not_checked,
    "priority-group-read-as-user": priorities.priority_group_read_as_user,
    "workflows-not-mapped": priorities.workflows_not_mapped,
    "container-size-overridden": containers.container_size_overridden,
    "container-size-below-minimum": containers.container_size_below_minimum,
    "container-size-without-a-type": containers.container_size_without_a_type,
    "assigns-one": containers.assigns_one,
    "rack-delay-without-node-delay": containers.rack_delay_without_node_delay,
    "lists-not-checked": access.lists_not_checked,
    "restriction-void": access.restriction_void,
    "nobody-may-submit": access.nobody_may_submit,
    "creation-needs-weights": creation.creation_needs_weights,
    "made-queues-stay": creation.made_queues_stay,
    "property-of-other-scheduler": properties.property_of_other_scheduler,
    "legacy-creation-unmanaged": creation.legacy_creation_unmanaged,
}
