"""Owns the rules about properties that belong to another scheduler.

Unknown properties of the Fair Scheduler itself are reported when they are read; those of other
daemons are ignored.
"""

from collections.abc import Iterator

from fairshare.config.findings import Finding
from fairshare.families.fair.lint.subject import Subject
from fairshare.families.lint_rules import foreign_properties

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
