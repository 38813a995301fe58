"""Owns the rules about properties of yarn-site.xml without effect: those of assignment and
locality, and those of another scheduler.

Unknown properties of the Fair Scheduler itself are reported when they are read; those of other
daemons are ignored (Hadoop: FairScheduler.shouldContinueAssigning,
FSAppAttempt.getAllowedLocalityLevel).
"""

from collections.abc import Iterator

from fairshare.documents.problems import Finding
from fairshare.settings.fair.lint.subject import Subject
from fairshare.settings.fair.names import PREFIX
from fairshare.settings.lint_rules import foreign_properties

_MULTIPLE = PREFIX + "assignmultiple"
_DYNAMIC = PREFIX + "dynamic.max.assign"
_MOST = PREFIX + "max.assign"
_CONTINUOUS = PREFIX + "continuous-scheduling-enabled"
_SLEEP = PREFIX + "continuous-scheduling-sleep-ms"
_THRESHOLDS = (PREFIX + "locality.threshold.node", PREFIX + "locality.threshold.rack")
_DELAYS = (PREFIX + "locality-delay-node-ms", PREFIX + "locality-delay-rack-ms")


def assigns_one(subject: Subject) -> Iterator[Finding]:
    """How many containers a heartbeat may assign is set, and it assigns one."""
    if subject.settings.assign_multiple:
        return
    for name in (_DYNAMIC, _MOST):
        if name in subject.site:
            yield _without_effect(subject, name, f"{_MULTIPLE} is not true")


def assigns_by_free_room(subject: Subject) -> Iterator[Finding]:
    """A number of containers is set, and half of the free room counts instead."""
    settings = subject.settings
    if settings.assign_multiple and settings.dynamic_max_assign and _MOST in subject.site:
        yield _without_effect(
            subject, _MOST, f"{_DYNAMIC} is true (its default): half of the free room counts"
        )


def locality_half_set(subject: Subject) -> Iterator[Finding]:
    """One threshold, or delay, of two: no application waits for locality."""
    settings = subject.settings
    pairs = (
        (_THRESHOLDS, settings.locality_threshold_node, settings.locality_threshold_rack),
        (_DELAYS, settings.locality_delay_node_ms, settings.locality_delay_rack_ms),
    )
    for names, *values in pairs:
        if (values[0] >= 0) != (values[1] >= 0):
            set_one, other = names if values[0] >= 0 else names[::-1]
            yield Finding(
                subject.site.place(set_one),
                f"{set_one} has no effect as long as {other} is not set, too: no ask waits for"
                " a near node",
                "turns delay scheduling off if either is negative",
            )


def locality_of_other_mode(subject: Subject) -> Iterator[Finding]:
    """Delays without continuous scheduling; thresholds with it."""
    continuous = subject.settings.continuous_scheduling
    word = "true" if continuous else "not true"
    for name in _THRESHOLDS if continuous else _DELAYS:
        if name in subject.site:
            yield _without_effect(subject, name, f"{_CONTINUOUS} is {word}")


def sleep_not_honoured(subject: Subject) -> Iterator[Finding]:
    """Nothing sleeps here."""
    if _SLEEP in subject.site:
        yield Finding(
            subject.site.place(_SLEEP),
            f"{_SLEEP} has no effect here: a node is looked at as soon as something has happened"
            " that could matter",
            f"sleeps so long between two passes, if {_CONTINUOUS} is true",
            "warning",
        )


def _without_effect(subject: Subject, name: str, reason: str) -> Finding:
    place = subject.site.place(name)
    return Finding(place, f"{name} has no effect: {reason}", "ignores it", "warning")


_OTHERS = {
    "yarn.scheduler.capacity.": "the Capacity Scheduler",
    "yarn.resourcemanager.monitor.capacity.": "the Capacity Scheduler's preemption",
    "yarn.resourcemanager.scheduler.monitor.": "the Capacity Scheduler's preemption",
    "mapred.fairscheduler.": "the Fair Scheduler of MapReduce 1",
    "mapreduce.fairscheduler.": "the Fair Scheduler of MapReduce 1",
}


def property_of_other_scheduler(subject: Subject) -> Iterator[Finding]:
    """Properties that look as if they mattered; the first one of each kind is named."""
    return foreign_properties(subject.site, _OTHERS, "Fair Scheduler")
