"""Owns the rules about queues that are made on demand
(Hadoop: CapacitySchedulerQueueManager.createQueue)."""

from collections.abc import Iterator

from fairshare.config.problems import Finding
from fairshare.families.capacity.lint.subject import CapacitySubject
from fairshare.families.capacity.monitor import ENABLE, POLICIES
from fairshare.schedulers.capacity.settings import Weight

_ENABLED = "auto-queue-creation-v2.enabled"
_LEGACY = "auto-create-child-queue.enabled"


def creation_needs_weights(subject: CapacitySubject) -> Iterator[Finding]:
    """Queues shall be made beside others that have percentages or amounts
    (Hadoop: CapacitySchedulerQueueManager.createQueue)."""
    if not subject.settings.legacy_queue_mode:
        return
    for name, own in subject.parents:
        others = [
            child
            for child in subject.children(name)
            if not isinstance(subject.own(child).capacity, Weight)
        ]
        if own.dynamic_children and others:
            yield Finding(
                subject.place(name, _ENABLED),
                f"no queue can be made below {name}: {others[0]} has no weight, and queues made on"
                " demand have weights alone. Give all of them weights (1w), or set"
                " legacy-queue-mode.enabled to false",
                "refuses the application that needs the queue",
            )


def made_queues_stay(subject: CapacitySubject) -> Iterator[Finding]:
    """Queues are made and never removed, because the policy that does it is not there
    (Hadoop: AutoCreatedQueueDeletionPolicy)."""
    if not subject.has_site or subject.settings.monitor.auto_removal:
        return
    for name, own in subject.parents:
        if own.dynamic_children and own.remove_dynamic is not False:
            yield Finding(
                subject.place(name, _ENABLED),
                f"queues made below {name} stay for ever: {POLICIES} does not name"
                f" AutoCreatedQueueDeletionPolicy, or {ENABLE} is not true",
                "keeps them",
            )


def legacy_creation_unmanaged(subject: CapacitySubject) -> Iterator[Finding]:
    """Legacy leaves are created, but never receive their capacity (Hadoop: ManagedParentQueue)."""
    if not subject.has_site or subject.settings.monitor.legacy_queue_management:
        return
    for name, own in subject.queues:
        if own.legacy_dynamic_leaves:
            yield Finding(
                subject.place(name, _LEGACY),
                f"queues made below {name} keep the capacity of their first moment: {POLICIES}"
                f" does not name QueueManagementDynamicEditPolicy, or {ENABLE} is not true",
                "gives them no capacity later",
            )
