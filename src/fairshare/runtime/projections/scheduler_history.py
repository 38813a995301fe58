"""What a server knows of its scheduler beyond its state, from records alone: its last operations
(allocations, releases, preemptions, reservations), the limits for masters as of their last test, as
Hadoop shows them, and the last `KEPT` versions of its settings with their instants."""

from collections.abc import Sequence
from typing import Self

import msgspec

from fairshare.core.model.applications import Application
from fairshare.core.model.events import (
    ConfigurationLoaded,
    ContainerAllocated,
    ContainerCompleted,
    ContainerReserved,
    Event,
    ExitCode,
)
from fairshare.core.model.identifiers import ApplicationId, ContainerId, application_of
from fairshare.core.model.inputs import NodeBeat
from fairshare.core.model.resources import Resource, ResourceTypes, add
from fairshare.core.record import Record
from fairshare.core.schedulers.protocol import Scheduler
from fairshare.errors import InputError
from fairshare.runtime.observers import Observers
from fairshare.runtime.projections.projection import Projection
from fairshare.settings.registry import family_of


class Operation(msgspec.Struct, frozen=True):
    """An operation on a node; `container` is None where it has none."""

    node: str
    container: ContainerId | None
    queue: str


class Run(msgspec.Struct):
    """The result of one node update: counts and amounts."""

    resources: Resource
    count: int = 0

    def more(self, amounts: Resource) -> None:
        self.count += 1
        self.resources = add(self.resources, amounts)


class SchedulerHealth(Projection):
    """The last operation of each kind, and the last node update. None: there was none yet."""

    def __init__(self, types: ResourceTypes) -> None:
        self._none = types.none
        self._live: dict[ContainerId, ContainerAllocated] = {}
        self.last_run_ms = 0
        self.allocation: Operation | None = None
        self.release: Operation | None = None
        self.preemption: Operation | None = None
        self.reservation: Operation | None = None
        self.allocations = Run(self._none)
        self.releases = Run(self._none)
        self.reservations = Run(self._none)

    @classmethod
    def empty(cls, types: ResourceTypes) -> Self:
        return cls(types)

    def subscribe(self, observers: Observers, scheduler: Scheduler) -> None:
        applications = scheduler.state.applications
        grants: list[ContainerAllocated] = []  # of one commit
        first: int | None = None  # of those of the last node update

        def beat(record: Record) -> None:
            nonlocal first
            first = len(grants)
            self.last_run_ms = record.now_ms
            if self.reservations.count:
                self.reservations = Run(self._none)
            if self.releases.count:
                self.releases = Run(self._none)

        def allocated(record: Record, event: ContainerAllocated) -> None:
            self._live[event.container] = event
            grants.append(event)

        def reserved(record: Record, event: ContainerReserved) -> None:
            self.reservation = Operation(event.node, None, _queue(applications, event.application))
            self.reservations.more(event.resource)

        def completed(record: Record, event: ContainerCompleted) -> None:
            grant = self._live.pop(event.container, None)
            if grant is None:
                return
            queue = _queue(applications, application_of(event.container))
            self.release = Operation(grant.node, event.container, queue)
            self.releases.more(grant.resource)
            if event.exit_code == ExitCode.PREEMPTED:
                self.preemption = self.release

        def committed(records: Sequence[Record]) -> None:
            nonlocal first
            if first is not None:
                self.allocations = Run(self._none)
            for event in grants[first or 0 :]:
                self.allocations.more(event.resource)
            if grants:
                last = grants[-1]
                queue = _queue(applications, last.application)
                self.allocation = Operation(last.node, last.container, queue)
            grants.clear()
            first = None

        observers.before(beat, NodeBeat)
        observers.events(allocated, ContainerAllocated)
        observers.events(reserved, ContainerReserved)
        observers.events(completed, ContainerCompleted)
        observers.commits(committed)


def _queue(applications: dict[ApplicationId, Application], number: ApplicationId) -> str:
    found = applications.get(number)
    return "N/A" if found is None else found.queue


class MasterLimit(msgspec.Struct, frozen=True):
    """The limits for all masters of a leaf, for those of one user, and for each present user."""

    masters: Resource
    user: Resource
    users: dict[str, Resource]


class MasterLimits(Projection):
    """The limits by leaf."""

    def __init__(self) -> None:
        self._leaves: dict[str, MasterLimit] = {}

    def of_leaf(self, leaf: str) -> MasterLimit | None:
        """Those of a leaf, if they were tested."""
        return self._leaves.get(leaf)

    def subscribe(self, observers: Observers, scheduler: Scheduler) -> None:
        yarn = family_of(scheduler.name).yarn
        tested = 0

        def tests(record: Record, event: Event) -> None:
            nonlocal tested
            if record.sequence == tested or (
                type(event) is ContainerAllocated and not event.master
            ):
                return
            tested = record.sequence
            for leaf, limit in yarn.tested_master_limits(record, scheduler.state).items():
                if limit is None:
                    self._leaves.pop(leaf, None)
                else:
                    self._leaves[leaf] = limit

        observers.events(tests, *yarn.master_limit_events)


KEPT = 50


class LoadedVersion(msgspec.Struct, frozen=True):
    """Settings as the scheduler took them over, as JSON, and since when they were in force.

    `version` is the number of the record that loaded them.
    """

    version: int
    loaded_ms: int
    settings: bytes


class LoadedSettings(Projection):
    """The last settings of the journal, and the number of their record."""

    def __init__(self) -> None:
        self.settings: bytes | None = None
        self.version = 0

    def subscribe(self, observers: Observers, scheduler: Scheduler) -> None:
        observers.events(self._loaded, ConfigurationLoaded)

    def _loaded(self, record: Record, event: ConfigurationLoaded) -> None:
        self.settings, self.version = event.settings, record.sequence


class LoadedVersions(Projection):
    """The versions, the oldest first."""

    def __init__(self) -> None:
        self._versions: dict[int, LoadedVersion] = {}

    def subscribe(self, observers: Observers, scheduler: Scheduler) -> None:
        observers.events(self._loaded, ConfigurationLoaded)

    def _loaded(self, record: Record, event: ConfigurationLoaded) -> None:
        version = record.sequence
        self._versions[version] = LoadedVersion(version, record.now_ms, event.settings)
        if len(self._versions) > KEPT:
            del self._versions[next(iter(self._versions))]

    @property
    def all(self) -> tuple[LoadedVersion, ...]:
        """All that are kept, the oldest first."""
        return tuple(self._versions.values())

    def get(self, version: int) -> LoadedVersion:
        """One version; raises InputError (`unknown-version`)."""
        version_settings = self._versions.get(version)
        if version_settings is None:
            versions = ", ".join(map(str, self._versions)) or "none"
            raise InputError(
                "unknown-version",
                f"no configuration was loaded by record {version}, or it is too long ago: the"
                f" versions that are kept are {versions}",
            )
        return version_settings
