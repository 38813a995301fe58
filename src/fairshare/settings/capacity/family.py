"""The family of the Capacity Scheduler of Hadoop YARN."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fairshare.core.model.resources import Resource, ResourceTypes
from fairshare.core.schedulers.capacity.events import EVENTS
from fairshare.core.schedulers.capacity.settings import CapacitySettings
from fairshare.core.schedulers.protocol import Scheduler
from fairshare.core.schedulers.reasons import Reason
from fairshare.core.schedulers.views import VolatileFieldsOf
from fairshare.documents.problems import Place, Problem, Problems
from fairshare.errors import ConfigurationError
from fairshare.settings.capacity.names import CAPACITY_FILE, PREFIX, misplaced
from fairshare.settings.configuration import STORED, Configuration, ConfigurationStore, Refreshed
from fairshare.settings.configuration_update import Update
from fairshare.settings.family import (
    CLASS,
    OWN_FILE,
    Claim,
    ReadSettings,
    SchedulerFamily,
    Source,
    Watched,
)
from fairshare.settings.parts import lazy, named, part
from fairshare.settings.raising import Raise
from fairshare.settings.resource_types import cluster_of, with_maximum
from fairshare.settings.shell import FILE as SHELL_FILE
from fairshare.settings.site import Site
from fairshare.settings.site_files import FileReader, file_reader

if TYPE_CHECKING:
    from fairshare.core.schedulers.capacity import checks as capacity_checks
    from fairshare.core.schedulers.capacity import scheduler as capacity_scheduler
    from fairshare.core.schedulers.capacity import state as capacity_state
    from fairshare.core.schedulers.capacity import views as capacity_views
    from fairshare.core.schedulers.capacity.scheduler import CapacityScheduler
    from fairshare.settings import lint_rules, nodes
    from fairshare.settings.capacity import changes as capacity_changes
    from fairshare.settings.capacity import lint as capacity_lint
    from fairshare.settings.capacity import monitor as capacity_monitor
    from fairshare.settings.capacity import raising as capacity_raising
    from fairshare.settings.capacity import reading as capacity_reading
    from fairshare.settings.capacity import scheduler_settings
    from fairshare.settings.capacity import store as capacity_store
    from fairshare.settings.capacity import stored as capacity_stored
    from fairshare.settings.capacity.lint import subject as capacity_subject
    from fairshare.settings.capacity.lint.subject import CapacitySubject
else:
    capacity_changes = lazy("fairshare.settings.capacity.changes")
    capacity_checks = lazy("fairshare.core.schedulers.capacity.checks")
    capacity_monitor = lazy("fairshare.settings.capacity.monitor")
    capacity_reading = lazy("fairshare.settings.capacity.reading")
    capacity_lint = lazy("fairshare.settings.capacity.lint")
    capacity_scheduler = lazy("fairshare.core.schedulers.capacity.scheduler")
    capacity_state = lazy("fairshare.core.schedulers.capacity.state")
    capacity_store = lazy("fairshare.settings.capacity.store")
    capacity_raising = lazy("fairshare.settings.capacity.raising")
    capacity_stored = lazy("fairshare.settings.capacity.stored")
    capacity_subject = lazy("fairshare.settings.capacity.lint.subject")
    capacity_views = lazy("fairshare.core.schedulers.capacity.views")
    lint_rules = lazy("fairshare.settings.lint_rules")
    nodes = lazy("fairshare.settings.nodes")
    scheduler_settings = lazy("fairshare.settings.capacity.scheduler_settings")


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
    stored_classes = part(lambda: capacity_stored.STORED_CLASSES)
    events = EVENTS
    settings_type = CapacitySettings
    administrators_field = "administrators_acl"
    grants_minimum = True
    reloaded_files = (CAPACITY_FILE, "yarn-site.xml")
    reloads_on_command = True
    own_properties = (CAPACITY_FILE, PREFIX)
    misplaced = staticmethod(misplaced)
    draft = part(lambda: capacity_changes.DRAFT)

    def create(self, types: ResourceTypes) -> "CapacityScheduler":
        return capacity_scheduler.CapacityScheduler(types)

    def raised(self, settings: object, reason: Reason, total: Resource) -> Raise | None:
        return capacity_raising.raised(self.checked(settings), reason, total)

    def enlarged(self, settings: object, queue: str) -> Raise | None:
        return capacity_raising.enlarged(self.checked(settings), queue)

    def volatile_fields(self, scheduler: Scheduler) -> VolatileFieldsOf:
        assert isinstance(scheduler, capacity_scheduler.CapacityScheduler)
        return capacity_views.volatile_fields(scheduler.state)

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
        """The properties of all files; those of capacity-scheduler.xml come last."""
        if stored is None:
            merged = capacity_store.read_capacity_site(directory, documents, problems, os.environ)
        else:
            counting = {n: v for n, v in stored.items() if not misplaced(CAPACITY_FILE, n)}
            merged = site.with_values(counting, STORED)
        written = capacity_store.written_properties(directory, stored)
        return merged, capacity_store.read_store(merged, site, written, problems)

    @property
    def gpu_properties(self) -> Mapping[str, str]:
        """The calculator that looks at all types."""
        return {scheduler_settings.CALCULATOR: scheduler_settings.DOMINANT}

    def written_properties(self, directory: Path) -> tuple[tuple[str, str], ...]:
        """Those of capacity-scheduler.xml."""
        return capacity_store.written_properties(directory)

    def read(self, source: Source, problems: Problems) -> ReadSettings:
        """The settings, with the node labels of fairshare.toml."""
        auto_refresh_ms = capacity_monitor.read_auto_refresh(source.site, problems)
        name = str(source.directory / CAPACITY_FILE)
        found = capacity_reading.collect_capacity(
            source.site, problems, name, file_reader(source.directory)
        )
        # The settings with the node labels of fairshare.toml.
        tables = source.shell.labels
        if tables.labels and not found.labels_enabled:
            problems.error(
                Place(str(source.directory / SHELL_FILE)),
                "node-labels",
                f"[labels] needs {nodes.ENABLED} in yarn-site.xml",
            )
        labelled = msgspec.structs.replace(found, labels=tables.labels, label_of_node=tables.nodes)
        return ReadSettings(labelled, None, auto_refresh_ms)

    def read_texts(self, site: Site, files: Mapping[str, str]) -> CapacitySettings:
        return capacity_reading.read_capacity(site)[0]

    def scenario_intervals(self, settings: CapacitySettings) -> tuple[int, int | None]:
        """Monitors work in rounds, those of preemption if there are such."""
        monitor = settings.monitor
        if monitor.enabled:
            return 0, monitor.interval_ms
        if monitor.legacy_queue_management:
            return 0, monitor.legacy_interval_ms
        return 0, settings.queue_expiration_ms if monitor.auto_removal else 0

    def without_whole_reservations(
        self, configuration: Configuration, entitled_after_ms: int | None, *, forced: bool
    ) -> CapacitySettings:
        """None at all. Hadoop has no property that decides it.

        `reservations-continue-look-all-nodes` goes with them: where a container would need another
        reservation given up first, it takes the room that it waits for away from its siblings.
        """
        settings = self.settings_of(configuration)
        return msgspec.structs.replace(settings, reservations=False, continue_looking=False)

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
        """The settings of its file, which must not have gone."""
        missing = [one for one in now.problems if one.rule == capacity_store.MISSING_FILE]
        if missing and not any(one.rule == capacity_store.MISSING_FILE for one in started.problems):
            problems.error(
                Place(missing[0].file),
                "file",
                "there is no such file any more: put it back. What was loaded from it stays in"
                " force",
                "loads the file that it ships, or refuses",
            )
            raise ConfigurationError(problems.all)
        settings = capacity_changes.refreshed_capacity(in_force, self.settings_of(now))
        return super().refreshed(started, settings, now, problems)

    def updated_properties(self, properties: Mapping[str, str], update: Update) -> dict[str, str]:
        return capacity_changes.apply_update(properties, update)

    def is_refreshed(self, property_name: str) -> bool:
        return capacity_changes.is_refreshed(property_name)

    def with_properties(
        self,
        store: ConfigurationStore,
        in_force: CapacitySettings,
        properties: Mapping[str, str],
        read_file: FileReader,
    ) -> Refreshed:
        """Reads no file but the one that mapping-rule-json-file names."""
        site = store.with_properties(properties)
        now, file_problems = capacity_reading.read_capacity(site, STORED, read_file)
        problems = Problems()
        settings = with_maximum(
            capacity_changes.refreshed_capacity(in_force, now), now, site, problems
        )
        problems.raise_errors()
        return Refreshed(settings, (), file_problems, store)

    def refusals(self, settings: object, state: object) -> tuple[str, ...]:
        if not isinstance(state, capacity_state.CapacityState):
            return ()
        return tuple(
            fault.message for fault in capacity_checks.refusals(self.checked(settings), state)
        )

    def edited_file(self, configuration: Configuration) -> Path | None:
        if configuration.store.mutable:
            return None
        return configuration.directory.absolute() / CAPACITY_FILE

    # Lint.

    def lint_directory(
        self, configuration: Configuration, cluster: Resource | None, problems: Problems
    ) -> None:
        name = str(configuration.directory / CAPACITY_FILE)
        settings, site = self.settings_of(configuration), configuration.site
        _apply(capacity_subject.CapacitySubject(settings, site, name, cluster, True), problems)

    def owns_site(self, site: Site, file: str) -> bool:
        return bool(site.names(PREFIX)) or file == CAPACITY_FILE

    def lint_site(
        self, path: Path, site: Site, cluster: Mapping[str, int] | None, problems: Problems
    ) -> None:
        """One file; unless it names the scheduler, what yarn-site.xml says is unknown.

        A yarn-site.xml without queues is judged beside the file of queues that Hadoop ships.
        """
        if CLASS in site and path.name != CAPACITY_FILE and not site.names(PREFIX + "root."):
            site = site.with_values(capacity_reading.SHIPPED, str(path))
        capacity_monitor.read_auto_refresh(site, problems)
        settings = capacity_reading.collect_capacity(
            site, problems, str(path), file_reader(path.parent)
        )
        total = cluster_of(cluster, settings.types)
        has_site = path.name != CAPACITY_FILE and CLASS in site
        _apply(
            capacity_subject.CapacitySubject(settings, site, str(path), total, has_site), problems
        )

    def lint_draft(
        self,
        text: str,
        file: str,
        configuration: Configuration,
        cluster: Resource | None,
        problems: Problems,
    ) -> CapacitySettings | None:
        site = capacity_changes.draft_site(text, file, configuration, problems)
        settings = capacity_reading.collect_capacity(
            site, problems, file, file_reader(configuration.directory)
        )
        _apply(capacity_subject.CapacitySubject(settings, site, file, cluster, True), problems)
        return None if problems.errors else settings

    def lint_properties(
        self, store: ConfigurationStore, properties: Mapping[str, str], read_file: FileReader
    ) -> tuple[Problem, ...]:
        site = store.with_properties(properties)
        problems = Problems()
        settings = capacity_reading.collect_capacity(site, Problems(), STORED, read_file)
        _apply(capacity_subject.CapacitySubject(settings, site, STORED), problems)
        return problems.all


def _apply(subject: "CapacitySubject", problems: Problems) -> None:
    lint_rules.apply_rules(capacity_lint.RULES, subject, problems)
