"""The family of the Fair Scheduler of MapReduce 1, with pools."""

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairshare.core.model.resources import Resource, ResourceTypes
from fairshare.core.schedulers.pools.settings import PoolAllocation, PoolsSettings
from fairshare.core.schedulers.reasons import Cause, Reason
from fairshare.documents.problems import Problem, Problems
from fairshare.settings.allocation import DEFAULT_ALLOCATION_FILE, AllocationFileFamily, Texts
from fairshare.settings.family import PROPERTIES, TASK_SCHEDULER, Claim
from fairshare.settings.parts import lazy, named, part
from fairshare.settings.pools.names import ALLOCATION_FILE, PREFIX, SECTION, PoolSwitches
from fairshare.settings.raising import FACTORS, Raise, counts_above
from fairshare.settings.shell import ShellSettings
from fairshare.settings.site import Site

if TYPE_CHECKING:
    from fairshare.core.schedulers.pools import scheduler as pools_scheduler
    from fairshare.core.schedulers.pools.scheduler import PoolsScheduler
    from fairshare.settings import lint_rules
    from fairshare.settings.pools import file as pools_file
    from fairshare.settings.pools import jobs as pools_jobs
    from fairshare.settings.pools import lint as pools_lint
    from fairshare.settings.pools import pool_settings
    from fairshare.settings.pools import reading as pools_reading
    from fairshare.settings.pools import stored as pools_stored
else:
    lint_rules = lazy("fairshare.settings.lint_rules")
    pool_settings = lazy("fairshare.settings.pools.pool_settings")
    pools_file = lazy("fairshare.settings.pools.file")
    pools_jobs = lazy("fairshare.settings.pools.jobs")
    pools_lint = lazy("fairshare.settings.pools.lint")
    pools_reading = lazy("fairshare.settings.pools.reading")
    pools_scheduler = lazy("fairshare.core.schedulers.pools.scheduler")
    pools_stored = lazy("fairshare.settings.pools.stored")

_CLASS = "org.apache.hadoop.mapred.FairScheduler"


class PoolsFamily(AllocationFileFamily[PoolsSettings]):
    """The Fair Scheduler of MapReduce 1, with pools."""

    name = "pools"
    alias = "mapreduce"
    title = "Fair Scheduler of MapReduce"
    yarn = part(lambda: named("fairshare.yarn.views.interface:PoolsYarn")())
    classes = ((TASK_SCHEDULER, _CLASS),)
    stored_classes = part(lambda: pools_stored.STORED_CLASSES)
    settings_type = PoolsSettings
    allocation_key = ALLOCATION_FILE
    # Of a pools file by itself the release is unknown, so the latest one judges it.
    lone_file_shell = ShellSettings(sections={SECTION: PoolSwitches(generation="1.2")})
    elements = part(lambda: pools_file.NAMES)
    distinctive_elements = frozenset({"pool"})  # YARN reads it, but its manual has queues
    jobs = part(lambda: pools_jobs.PoolJobs())
    section = SECTION
    section_type = PoolSwitches
    reloaded_files = (DEFAULT_ALLOCATION_FILE,)
    draft = part(lambda: pool_settings.DRAFT)

    def create(self, types: ResourceTypes) -> "PoolsScheduler":
        return pools_scheduler.PoolsScheduler(types)

    def raised(self, settings: object, reason: Reason, total: Resource) -> Raise | None:
        """The limit of a reason on running jobs."""
        read = self.checked(settings)
        allocations, name = read.allocations, reason.queue.removeprefix("root.")
        if reason.cause is Cause.QUEUE_APPLICATIONS:
            pool = allocations.pools.get(name, PoolAllocation(name))
            return Raise(
                f"maxRunningJobs of {name}",
                counts_above(reason.count),
                str,
                lambda value: replace(
                    read,
                    allocations=replace(
                        allocations,
                        pools={**allocations.pools, name: replace(pool, max_running_jobs=value)},
                    ),
                ),
            )
        if reason.cause is Cause.USER_APPLICATIONS:
            return Raise(
                f"maxRunningJobs of the user {reason.user}",
                counts_above(reason.count),
                str,
                lambda value: replace(
                    read,
                    allocations=replace(
                        allocations,
                        user_max_jobs={**allocations.user_max_jobs, reason.user: value},
                    ),
                ),
            )
        return None

    def enlarged(self, settings: object, queue: str) -> Raise | None:
        """The weight of a pool; None: of all together."""
        name = queue.removeprefix("root.")
        if queue == "root":
            return None
        read = self.checked(settings)
        allocations = read.allocations
        pool = allocations.pools.get(name, PoolAllocation(name))
        return Raise(
            f"weight of {name}",
            [pool.weight * factor for factor in FACTORS],
            lambda value: f"{value:g}",
            lambda value: replace(
                read,
                allocations=replace(
                    allocations, pools={**allocations.pools, name: replace(pool, weight=value)}
                ),
            ),
        )

    def rounding(self, settings: object) -> Resource:
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
        return pools_reading.with_slots(types)

    def node_resources(self, site: Site, problems: Problems) -> dict[str, int]:
        """The slots of a node are those of its task tracker."""
        return pools_reading.read_node_slots(site, problems)

    def collect(self, texts: Texts, problems: Problems) -> PoolsSettings:
        switches = texts.shell.sections.get(SECTION, PoolSwitches())
        assert isinstance(switches, PoolSwitches)
        return pools_reading.collect_pools(
            texts.site, texts.document, texts.file, problems, switches
        )

    def with_allocations(
        self, in_force: PoolsSettings, document: bytes, file: str
    ) -> tuple[PoolsSettings, tuple[Problem, ...]]:
        pools, found = pools_file.read_pools_file(
            document, file, in_force.generation, hierarchical=in_force.hierarchical
        )
        return replace(in_force, allocations=pools), found

    def apply_rules(
        self, settings: PoolsSettings, texts: Texts, cluster: Resource | None, problems: Problems
    ) -> None:
        lint_rules.apply_rules(
            pools_lint.RULES, pools_lint.PoolsSubject(settings, texts, cluster), problems
        )
