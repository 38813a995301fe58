"""Owns the family of the Fair Scheduler of MapReduce 1, with pools. Knows no other scheduler."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from fairshare.core.model.resources import Resource, ResourceTypes
from fairshare.core.schedulers.pools.settings import PoolsSettings
from fairshare.documents.problems import Problem, Problems
from fairshare.settings.allocation import DEFAULT_ALLOCATION_FILE, AllocationFileFamily, Texts
from fairshare.settings.draft import DraftForm
from fairshare.settings.family import PROPERTIES, TASK_SCHEDULER, Claim
from fairshare.settings.jobs import Jobs
from fairshare.settings.parts import named, part
from fairshare.settings.pools.names import ALLOCATION_FILE, PREFIX, SECTION, PoolSwitches
from fairshare.settings.shell import ShellSettings
from fairshare.settings.site import Site
from fairshare.settings.stored_class import StoredClass

if TYPE_CHECKING:
    from fairshare.core.schedulers.pools.scheduler import PoolsScheduler

_CLASS = "org.apache.hadoop.mapred.FairScheduler"


def _stored_classes() -> tuple[StoredClass, ...]:
    from fairshare.settings.pools.stored import STORED_CLASSES

    return STORED_CLASSES


def _elements() -> frozenset[str]:
    from fairshare.settings.pools.file import NAMES

    return NAMES


def _jobs() -> Jobs | None:
    from fairshare.settings.pools.jobs import PoolJobs

    return PoolJobs()


def _draft() -> DraftForm | None:
    from fairshare.settings.pools.pool_settings import DRAFT

    return DRAFT


class PoolsFamily(AllocationFileFamily[PoolsSettings]):
    """The Fair Scheduler of MapReduce 1, with pools."""

    name = "pools"
    alias = "mapreduce"
    title = "Fair Scheduler of MapReduce"
    yarn = part(lambda: named("fairshare.yarn.views.pools:PoolsYarn")())
    classes = ((TASK_SCHEDULER, _CLASS),)
    stored_classes = part(_stored_classes)
    settings_type = PoolsSettings
    allocation_key = ALLOCATION_FILE
    # Of a pools file by itself the release is unknown, so the latest one judges it.
    lone_file_shell = ShellSettings(sections={SECTION: PoolSwitches(generation="1.2")})
    elements = part(_elements)
    distinctive_elements = frozenset({"pool"})  # YARN reads it, but its manual has queues
    jobs = part(_jobs)
    section = SECTION
    section_type = PoolSwitches
    reloaded_files = (DEFAULT_ALLOCATION_FILE,)
    draft = part(_draft)

    def create(self, types: ResourceTypes) -> "PoolsScheduler":
        """As `SchedulerFamily.create`."""
        from fairshare.core.schedulers.pools.scheduler import PoolsScheduler

        return PoolsScheduler(types)

    def rounding(self, settings: Any) -> Resource:
        """Nothing is rounded."""
        return self.checked(settings).types.none

    def claim(self, site: Site, directory: Path) -> Claim | None:
        """Properties of its own."""
        names = site.names(PREFIX)
        if not names:
            return None
        return Claim(
            PROPERTIES, site.place(names[0]), f"{names[0]} is set", f"{TASK_SCHEDULER} to {_CLASS}"
        )

    def resource_types(self, types: ResourceTypes) -> ResourceTypes:
        """The types, and both kinds of slots."""
        from fairshare.settings.pools.reading import with_slots

        return with_slots(types)

    def node_resources(self, site: Site, problems: Problems) -> dict[str, int]:
        """The slots of a node are those of its task tracker."""
        from fairshare.settings.pools.reading import read_node_slots

        return read_node_slots(site, problems)

    def collect(self, texts: Texts, problems: Problems) -> PoolsSettings:
        """As `AllocationFileFamily.collect`."""
        from fairshare.settings.pools.reading import collect_pools

        switches = texts.shell.sections.get(SECTION, PoolSwitches())
        assert isinstance(switches, PoolSwitches)
        return collect_pools(texts.site, texts.document, texts.file, problems, switches)

    def with_allocations(
        self, in_force: PoolsSettings, document: bytes, file: str
    ) -> tuple[PoolsSettings, tuple[Problem, ...]]:
        """As `AllocationFileFamily.with_allocations`."""
        from fairshare.settings.pools.file import read_pools_file

        pools, found = read_pools_file(
            document, file, in_force.generation, hierarchical=in_force.hierarchical
        )
        return msgspec.structs.replace(in_force, allocations=pools), found

    def apply_rules(
        self, settings: PoolsSettings, texts: Texts, cluster: Resource | None, problems: Problems
    ) -> None:
        """As `AllocationFileFamily.apply_rules`."""
        from fairshare.settings.lint_rules import apply_rules
        from fairshare.settings.pools.lint.registry import RULES
        from fairshare.settings.pools.lint.subject import PoolsSubject

        apply_rules(RULES, PoolsSubject(settings, texts, cluster), problems)
