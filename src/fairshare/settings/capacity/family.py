"""Owns the family of the Capacity Scheduler of Hadoop YARN. Knows no other scheduler."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from fairshare.core.model.resources import Resource, ResourceTypes
from fairshare.core.schedulers.capacity.events import EVENTS
from fairshare.core.schedulers.capacity.settings import CapacitySettings
from fairshare.core.schedulers.protocol import Scheduler
from fairshare.core.schedulers.views import VolatileFieldsOf
from fairshare.documents.problems import Place, Problem, Problems
from fairshare.errors import ConfigurationError
from fairshare.settings.capacity.names import CAPACITY_FILE, PREFIX, misplaced
from fairshare.settings.cluster_size import cluster_of
from fairshare.settings.configuration import STORED, Configuration, ConfigurationStore, Refreshed
from fairshare.settings.configuration_update import Update
from fairshare.settings.draft import DraftForm
from fairshare.settings.family import (
    CLASS,
    OWN_FILE,
    Claim,
    ReadSettings,
    SchedulerFamily,
    Source,
    Watched,
)
from fairshare.settings.maximum import with_maximum
from fairshare.settings.parts import named, part
from fairshare.settings.shell import FILE as SHELL_FILE
from fairshare.settings.shell import ShellSettings
from fairshare.settings.site import Site
from fairshare.settings.site_files import FileReader, file_reader
from fairshare.settings.stored_class import StoredClass

if TYPE_CHECKING:
    from fairshare.core.schedulers.capacity.scheduler import CapacityScheduler
    from fairshare.settings.capacity.lint.subject import CapacitySubject


def _stored_classes() -> tuple[StoredClass, ...]:
    from fairshare.settings.capacity.stored import STORED_CLASSES

    return STORED_CLASSES


def _draft() -> DraftForm | None:
    from fairshare.settings.capacity.draft import DRAFT

    return DRAFT


class CapacityFamily(SchedulerFamily[CapacitySettings]):
    """The Capacity Scheduler of Hadoop YARN."""

    name = "capacity"
    title = "Capacity Scheduler"
    yarn = part(lambda: named("fairshare.yarn.views.capacity:CapacityYarn")())
    classes = (
        (
            CLASS,
            "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler",
        ),
    )
    files = (CAPACITY_FILE,)
    stored_classes = part(_stored_classes)
    events = EVENTS
    settings_type = CapacitySettings
    administrators_field = "administrators_acl"
    grants_minimum = True
    reloaded_files = (CAPACITY_FILE, "yarn-site.xml")
    reloads_on_command = True
    own_properties = (CAPACITY_FILE, PREFIX)
    misplaced = staticmethod(misplaced)
    draft = part(_draft)

    def create(self, types: ResourceTypes) -> "CapacityScheduler":
        """As `SchedulerFamily.create`."""
        from fairshare.core.schedulers.capacity.scheduler import CapacityScheduler

        return CapacityScheduler(types)

    def volatile_fields(self, scheduler: Scheduler) -> VolatileFieldsOf:
        """As `SchedulerFamily.volatile_fields`."""
        from fairshare.core.schedulers.capacity import views
        from fairshare.core.schedulers.capacity.scheduler import CapacityScheduler

        assert isinstance(scheduler, CapacityScheduler)
        return views.volatile_fields(scheduler.state)

    # Reading a directory.

    def claim(self, site: Site, directory: Path) -> Claim | None:
        """Its own file."""
        path = directory / CAPACITY_FILE
        return Claim(OWN_FILE, Place(str(path))) if path.is_file() else None

    def read_properties(
        self,
        directory: Path,
        documents: Sequence[tuple[str, bytes]],
        site: Site,
        stored: Mapping[str, str] | None,
        problems: Problems,
    ) -> tuple[Site, ConfigurationStore]:
        """As `SchedulerFamily.read_properties`: those of capacity-scheduler.xml come last."""
        from fairshare.settings.capacity.store import (
            read_capacity_site,
            read_store,
            written_properties,
        )

        if stored is None:
            merged = read_capacity_site(directory, documents, problems, os.environ)
        else:
            counting = {n: v for n, v in stored.items() if not misplaced(CAPACITY_FILE, n)}
            merged = site.with_values(counting, STORED)
        written = written_properties(directory, stored)
        return merged, read_store(merged, site, written, problems)

    @property
    def gpu_properties(self) -> Mapping[str, str]:
        """The calculator that looks at all types."""
        from fairshare.settings.capacity.scheduler_settings import CALCULATOR, DOMINANT

        return {CALCULATOR: DOMINANT}

    def written_properties(self, directory: Path) -> tuple[tuple[str, str], ...]:
        """As `SchedulerFamily.written_properties`: those of capacity-scheduler.xml."""
        from fairshare.settings.capacity.store import written_properties

        return written_properties(directory)

    def read(self, source: Source, problems: Problems) -> ReadSettings:
        """As `SchedulerFamily.read`, with the node labels of fairshare.toml."""
        from fairshare.settings.capacity.monitor import read_auto_refresh
        from fairshare.settings.capacity.reading import collect_capacity

        auto_refresh_ms = read_auto_refresh(source.site, problems)
        name = str(source.directory / CAPACITY_FILE)
        found = collect_capacity(source.site, problems, name, file_reader(source.directory))
        labelled = _with_labels(found, source.shell, source.directory, problems)
        return ReadSettings(labelled, None, auto_refresh_ms)

    def read_texts(self, site: Site, files: Mapping[str, str]) -> CapacitySettings:
        """As `SchedulerFamily.read_texts`."""
        from fairshare.settings.capacity.reading import read_capacity

        return read_capacity(site)[0]

    def scenario_intervals(self, settings: CapacitySettings) -> tuple[int, int | None]:
        """As `SchedulerFamily.scenario_intervals`: monitors work in rounds, those of preemption if
        there are such."""
        monitor = settings.monitor
        if monitor.enabled:
            return 0, monitor.interval_ms
        if monitor.legacy_queue_management:
            return 0, monitor.legacy_interval_ms
        return 0, settings.queue_expiration_ms if monitor.auto_removal else 0

    def without_reservations(self, configuration: Configuration, forced: bool) -> CapacitySettings:
        """As `SchedulerFamily.without_reservations`: Hadoop has no property that decides it."""
        from fairshare.settings.capacity.changes import unreserving

        return unreserving(self.settings_of(configuration))

    # Changes while a server runs.

    def watched(self, configuration: Configuration) -> Watched | None:
        """Its file, if the policy that refreshes queues is on and documents change nothing."""
        if not configuration.auto_refresh_ms or configuration.store.mutable:
            return None
        return Watched(configuration.directory / CAPACITY_FILE, CAPACITY_FILE)

    def refreshed(
        self,
        started: Configuration,
        in_force: CapacitySettings,
        now: Configuration,
        problems: Problems,
    ) -> CapacitySettings:
        """As `SchedulerFamily.refreshed`, and its file, which must not have gone."""
        from fairshare.settings.capacity.changes import refreshed_capacity
        from fairshare.settings.capacity.store import MISSING_FILE

        missing = [one for one in now.problems if one.rule == MISSING_FILE]
        if missing and not any(one.rule == MISSING_FILE for one in started.problems):
            problems.error(
                Place(missing[0].file),
                "file",
                "there is no such file any more: put it back. What was loaded from it stays in"
                " force",
                "loads the file that it ships, or refuses",
            )
            raise ConfigurationError(problems.all)
        settings = refreshed_capacity(in_force, self.settings_of(now))
        return super().refreshed(started, settings, now, problems)

    def updated_properties(self, properties: Mapping[str, str], update: Update) -> dict[str, str]:
        """As `SchedulerFamily.updated_properties`."""
        from fairshare.settings.capacity.changes import apply_update

        return apply_update(properties, update)

    def is_refreshed(self, property_name: str) -> bool:
        """As `SchedulerFamily.is_refreshed`."""
        from fairshare.settings.capacity.changes import is_refreshed

        return is_refreshed(property_name)

    def with_properties(
        self,
        store: ConfigurationStore,
        in_force: CapacitySettings,
        properties: Mapping[str, str],
        read_file: FileReader,
    ) -> Refreshed:
        """As `SchedulerFamily.with_properties`.

        Reads no file but the one that mapping-rule-json-file names.
        """
        from fairshare.settings.capacity.changes import refreshed_capacity
        from fairshare.settings.capacity.reading import read_capacity

        site = store.with_properties(properties)
        now, found = read_capacity(site, STORED, read_file)
        problems = Problems()
        settings = with_maximum(refreshed_capacity(in_force, now), now, site, problems)
        problems.raise_errors()
        return Refreshed(settings, (), found, store)

    def refusals(self, settings: Any, state: Any) -> tuple[str, ...]:
        """As `SchedulerFamily.refusals`."""
        from fairshare.core.schedulers.capacity.checks import refusals
        from fairshare.core.schedulers.capacity.state import CapacityState

        if not isinstance(state, CapacityState):
            return ()
        return tuple(fault.message for fault in refusals(self.checked(settings), state))

    def edited_file(self, configuration: Configuration) -> Path | None:
        """As `SchedulerFamily.edited_file`."""
        if configuration.store.mutable:
            return None
        return configuration.directory.absolute() / CAPACITY_FILE

    # Lint.

    def lint_directory(
        self, configuration: Configuration, cluster: Resource | None, problems: Problems
    ) -> None:
        """As `SchedulerFamily.lint_directory`."""
        from fairshare.settings.capacity.lint.subject import CapacitySubject

        name = str(configuration.directory / CAPACITY_FILE)
        settings, site = self.settings_of(configuration), configuration.site
        _apply(CapacitySubject(settings, site, name, cluster, True), problems)

    def owns_site(self, site: Site, file: str) -> bool:
        """As `SchedulerFamily.owns_site`."""
        return bool(site.names(PREFIX)) or file == CAPACITY_FILE

    def lint_site(
        self, path: Path, site: Site, cluster: Mapping[str, int] | None, problems: Problems
    ) -> None:
        """One file; unless it names the scheduler, what yarn-site.xml says is unknown.

        A yarn-site.xml without queues is judged beside the file of queues that Hadoop ships.
        """
        from fairshare.settings.capacity.lint.subject import CapacitySubject
        from fairshare.settings.capacity.monitor import read_auto_refresh
        from fairshare.settings.capacity.reading import SHIPPED, collect_capacity

        if CLASS in site and path.name != CAPACITY_FILE and not site.names(PREFIX + "root."):
            site = site.with_values(SHIPPED, str(path))
        read_auto_refresh(site, problems)
        settings = collect_capacity(site, problems, str(path), file_reader(path.parent))
        total = cluster_of(cluster, settings.types)
        has_site = path.name != CAPACITY_FILE and CLASS in site
        _apply(CapacitySubject(settings, site, str(path), total, has_site), problems)

    def lint_draft(
        self,
        text: str,
        file: str,
        configuration: Configuration,
        cluster: Resource | None,
        problems: Problems,
    ) -> CapacitySettings | None:
        """As `SchedulerFamily.lint_draft`."""
        from fairshare.settings.capacity.draft import draft_site
        from fairshare.settings.capacity.lint.subject import CapacitySubject
        from fairshare.settings.capacity.reading import collect_capacity

        site = draft_site(text, file, configuration, problems)
        found = collect_capacity(site, problems, file, file_reader(configuration.directory))
        _apply(CapacitySubject(found, site, file, cluster, True), problems)
        return None if problems.errors else found

    def lint_properties(
        self, store: ConfigurationStore, properties: Mapping[str, str], read_file: FileReader
    ) -> tuple[Problem, ...]:
        """As `SchedulerFamily.lint_properties`."""
        from fairshare.settings.capacity.lint.subject import CapacitySubject
        from fairshare.settings.capacity.reading import collect_capacity

        site = store.with_properties(properties)
        problems = Problems()
        settings = collect_capacity(site, Problems(), STORED, read_file)
        _apply(CapacitySubject(settings, site, STORED), problems)
        return problems.all


def _apply(subject: "CapacitySubject", problems: Problems) -> None:
    from fairshare.settings.capacity.lint.registry import RULES
    from fairshare.settings.lint_rules import apply_rules

    apply_rules(RULES, subject, problems)


def _with_labels(
    capacity: CapacitySettings, settings: ShellSettings, directory: Path, problems: Problems
) -> CapacitySettings:
    """The settings with the node labels of fairshare.toml."""
    from fairshare.settings import node_labels

    tables = settings.labels
    if tables.labels and not capacity.labels_enabled:
        problems.error(
            Place(str(directory / SHELL_FILE)),
            "node-labels",
            f"[labels] needs {node_labels.ENABLED} in yarn-site.xml",
        )
    return msgspec.structs.replace(capacity, labels=tables.labels, label_of_node=tables.nodes)
