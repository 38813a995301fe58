"""Owns the list of a server's projections in snapshots, as `runtime/stored.py` does for the core.

Importing it registers them. It also defines the parts of a server's snapshot.
"""

from typing import Any, Final

from fairshare.errors import JournalError
from fairshare.live.activities import Activities, Activity, Update
from fairshare.live.biographies import Attempt, Biographies, Biography
from fairshare.live.changes import Changes
from fairshare.live.chronicle import Chronicle
from fairshare.live.configuration import LoadedSettings
from fairshare.live.history import ApplicationHistory, ContainerHistory, ContainerRecord, TaskRecord
from fairshare.live.loaded_versions import LoadedVersion, LoadedVersions
from fairshare.live.master_limits import MasterLimit, MasterLimits
from fairshare.live.node_book import InactiveNode, NodeBook, Utilization
from fairshare.live.scheduler_health import Operation, Run, SchedulerHealth
from fairshare.live.spans import Life, Lives, Mark, Span
from fairshare.manager.resource_manager import ResourceManager
from fairshare.runtime.kinds import Changes as FieldChanges
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
add("attempt", Attempt)
add(
    "biographies",
    Biographies,
    "_none",
    "_applications",
    "_live",
    "_new_queues",
    derived=("reports",),  # begins at 0 with each server
)
add("biography", Biography)
add("changes", Changes, "_last", "_of_all", "_reserved")
add(
    "chronicle",
    Chronicle,
    "state",
    "biographies",
    "node_book",
    "health",
    "activities",
    "master_limits",
    "lives",
    "changes",
    changes=FieldChanges(added={"lives": lambda _: Lives(), "changes": lambda _: Changes()}),
)
add("loaded-settings", LoadedSettings, "settings", "version")
add("application-history", ApplicationHistory)
add("container-history", ContainerHistory, "limit", "_applications", "_finished", "_forgotten")
add("container-record", ContainerRecord)
add("task-record", TaskRecord)
add("loaded-version", LoadedVersion)
add("loaded-versions", LoadedVersions, "_versions")
add("master-limit", MasterLimit)
add("master-limits", MasterLimits, "tested", "_leaves")
add("inactive-node", InactiveNode)
add("node-book", NodeBook, "joined_ms", "inactive", "draining", "utilization", "_added")
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
add("life", Life)
add("lives", Lives, "_lives", "_reserved", "_live")
add("mark", Mark)
add("span", Span)

PARTS: Final[dict[str, type]] = {
    "manager": ResourceManager,
    "history": ContainerHistory,
    "loaded": LoadedSettings,
    "chronicle": Chronicle,
    "versions": LoadedVersions,
}
"""What a server's snapshot holds, by name."""


def check_parts(parts: dict[str, Any]) -> None:
    """Raises JournalError if a snapshot holds something else. Books that are younger than it may
    be missing."""
    if "manager" not in parts:
        raise JournalError("the snapshot has no manager")
    for name, part in parts.items():
        if type(part) is not PARTS.get(name):
            raise JournalError(f"the snapshot holds something else as its {name}")
