"""Owns the list of a server's projections in snapshots, as `runtime/stored.py` does for the core.
Importing it registers them.
"""

from fairshare.runtime.projections.activities import Activities, Activity, Update
from fairshare.runtime.projections.application_versions import ApplicationVersions
from fairshare.runtime.projections.attempt_history import (
    ApplicationAttempts,
    Attempt,
    AttemptHistory,
)
from fairshare.runtime.projections.container_history import (
    ApplicationHistory,
    ContainerHistory,
    ContainerRecord,
    TaskRecord,
)
from fairshare.runtime.projections.loaded_versions import (
    LoadedSettings,
    LoadedVersion,
    LoadedVersions,
)
from fairshare.runtime.projections.master_limits import MasterLimit, MasterLimits
from fairshare.runtime.projections.node_history import InactiveNode, NodeHistory, Utilization
from fairshare.runtime.projections.scheduler_health import Operation, Run, SchedulerHealth
from fairshare.runtime.projections.timelines import Mark, Span, Timeline, Timelines
from fairshare.runtime.stored import STORED

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
add("past-attempt", Attempt)
add(
    "attempt-history",
    AttemptHistory,
    "_none",
    "_applications",
    "_live",
    "_new_queues",
    derived=("reports",),  # begins at 0 with each server
)
add("attempts-of-application", ApplicationAttempts)
add("application-versions", ApplicationVersions, "_last", "_of_all", "_reserved")
add("loaded-settings", LoadedSettings, "settings", "version")
add("application-history", ApplicationHistory)
add("container-history", ContainerHistory, "limit", "_applications", "_finished", "_forgotten")
add("container-record", ContainerRecord)
add("task-record", TaskRecord)
add("loaded-version", LoadedVersion)
add("loaded-versions", LoadedVersions, "_versions")
add("master-limit", MasterLimit)
add("master-limits", MasterLimits, "_leaves")
add("inactive-node", InactiveNode)
add("node-history", NodeHistory, "joined_ms", "inactive", "draining", "utilization", "_added")
add("utilization", Utilization)
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
add("timeline", Timeline)
add("timelines", Timelines, "_lives", "_reserved", "_live")
add("mark", Mark)
add("span", Span)
