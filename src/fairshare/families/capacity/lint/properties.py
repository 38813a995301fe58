"""Owns the rule about properties that belong to another scheduler."""

from collections.abc import Iterator

from fairshare.config.findings import Finding
from fairshare.families.capacity.lint.subject import CapacitySubject

_OTHERS = {
    "yarn.scheduler.fair.": "the Fair Scheduler",
    "mapred.fairscheduler.": "the Fair Scheduler of MapReduce 1",
    "mapred.capacity-scheduler.": "the Capacity Scheduler of MapReduce 1",
}


def property_of_other_scheduler(subject: CapacitySubject) -> Iterator[Finding]:
    """Properties that look as if they mattered; the first one of each kind is named."""
    for prefix, owner in _OTHERS.items():
        names = subject.site.names(prefix)
        if names:
            more = f" (and {len(names) - 1} more {prefix}*)" if len(names) > 1 else ""
            yield Finding(
                subject.site.place(names[0]),
                f"{names[0]}{more} has no effect: it belongs to {owner}",
                "ignores it under the Capacity Scheduler",
                "warning",
            )
