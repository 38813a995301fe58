"""Owns the family of the Fair Scheduler of Hadoop YARN. Knows no other scheduler."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from fairshare.config.engines import runs_here
from fairshare.config.findings import Finding, add_findings
from fairshare.config.problems import Place, Problem, Problems
from fairshare.config.shell import FILE as SHELL_FILE
from fairshare.config.site import Site
from fairshare.families.allocation import (
    DEFAULT_ALLOCATION_FILE,
    AllocationFileFamily,
    find_allocation_file,
    read_again,
)
from fairshare.families.cluster_size import cluster_of
from fairshare.families.configuration import Configuration
from fairshare.families.fair import allocation_file, queue_elements
from fairshare.families.fair.draft import DRAFT
from fairshare.families.fair.lint.registry import RULES
from fairshare.families.fair.lint.subject import Subject, find_elements
from fairshare.families.fair.reading import (
    ALLOCATION_FILE,
    RESERVABLE_NODES,
    collect_fair,
    read_fair,
)
from fairshare.families.fair.stored import STORED_CLASSES
from fairshare.families.fair.yarn import FairYarn
from fairshare.families.family import CLASS, SHARED_FILE, Claim, ReadSettings, Source
from fairshare.families.lint_rules import apply_rules
from fairshare.model.resources import Resource, ResourceTypes
from fairshare.schedulers.fair import views
from fairshare.schedulers.fair.events import EVENTS
from fairshare.schedulers.fair.scheduler import FairScheduler
from fairshare.schedulers.fair.settings import FairSettings
from fairshare.schedulers.protocol import Scheduler
from fairshare.schedulers.views import VolatileFieldsOf


class FairFamily(AllocationFileFamily[FairSettings]):
    """The Fair Scheduler of Hadoop YARN."""

    name = "fair"
    title = "Fair Scheduler"
    yarn = FairYarn()
    classes = (
        (CLASS, "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler"),
    )
    demonstration = "fair: every team gets its share"
    stored_classes = STORED_CLASSES
    events = EVENTS
    settings_type = FairSettings
    allocation_key = ALLOCATION_FILE
    tidies_before_load = True
    grants_minimum = True
    elements = allocation_file.NAMES | queue_elements.NAMES
    reloaded_files = (DEFAULT_ALLOCATION_FILE,)
    has_priorities = False
    draft = DRAFT

    def create(self, types: ResourceTypes) -> FairScheduler:
        """As `SchedulerFamily.create`."""
        return FairScheduler(types)

    def volatile_fields(self, scheduler: Scheduler) -> VolatileFieldsOf:
        """As `SchedulerFamily.volatile_fields`."""
        assert isinstance(scheduler, FairScheduler)
        return views.volatile_fields(scheduler.state)

    def claim(self, site: Site, directory: Path) -> Claim | None:
        """An allocation file, or a property that names one."""
        if ALLOCATION_FILE not in site and not (directory / DEFAULT_ALLOCATION_FILE).is_file():
            return None
        return Claim(SHARED_FILE, Place(str(directory)), "it has an allocation file", CLASS)

    def read(self, source: Source, problems: Problems) -> ReadSettings:
        """As `SchedulerFamily.read`."""
        path, document = find_allocation_file(
            source.directory, source.site, ALLOCATION_FILE, problems
        )
        name = str(path or source.directory / DEFAULT_ALLOCATION_FILE)
        return ReadSettings(collect_fair(source.site, document, name, problems), path)

    def read_texts(self, site: Site, files: Mapping[str, str]) -> FairSettings:
        """As `SchedulerFamily.read_texts`."""
        text = files.get(DEFAULT_ALLOCATION_FILE)
        return read_fair(site, text, DEFAULT_ALLOCATION_FILE)[0]

    def scenario_intervals(self, settings: FairSettings) -> tuple[int, int | None]:
        """As `SchedulerFamily.scenario_intervals`."""
        return settings.update_interval_ms, None

    def with_allocations(
        self, in_force: FairSettings, document: bytes, file: str
    ) -> tuple[FairSettings, tuple[Problem, ...]]:
        """As `AllocationFileFamily.with_allocations`."""
        allocations, found = allocation_file.read_allocation_file(document, file, in_force.types)
        return msgspec.structs.replace(in_force, allocations=allocations), found

    def without_reservations(self, configuration: Configuration, forced: bool) -> FairSettings:
        """None of the nodes may be reserved; a file that sets the part of them has decided it."""
        settings = self.settings_of(configuration)
        if RESERVABLE_NODES in configuration.site and not forced:
            return settings
        return msgspec.structs.replace(settings, reservable_nodes=0.0)

    def lint_directory(
        self, configuration: Configuration, cluster: Resource | None, problems: Problems
    ) -> None:
        """As `SchedulerFamily.lint_directory`."""
        settings, site = self.settings_of(configuration), configuration.site
        if (configuration.directory / SHELL_FILE).is_file():  # else no nodes are known
            add_findings("one-node-reserved", _one_node_reserved(settings, configuration), problems)
        document = read_again(configuration.allocation_path)
        file = str(configuration.allocation_path)
        _apply(settings, site, document, file, cluster, True, problems)

    def lint_site(
        self, path: Path, site: Site, cluster: Mapping[str, int] | None, problems: Problems
    ) -> None:
        """As `SchedulerFamily.lint_site`."""
        settings = collect_fair(site, None, "", problems)
        total = cluster_of(cluster, settings.types)
        _apply(settings, site, None, "", total, True, problems)

    def lint_elements(
        self, path: Path, document: bytes, cluster: Mapping[str, int] | None, problems: Problems
    ) -> None:
        """As `SchedulerFamily.lint_elements`."""
        site = Site.of({})
        settings = collect_fair(site, document, str(path), problems)
        total = cluster_of(cluster, settings.types)
        _apply(settings, site, document, str(path), total, False, problems)

    def lint_draft(
        self,
        text: str,
        file: str,
        configuration: Configuration,
        cluster: Resource | None,
        problems: Problems,
    ) -> None:
        """As `SchedulerFamily.lint_draft`."""
        site, document = configuration.site, text.encode()
        settings = collect_fair(site, document, file, problems)
        _apply(settings, site, document, file, cluster, True, problems)


def _apply(
    settings: FairSettings,
    site: Site,
    document: bytes | None,
    file: str,
    cluster: Resource | None,
    has_site: bool,
    problems: Problems,
) -> None:
    elements = None if document is None else find_elements(document, file, settings.types)
    apply_rules(RULES, Subject(settings, site, elements, cluster, has_site), problems)


def _one_node_reserved(settings: FairSettings, configuration: Configuration) -> Iterator[Finding]:
    """A share of nodes that may be reserved, written down for a cluster of one node."""
    engine, site = configuration.shell.engine, configuration.site
    if not runs_here(engine.kind) or engine.nodes != 1 or engine.reservations != "auto":
        return
    if RESERVABLE_NODES not in site:
        return
    if settings.reservable_nodes > 0:
        yield Finding(
            site.place(RESERVABLE_NODES),
            f"{RESERVABLE_NODES} lets the only node be reserved: a container that does not fit yet"
            ' stops all others. Leave it out, or set reservations = "on" in [engine] of'
            " fairshare.toml if that is meant",
            "reserves the node",
        )
