"""Owns the rules about masters' shares and the sizes of containers
(Hadoop: FairScheduler.getMaximumResourceCapability, FSLeafQueue.computeMaxAMResource)."""

import math
from collections.abc import Iterator

from fairshare.core.model.resources import MEMORY, UNBOUNDED, VCORES, Resource, fits
from fairshare.core.schedulers.fair.settings import QueueSettings
from fairshare.documents.problems import Finding
from fairshare.settings.fair.lint.shares import smallest_of
from fairshare.settings.fair.lint.subject import Subject
from fairshare.settings.resource_types import limit_key, new_increment_key

_NO_LIMIT = -1.0


def master_share_too_small(subject: Subject) -> Iterator[Finding]:
    """maxAMShare so small that not even one master fits, however much the queue gets."""
    master = smallest_of(subject)
    for leaf in subject.leaves:
        limit = _most_for_masters(subject, leaf)
        if limit is None or fits(master, limit) or not fits(master, subject.reachable(leaf)):
            continue  # a leaf without room for any container is reported as such
        share, place = leaf.max_master_share, subject.place(leaf.name, "maxAMShare")
        if share is None:
            share = subject.allocations.queue_max_master_share_default
            if subject.written("queueMaxAMShareDefault"):
                place = subject.top_place("queueMaxAMShareDefault")
        yield Finding(
            place,
            f"maxAMShare {share:g} leaves no room for a single application master in {leaf.name}"
            f" ({subject.beyond(master, limit)}): nothing ever runs there",
            "accepts applications, whose masters then wait forever",
        )


def _most_for_masters(subject: Subject, leaf: QueueSettings) -> Resource | None:
    """The limit on masters if the queue had all that it may have; None: there is none
    (Hadoop: FSLeafQueue.computeMaxAMResource)."""
    share = leaf.max_master_share
    if share is None:
        share = subject.allocations.queue_max_master_share_default
    if abs(share - _NO_LIMIT) < 0.0001:
        return None
    return tuple(
        UNBOUNDED if most == UNBOUNDED and share > 0 else math.ceil(most * share)
        for most in subject.reachable(leaf)
    )


def container_maximum_above_schedulers(subject: Subject) -> Iterator[Finding]:
    """maxContainerAllocation above the maximum allocation of all queues."""
    for queue in subject.allocations.queues.values():
        if queue.max_container is None:
            continue
        maximum = subject.settings.maximum_allocation
        written = tuple(0 if x == UNBOUNDED else x for x in queue.max_container)
        if not fits(written, maximum):
            yield Finding(
                subject.place(queue.name, "maxContainerAllocation"),
                f"maxContainerAllocation of {queue.name} is above the maximum allocation of"
                f" yarn-site.xml ({subject.beyond(written, maximum)}), which holds",
                "takes the smaller one",
                "warning",
            )


def container_maximum_below_minimum(subject: Subject) -> Iterator[Finding]:
    """maxContainerAllocation below the minimum allocation."""
    for queue in subject.allocations.queues.values():
        minimum = subject.settings.minimum_allocation
        if queue.max_container is not None and not fits(minimum, queue.max_container):
            yield Finding(
                subject.place(queue.name, "maxContainerAllocation"),
                f"maxContainerAllocation of {queue.name} is below the minimum allocation of"
                f" yarn-site.xml ({subject.beyond(minimum, queue.max_container)}): larger asks are"
                " refused, and smaller ones are not rounded up to the minimum",
                "refuses every ask that is above it",
            )


def increment_does_not_divide_maximum(subject: Subject) -> Iterator[Finding]:
    """Asks near the maximum are not rounded up to a multiple of the increment."""
    settings = subject.settings
    for name, increment, maximum in zip(
        settings.types.names,
        settings.increment_allocation,
        settings.maximum_allocation,
        strict=True,
    ):
        if increment <= 0 or maximum == UNBOUNDED or maximum % increment == 0:
            continue
        keys = [new_increment_key(name)]
        if name in (MEMORY, VCORES):
            keys += [limit_key(name, "increment"), limit_key(name, "maximum")]
        keys.append(f"yarn.resource-types.{name}.maximum-allocation")
        yield Finding(
            subject.site.place(*keys),
            f"the increment {increment} of {name} does not divide the maximum allocation {maximum}:"
            f" the largest containers have {maximum}, which is not a multiple of it",
            "cuts to the maximum after it has rounded up",
        )
