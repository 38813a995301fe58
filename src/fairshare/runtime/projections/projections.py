"""Owns the list of a server's projections. To add one, annotate one attribute of `Projections`.

A server updates, saves and restores all of them together. `stored.py` says what snapshots have of
each; it is imported here, so that it is known wherever snapshots are read.
"""

from collections.abc import Mapping
from typing import Any, Final, get_type_hints

import fairshare.runtime.projections.stored  # noqa: F401 - registers what snapshots hold
from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.record import Record
from fairshare.core.schedulers.protocol import Scheduler
from fairshare.errors import JournalError
from fairshare.runtime.projections.activities import Activities
from fairshare.runtime.projections.application_versions import ApplicationVersions
from fairshare.runtime.projections.attempt_history import AttemptHistory
from fairshare.runtime.projections.container_history import ContainerHistory
from fairshare.runtime.projections.loaded_versions import LoadedSettings, LoadedVersions
from fairshare.runtime.projections.master_limits import MasterLimits
from fairshare.runtime.projections.node_history import NodeHistory
from fairshare.runtime.projections.projection import Projection
from fairshare.runtime.projections.scheduler_health import SchedulerHealth
from fairshare.runtime.projections.timelines import Timelines

Parts = Mapping[str, Any]
"""The content of a snapshot, by name: the resource manager and each projection."""

MANAGER: Final = "manager"


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

    def observe(self, record: Record, scheduler: Scheduler) -> None:
        """Apply one record, as `Projection.observe` does."""
        for one in self._all:
            one.observe(record, scheduler)

    def parts(self) -> dict[str, Projection]:
        """All of them, for a snapshot."""
        return dict(zip(KINDS, self._all, strict=True))


KINDS: Final[dict[str, type[Projection]]] = get_type_hints(Projections)
"""The projections by name, in the order in which they observe a record."""


def checked_parts(parts: Parts) -> dict[str, Any]:
    """The parts of a snapshot.

    Raises JournalError if a part is missing or is something else. Projections that are younger than
    the snapshot may be missing.
    """
    if MANAGER not in parts:
        raise JournalError("the snapshot has no manager")
    for name, part in parts.items():
        if type(part) is not (ResourceManager if name == MANAGER else KINDS.get(name)):
            raise JournalError(f"the snapshot holds something else as its {name}")
    return dict(parts)
