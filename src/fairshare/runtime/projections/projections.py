"""The list of a server's projections, and what snapshots have of each.

To add one, annotate one attribute of `Projections`. A server updates, saves and restores all of
them together.
"""

from collections.abc import Mapping
from typing import Any, Final, get_type_hints

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.identifiers import ApplicationId
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.schedulers.beats import RoundsMemory
from fairshare.core.schedulers.protocol import Scheduler
from fairshare.errors import JournalError
from fairshare.runtime.agenda import AgendaMemory
from fairshare.runtime.observers import Observers
from fairshare.runtime.projections.activities import Activities, Activity, Update
from fairshare.runtime.projections.application_versions import ApplicationVersions
from fairshare.runtime.projections.attempt_history import (
    ApplicationAttempts,
    Attempt,
    AttemptHistory,
    PackedAttempts,
)
from fairshare.runtime.projections.container_history import (
    ApplicationHistory,
    ContainerHistory,
    ContainerRecord,
    PackedHistory,
    TaskRecord,
)
from fairshare.runtime.projections.node_history import InactiveNode, NodeHistory, Utilization
from fairshare.runtime.projections.projection import Projection
from fairshare.runtime.projections.scheduler_history import (
    LoadedSettings,
    LoadedVersion,
    LoadedVersions,
    MasterLimit,
    MasterLimits,
    Operation,
    Run,
    SchedulerHealth,
)
from fairshare.runtime.projections.timelines import Mark, PackedTimeline, Span, Timeline, Timelines
from fairshare.runtime.runtime import RuntimeMemory
from fairshare.runtime.snapshot import STORED

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
)
add("runtime-memory", RuntimeMemory)
add("agenda-memory", AgendaMemory)
add("rounds-memory", RoundsMemory)
add("attempts-of-application", ApplicationAttempts)
add(
    "application-versions",
    ApplicationVersions,
    *("_last", "_of_all", "_reserved"),
    derived=("_gone", "_most", "_numbers", "_read", "_sequences"),
)
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
STORED.add_packed(PackedAttempts, ApplicationAttempts)
STORED.add_packed(PackedHistory, ApplicationHistory)
STORED.add_packed(PackedTimeline, Timeline)


Parts = Mapping[str, Any]
"""The content of a snapshot, by name: the resource manager, each projection, and the memory of the
runtime, unless it had something to do at once."""

MANAGER: Final = "manager"
MEMORY: Final = "memory"


class Projections:
    """All projections of one server, by the names that they have in snapshots."""

    loaded: LoadedSettings
    attempts: AttemptHistory
    nodes: NodeHistory
    health: SchedulerHealth
    activities: Activities
    master_limits: MasterLimits
    timelines: Timelines
    application_versions: ApplicationVersions
    history: ContainerHistory
    versions: LoadedVersions

    def __init__(self, types: ResourceTypes, parts: Parts | None = None) -> None:
        """Those of a snapshot; the ones that it does not have are empty."""
        self._all: list[Projection] = []
        for name, kind in KINDS.items():
            part = (parts or {}).get(name) or kind.empty(types)
            setattr(self, name, part)
            self._all.append(part)

    def subscribe(self, observers: Observers, scheduler: Scheduler) -> None:
        """Follow the records, as `Projection.subscribe` does."""
        for one in self._all:
            one.subscribe(observers, scheduler)

    def pack(self, application: ApplicationId) -> None:
        """Keep what is known of an application that has ended in few bytes."""
        self.attempts.pack(application)
        self.history.pack(application)
        self.timelines.pack(application)

    def parts(self) -> dict[str, Projection]:
        """All of them, for a snapshot."""
        return dict(zip(KINDS, self._all, strict=True))


KINDS: Final[dict[str, type[Projection]]] = get_type_hints(Projections)
"""The projections by name, in the order in which they follow a record."""


_PARTS: Final = {MANAGER: ResourceManager, MEMORY: RuntimeMemory, **KINDS}


def checked_parts(parts: Parts) -> dict[str, Any]:
    """The parts of a snapshot.

    Raises JournalError if a part is missing or is something else. Projections that are younger than
    the snapshot may be missing.
    """
    if MANAGER not in parts:
        raise JournalError("the snapshot has no manager")
    for name, part in parts.items():
        if type(part) is not _PARTS.get(name):
            raise JournalError(f"the snapshot holds something else as its {name}")
    return dict(parts)
