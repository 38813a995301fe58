"""Owns the rule about properties that belong to another scheduler."""

from collections.abc import Iterator

from fairshare.config.problems import Finding
from fairshare.families.capacity.lint.subject import CapacitySubject
from fairshare.families.lint_rules import foreign_properties

_OTHERS = {
    "yarn.scheduler.fair.": "the Fair Scheduler",
    "mapred.fairscheduler.": "the Fair Scheduler of MapReduce 1",
    "mapred.capacity-scheduler.": "the Capacity Scheduler of MapReduce 1",
}


def property_of_other_scheduler(subject: CapacitySubject) -> Iterator[Finding]:
    """Properties that look as if they mattered; the first one of each kind is named."""
    return foreign_properties(subject.site, _OTHERS, "Capacity Scheduler")
