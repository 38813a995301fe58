"""Owns the rules about properties that belong to no queue: sizes of containers, how many a
heartbeat assigns, and properties of another scheduler (Hadoop:
CapacitySchedulerConfiguration.getQueueMaximumAllocation).
"""

from collections.abc import Iterator

from fairshare.core.model.resources import MEMORY
from fairshare.documents.problems import Finding
from fairshare.settings.capacity.lint.subject import CapacitySubject, property_of
from fairshare.settings.capacity.names import PREFIX
from fairshare.settings.lint_rules import foreign_properties

_HEARTBEAT = PREFIX + "per-node-heartbeat."
_SIZES = ("maximum-allocation-mb", "maximum-allocation-vcores")
_NODE_DELAY = PREFIX + "node-locality-delay"
_RACK_DELAY = PREFIX + "rack-locality-additional-delay"


def container_size_overridden(subject: CapacitySubject) -> Iterator[Finding]:
    """Two ways of writing the largest container, of which one wins."""
    for name, own in subject.queues:
        for suffix in _SIZES:
            if not subject.is_written(name, suffix):
                continue
            if own.maximum_allocation is not None:
                yield subject.silent(
                    property_of(name, suffix), f"maximum-allocation of {name} is set, too"
                )


def container_size_below_minimum(subject: CapacitySubject) -> Iterator[Finding]:
    """A largest container that is smaller than the smallest."""
    if not subject.has_site:
        return
    names, least = subject.settings.types.names, subject.settings.minimum_allocation
    for name, own in subject.queues:
        most = dict(own.maximum_allocation or {})
        if own.maximum_allocation is None and own.maximum_allocation_mb is not None:
            most[MEMORY] = own.maximum_allocation_mb
        for resource, amount in most.items():
            smallest = least[names.index(resource)]
            if amount < smallest:
                yield Finding(
                    subject.place(name, "maximum-allocation", *_SIZES),
                    f"the largest container of {name} has {resource}={amount}, and the smallest of"
                    f" the cluster {smallest}: larger asks are refused, and smaller ones do not"
                    " grow to the minimum",
                    "refuses every larger ask",
                )


def container_size_without_a_type(subject: CapacitySubject) -> Iterator[Finding]:
    """A largest container that names some types, and so has nothing of the others."""
    names = subject.settings.types.names
    for name, own in subject.queues:
        if own.maximum_allocation is None:
            continue
        missing = [resource for resource in names if resource not in own.maximum_allocation]
        if missing:
            yield Finding(
                subject.place(name, "maximum-allocation"),
                f"maximum-allocation of {name} does not name {' and '.join(missing)}, so that its"
                " containers may have none of that: name all types, or write"
                " maximum-allocation-mb, which leaves the others as they are",
                "refuses every ask with any of them",
            )


def assigns_one(subject: CapacitySubject) -> Iterator[Finding]:
    """How many containers a heartbeat may assign is set, and it assigns one."""
    if subject.settings.multiple_assignments:
        return
    for suffix in ("maximum-container-assignments", "maximum-offswitch-assignments"):
        if _HEARTBEAT + suffix in subject.site:
            yield subject.silent(
                _HEARTBEAT + suffix, f"{_HEARTBEAT}multiple-assignments-enabled is false"
            )


def rack_delay_without_node_delay(subject: CapacitySubject) -> Iterator[Finding]:
    """Waiting for a rack, and not for a node. A further delay of 0 means not waiting at all."""
    settings = subject.settings
    if settings.node_locality_delay < 0 < settings.rack_locality_additional_delay:
        yield Finding(
            subject.place_of(_NODE_DELAY, _RACK_DELAY),
            f"{_NODE_DELAY} is {settings.node_locality_delay}, so that none waits for a node: the"
            f" delay for racks counts from there and is one shorter for each below 0",
            "adds both",
        )


_OTHERS = {
    "yarn.scheduler.fair.": "the Fair Scheduler",
    "mapred.fairscheduler.": "the Fair Scheduler of MapReduce 1",
    "mapred.capacity-scheduler.": "the Capacity Scheduler of MapReduce 1",
}


def property_of_other_scheduler(subject: CapacitySubject) -> Iterator[Finding]:
    """Properties that look as if they mattered; the first one of each kind is named."""
    return foreign_properties(subject.site, _OTHERS, "Capacity Scheduler")
