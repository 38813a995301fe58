"""Owns the list of a server's projections in snapshots, as `runtime/stored.py` does for the core.
Importing it registers them.

Snapshots of earlier releases have some of the projections as one object, which is only read.
"""

from typing import Any

from fairshare.families.yarn.context import MasterLimit, Operation, Run
from fairshare.projections.activities import Activities, Activity, Update
from fairshare.projections.application_versions import ApplicationVersions
from fairshare.projections.attempt_history import ApplicationAttempts, Attempt, AttemptHistory
from fairshare.projections.container_history import (
    ApplicationHistory,
    ContainerHistory,
    ContainerRecord,
    TaskRecord,
)
from fairshare.projections.loaded_versions import LoadedSettings, LoadedVersion, LoadedVersions
from fairshare.projections.master_limits import MasterLimits
from fairshare.projections.node_history import InactiveNode, NodeHistory, Utilization
from fairshare.projections.scheduler_health import SchedulerHealth
from fairshare.projections.timelines import Mark, Span, Timeline, Timelines
from fairshare.runtime.kinds import Changes
from fairshare.runtime.stored import STORED


class EarlierProjections:
    """Projections by their names of then."""

    __slots__ = (
        "activities",
        "biographies",
        "changes",
        "health",
        "lives",
        "master_limits",
        "node_book",
        "state",
    )

    def parts(self) -> dict[str, Any]:
        """The projections by their names in snapshots of today."""
        return {today: getattr(self, then) for then, today in _NAMES.items()}


_NAMES = {
    "biographies": "attempts",
    "node_book": "nodes",
    "health": "health",
    "activities": "activities",
    "master_limits": "master_limits",
    "lives": "timelines",
    "changes": "application_versions",
}


add = STORED.add

add(
    "activities",
    Activities,
    "_wanted_nodes",
    "_wanted_applications",
    "_nodes",
    "_last",
    "_applications",
)
add("activity", Activity)
add("update", Update)
add("attempt", Attempt)
add(
    "biographies",
    AttemptHistory,
    "_none",
    "_applications",
    "_live",
    "_new_queues",
    derived=("reports",),  # begins at 0 with each server
)
add("biography", ApplicationAttempts)
add("changes", ApplicationVersions, "_last", "_of_all", "_reserved")
add(
    "chronicle",
    EarlierProjections,
    changes=Changes(
        added={"lives": lambda _: Timelines(), "changes": lambda _: ApplicationVersions()}
    ),
)
add("loaded-settings", LoadedSettings, "settings", "version")
add("application-history", ApplicationHistory)
add("container-history", ContainerHistory, "limit", "_applications", "_finished", "_forgotten")
add("container-record", ContainerRecord, changes=Changes(added={"gpus": ()}))
add("task-record", TaskRecord)
add("loaded-version", LoadedVersion)
add("loaded-versions", LoadedVersions, "_versions")
add("master-limit", MasterLimit)
add("master-limits", MasterLimits, "tested", "_leaves")
add("inactive-node", InactiveNode)
add("node-book", NodeHistory, "joined_ms", "inactive", "draining", "utilization", "_added")
add("utilization", Utilization, changes=Changes(added={"containers": None}))
add("operation", Operation)
add("run", Run)
add(
    "scheduler-health",
    SchedulerHealth,
    "_none",
    "_live",
    "last_run_ms",
    "allocation",
    "release",
    "preemption",
    "reservation",
    "allocations",
    "releases",
    "reservations",
)
add("life", Timeline)
add("lives", Timelines, "_lives", "_reserved", "_live")
add("mark", Mark)
add("span", Span)
