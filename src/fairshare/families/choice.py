"""Owns the question which scheduler a configuration means. Knows no scheduler's settings."""

from typing import Final, Literal

from fairshare.config.problems import Place, Problems
from fairshare.config.site import Site

SchedulerName = Literal["fair", "fifo", "capacity", "pools"]

CLASS: Final = "yarn.resourcemanager.scheduler.class"
TASK_SCHEDULER: Final = "mapred.jobtracker.taskScheduler"

_POOLS_PREFIX: Final = "mapred.fairscheduler."
_PACKAGE: Final = "org.apache.hadoop.yarn.server.resourcemanager.scheduler."

_CLASSES: Final[dict[str, dict[str, SchedulerName]]] = {
    CLASS: {
        _PACKAGE + "fair.FairScheduler": "fair",
        _PACKAGE + "capacity.CapacityScheduler": "capacity",
        _PACKAGE + "fifo.FifoScheduler": "fifo",
    },
    TASK_SCHEDULER: {
        "org.apache.hadoop.mapred.FairScheduler": "pools",
        "org.apache.hadoop.mapred.JobQueueTaskScheduler": "fifo",
    },
}


def choose_scheduler(
    site: Site, directory: str, fair_file: bool, capacity_file: bool, problems: Problems
) -> SchedulerName | None:
    """The scheduler that the properties name; else the one whose file is there; else Hadoop's.

    `fair_file` and `capacity_file` say whether the schedulers' files are in `directory` (or named
    by a property). None: an error among the problems says why there is no scheduler.
    """
    named = [(key, name) for key in _CLASSES if (name := site.string(key, "", problems))]
    if named:
        for key, _ in named[1:]:
            problems.warning(
                site.place(key), "scheduler", f"{key} has no effect, because {named[0][0]} is set"
            )
        return _of_class(*named[0], site, problems)
    pools = site.names(_POOLS_PREFIX)
    if pools and not capacity_file:
        problems.trap(
            site.place(pools[0]),
            "scheduler",
            f"no property names a scheduler: pools, because {pools[0]} is set."
            f" Set {TASK_SCHEDULER} to org.apache.hadoop.mapred.FairScheduler to say so",
            "starts the Capacity Scheduler",
        )
        return "pools"
    if fair_file and not capacity_file:
        problems.trap(
            Place(directory),
            "scheduler",
            f"no property names a scheduler: fair, because it has an allocation file."
            f" Set {CLASS} to say so",
            "starts the Capacity Scheduler",
        )
        return "fair"
    return "capacity"


def _of_class(key: str, written: str, site: Site, problems: Problems) -> SchedulerName | None:
    """The scheduler of a Java class, if it can be used."""
    name = _CLASSES[key].get(written)
    if name is None:
        known = ", ".join(_CLASSES[key])
        message = f"{key}: there is no scheduler {written!r} (there are {known})"
        problems.error(site.place(key), "scheduler", message, "starts any class that it finds")
        return None
    return name
