"""Owns the rules about which settings suit which queue, leaf or parent, running or stopped, and
about queues that are made on demand (Hadoop: CapacitySchedulerQueueManager.createQueue).
"""

from collections.abc import Iterator

from fairshare.core.model.queues import ROOT
from fairshare.core.schedulers.capacity.settings import Weight
from fairshare.documents.problems import Finding
from fairshare.settings.capacity.lint.subject import CapacitySubject, property_of
from fairshare.settings.capacity.monitor import ENABLE, POLICIES
from fairshare.settings.capacity.queue_settings import SETTINGS

_OF_LEAVES = tuple(one.name for one in SETTINGS if one.scope == "leaf")
_OF_MAKERS = tuple(
    one.name for one in SETTINGS if one.scope == "parent" and one.name.startswith("auto-")
)
_OF_PARENTS = tuple(
    one.name for one in SETTINGS if one.scope == "parent" and one.name not in _OF_MAKERS
)
_TEMPLATES = ("auto-queue-creation-v2.", "leaf-queue-template.")
_STOPPED = "STOPPED"


def leaf_setting_of_parent(subject: CapacitySubject) -> Iterator[Finding]:
    """What only a leaf has, and no child inherits."""
    for name, _ in subject.parents:
        for suffix in _OF_LEAVES:
            if subject.is_written(name, suffix):
                yield subject.silent(
                    property_of(name, suffix),
                    f"{name} is a parent queue, and its children do not inherit it",
                )


def parent_setting_of_leaf(subject: CapacitySubject) -> Iterator[Finding]:
    """What only a parent has."""
    for name, _ in subject.leaves:
        for suffix in _OF_PARENTS:
            if subject.is_written(name, suffix):
                yield subject.silent(property_of(name, suffix), f"{name} has no queues below it")


def creation_is_off(subject: CapacitySubject) -> Iterator[Finding]:
    """Settings for queues made on demand, below a queue that makes none."""
    for name, own in subject.queues:
        if own.dynamic_children or own.legacy_dynamic_leaves:
            continue
        written = [suffix for suffix in _OF_MAKERS if subject.is_written(name, suffix)]
        written += [
            key.removeprefix(property_of(name, ""))
            for word in _TEMPLATES
            for key in subject.site.names(property_of(name, word))
            if "template." in key
        ]
        for suffix in written:
            yield subject.silent(
                property_of(name, suffix),
                f"no queues are made below {name}: auto-queue-creation-v2.enabled is not true",
                "makes no queues there",
            )


def queue_stopped(subject: CapacitySubject) -> Iterator[Finding]:
    """Queues that take no applications."""
    for name, own in subject.queues:
        if own.state == _STOPPED:
            below = sum(one.startswith(f"{name}.") for one in subject.leaf)
            rest = f", and neither do the {below} queues below it" if below else ""
            yield Finding(
                subject.place(name, "state"),
                f"{name} is STOPPED: it takes no applications{rest}",
                "refuses every application there",
            )


def no_default_queue(subject: CapacitySubject) -> Iterator[Finding]:
    """Applications without a queue are sent to one that does not exist."""
    settings = subject.settings
    if f"{ROOT}.default" in subject.leaf or settings.mappings or settings.queues == {}:
        return
    if any(name.endswith(".default") for name in subject.leaf) or len(subject.leaf) < 2:
        return
    yield Finding(
        subject.place_of(property_of(ROOT, "queues")),
        "there is no queue default and no queue-mappings: who names no queue is refused",
        "refuses the application: submitted to unknown queue: default",
    )


def short_name_twice(subject: CapacitySubject) -> Iterator[Finding]:
    """A name in two places, where preemption inside queues needs it to be one's own
    (Hadoop: IntraQueueCandidatesSelector)."""
    if not (subject.settings.monitor.enabled and subject.settings.monitor.intra_queue.enabled):
        return
    owners: dict[str, str] = {}
    for name in subject.leaf:
        short = name.rpartition(".")[2]
        first = owners.setdefault(short, name)
        if first != name:
            yield Finding(
                subject.place(name, "capacity"),
                f"{name} and {first} have the same short name: preemption inside queues fails",
                "loses that pass of the monitor",
            )


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
