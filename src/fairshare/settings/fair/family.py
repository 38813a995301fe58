"""The family of the Fair Scheduler of Hadoop YARN."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fairshare.core.model.resources import Resource, ResourceTypes
from fairshare.core.schedulers.fair.settings import FairSettings
from fairshare.core.schedulers.fair.tree import EVENTS
from fairshare.core.schedulers.protocol import Scheduler
from fairshare.core.schedulers.reasons import Reason
from fairshare.core.schedulers.views import VolatileFieldsOf
from fairshare.documents.problems import Finding, Place, Problem, Problems, add_findings
from fairshare.settings.allocation import DEFAULT_ALLOCATION_FILE, AllocationFileFamily, Texts
from fairshare.settings.configuration import Configuration
from fairshare.settings.engines import runs_here
from fairshare.settings.fair.names import ALLOCATION_FILE, RESERVABLE_NODES
from fairshare.settings.family import CLASS, SHARED_FILE, Claim
from fairshare.settings.parts import lazy, named, part
from fairshare.settings.raising import Raise
from fairshare.settings.shell import FILE as SHELL_FILE
from fairshare.settings.site import Site

if TYPE_CHECKING:
    from fairshare.core.schedulers.fair import scheduler as fair_scheduler
    from fairshare.core.schedulers.fair import views as fair_views
    from fairshare.core.schedulers.fair.scheduler import FairScheduler
    from fairshare.settings import lint_rules
    from fairshare.settings.fair import allocation_file, queue_elements, queue_settings
    from fairshare.settings.fair import lint as fair_lint
    from fairshare.settings.fair import raising as fair_raising
    from fairshare.settings.fair import reading as fair_reading
    from fairshare.settings.fair import stored as fair_stored
    from fairshare.settings.fair.lint import subject as fair_subject
else:
    allocation_file = lazy("fairshare.settings.fair.allocation_file")
    fair_reading = lazy("fairshare.settings.fair.reading")
    fair_lint = lazy("fairshare.settings.fair.lint")
    fair_scheduler = lazy("fairshare.core.schedulers.fair.scheduler")
    fair_raising = lazy("fairshare.settings.fair.raising")
    fair_stored = lazy("fairshare.settings.fair.stored")
    fair_subject = lazy("fairshare.settings.fair.lint.subject")
    fair_views = lazy("fairshare.core.schedulers.fair.views")
    lint_rules = lazy("fairshare.settings.lint_rules")
    queue_elements = lazy("fairshare.settings.fair.queue_elements")
    queue_settings = lazy("fairshare.settings.fair.queue_settings")


def _elements() -> frozenset[str]:
    return allocation_file.NAMES | queue_elements.NAMES


class FairFamily(AllocationFileFamily[FairSettings]):
    """The Fair Scheduler of Hadoop YARN."""

    name = "fair"
    title = "Fair Scheduler"
    yarn = part(lambda: named("fairshare.yarn.views.fair:FairYarn")())
    classes = (
        (CLASS, "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler"),
    )
    stored_classes = part(lambda: fair_stored.STORED_CLASSES)
    events = EVENTS
    settings_type = FairSettings
    allocation_key = ALLOCATION_FILE
    tidies_before_load = True
    grants_minimum = True
    elements = part(_elements)
    reloaded_files = (DEFAULT_ALLOCATION_FILE,)
    has_priorities = False
    draft = part(lambda: queue_settings.DRAFT)

    def create(self, types: ResourceTypes) -> "FairScheduler":
        return fair_scheduler.FairScheduler(types)

    def raised(self, settings: object, reason: Reason, total: Resource) -> Raise | None:
        return fair_raising.raised(self.checked(settings), reason, total)

    def enlarged(self, settings: object, queue: str) -> Raise | None:
        return fair_raising.enlarged(self.checked(settings), queue)

    def volatile_fields(self, scheduler: Scheduler) -> VolatileFieldsOf:
        assert isinstance(scheduler, fair_scheduler.FairScheduler)
        return fair_views.volatile_fields(scheduler.state)

    def rounding(self, settings: object) -> Resource:
        """The increment allocation."""
        return self.checked(settings).increment_allocation

    def claim(self, site: Site, directory: Path) -> Claim | None:
        """An allocation file, or a property that names one."""
        if ALLOCATION_FILE not in site and not (directory / DEFAULT_ALLOCATION_FILE).is_file():
            return None
        return Claim(SHARED_FILE, Place(str(directory)), "it has an allocation file", CLASS)

    def collect(self, texts: Texts, problems: Problems) -> FairSettings:
        return fair_reading.collect_fair(texts.site, texts.document, texts.file, problems)

    def read_texts(self, site: Site, files: Mapping[str, str]) -> FairSettings:
        text = files.get(DEFAULT_ALLOCATION_FILE)
        return fair_reading.read_fair(site, text, DEFAULT_ALLOCATION_FILE)[0]

    def scenario_intervals(self, settings: FairSettings) -> tuple[int, int | None]:
        return settings.update_interval_ms, None

    def with_allocations(
        self, in_force: FairSettings, document: bytes, file: str
    ) -> tuple[FairSettings, tuple[Problem, ...]]:
        allocations, found = allocation_file.read_allocation_file(document, file, in_force.types)
        return msgspec.structs.replace(in_force, allocations=allocations), found

    reserves_in_part = True

    def without_whole_reservations(
        self, configuration: Configuration, entitled_after_ms: int | None, *, forced: bool
    ) -> FairSettings:
        """None of the nodes may be reserved; a file that sets the number of them has decided it."""
        settings = self.settings_of(configuration)
        if RESERVABLE_NODES in configuration.site and not forced:
            return settings
        return msgspec.structs.replace(
            settings, reservable_nodes=0.0, entitled_after_ms=entitled_after_ms
        )

    def lint_directory(
        self, configuration: Configuration, cluster: Resource | None, problems: Problems
    ) -> None:
        if (configuration.directory / SHELL_FILE).is_file():  # else no nodes are known
            settings = self.settings_of(configuration)
            add_findings("one-node-reserved", _one_node_reserved(settings, configuration), problems)
        super().lint_directory(configuration, cluster, problems)

    def apply_rules(
        self, settings: FairSettings, texts: Texts, cluster: Resource | None, problems: Problems
    ) -> None:
        elements = None
        if texts.document is not None:
            elements = fair_subject.find_elements(texts.document, texts.file, settings.types)
        subject = fair_subject.Subject(settings, texts.site, elements, cluster, texts.has_site)
        lint_rules.apply_rules(fair_lint.RULES, subject, problems)


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
