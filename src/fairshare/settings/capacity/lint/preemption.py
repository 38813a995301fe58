"""Owns the rules about preemption that cannot happen, or is half set
(Hadoop: ProportionalCapacityPreemptionPolicy)."""

from collections.abc import Iterator

from fairshare.core.model.queues import ROOT
from fairshare.documents.problems import Finding
from fairshare.settings.capacity.lint.subject import CapacitySubject, property_of
from fairshare.settings.capacity.monitor import ENABLE, INTRA, POLICIES, PREEMPTION, UNDERUTILIZED

_INTRA_OF_QUEUE = "intra-queue-preemption.disable_preemption"
_PRIORITY = "priority-utilization"


def preemption_is_off(subject: CapacitySubject) -> Iterator[Finding]:
    """Settings of preemption, and no monitor that would look at them."""
    if subject.settings.monitor.enabled or not (subject.has_site or ENABLE in subject.site):
        return
    why = f"{ENABLE} is not true"
    if subject.settings.monitor.monitor_on:
        why = f"{POLICIES} does not name ProportionalCapacityPreemptionPolicy"
    for name in subject.site.names(PREEMPTION):
        yield subject.silent(name, why, "preempts nothing")
    for name, own in subject.queues:
        if own.preemption_disabled is False:
            yield subject.silent(property_of(name, "disable_preemption"), why, "preempts nothing")
        if own.intra_queue_preemption_disabled is False:
            yield subject.silent(property_of(name, _INTRA_OF_QUEUE), why, "preempts nothing")


def intra_queue_preemption_is_off(subject: CapacitySubject) -> Iterator[Finding]:
    """Settings of the preemption inside queues, which is not switched on."""
    monitor = subject.settings.monitor
    if not monitor.enabled or monitor.intra_queue.enabled:
        return
    why = f"{INTRA}enabled is not true"
    for name in subject.site.names(INTRA):
        if name != INTRA + "enabled":
            yield subject.silent(name, why)
    for name, _ in subject.queues:
        if subject.is_written(name, _INTRA_OF_QUEUE):
            yield subject.silent(property_of(name, _INTRA_OF_QUEUE), why)


def preemption_observes(subject: CapacitySubject) -> Iterator[Finding]:
    """The monitor is on, and takes nothing."""
    monitor = subject.settings.monitor
    if not monitor.enabled:
        return
    for suffix, idle in (
        ("observe_only", monitor.observe_only),
        ("total_preemption_per_round", monitor.total_per_round <= 0),
        ("natural_termination_factor", monitor.natural_termination_factor <= 0),
    ):
        if idle:
            name = PREEMPTION + suffix
            value = "true" if suffix == "observe_only" else "0"
            yield Finding(
                subject.place_of(name),
                f"{name} is {value}: preemption is on, and takes no container",
                "chooses containers, and takes none",
            )


def preemption_disabled_everywhere(subject: CapacitySubject) -> Iterator[Finding]:
    """The monitor is on, and root forbids it to all."""
    if not subject.settings.monitor.enabled or not subject.own(ROOT).preemption_disabled:
        return
    if all(own.preemption_disabled is not False for _, own in subject.queues):
        yield Finding(
            subject.place(ROOT, "disable_preemption"),
            "disable_preemption of root is true, and no queue below says otherwise: preemption is"
            " on, and takes nothing",
            "preempts nothing between queues",
        )


def underutilized_without_priorities(subject: CapacitySubject) -> Iterator[Finding]:
    """Preemption for priorities of queues, where no parent looks at them."""
    if not subject.settings.monitor.underutilized:
        return
    if all(own.ordering_policy != _PRIORITY for _, own in subject.queues):
        yield subject.silent(
            UNDERUTILIZED + "enabled", f"no parent queue has the ordering-policy {_PRIORITY}"
        )
