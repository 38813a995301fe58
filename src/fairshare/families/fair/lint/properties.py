"""Owns the rules about properties that belong to another scheduler.

Unknown properties of the Fair Scheduler itself are reported when they are read; those of other
daemons are ignored.
"""

from collections.abc import Iterator

from fairshare.config.findings import Finding
from fairshare.families.fair.lint.subject import Subject

_OTHERS = {
    "yarn.scheduler.capacity.": "the Capacity Scheduler",
    "yarn.resourcemanager.monitor.capacity.": "the Capacity Scheduler's preemption",
    "yarn.resourcemanager.scheduler.monitor.": "the Capacity Scheduler's preemption",
    "mapred.fairscheduler.": "the Fair Scheduler of MapReduce 1",
    "mapreduce.fairscheduler.": "the Fair Scheduler of MapReduce 1",
}


def property_of_other_scheduler(subject: Subject) -> Iterator[Finding]:
    """Properties that look as if they mattered; the first one of each kind is named."""
    for prefix, owner in _OTHERS.items():
        names = subject.site.names(prefix)
        if names:
            more = f" (and {len(names) - 1} more {prefix}*)" if len(names) > 1 else ""
            yield Finding(
                subject.site.place(names[0]),
                f"{names[0]}{more} has no effect: it belongs to {owner}",
                "ignores it under the Fair Scheduler",
                "warning",
            )
