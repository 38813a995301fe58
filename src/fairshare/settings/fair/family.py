"""The family of the Fair Scheduler of Hadoop YARN."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairshare.core.model.resources import Resource, ResourceTypes
from fairshare.core.schedulers.calculators import single
from fairshare.core.schedulers.entitlement import Obstacle, Preemption
from fairshare.core.schedulers.fair.settings import NEVER_MS, Amount, FairSettings, QueueSettings
from fairshare.core.schedulers.fair.tree import EVENTS
from fairshare.core.schedulers.protocol import Scheduler
from fairshare.core.schedulers.reasons import Cause, Reason
from fairshare.core.schedulers.views import VolatileFieldsOf
from fairshare.documents.problems import Finding, Place, Problem, Problems, add_findings
from fairshare.settings.allocation import DEFAULT_ALLOCATION_FILE, AllocationFileFamily, Texts
from fairshare.settings.configuration import Configuration
from fairshare.settings.engines import runs_here
from fairshare.settings.fair.names import ALLOCATION_FILE, RESERVABLE_NODES
from fairshare.settings.family import CLASS, SHARED_FILE, Claim
from fairshare.settings.parts import lazy, named, part
from fairshare.settings.raising import (
    FACTORS,
    OF_PREEMPTION,
    TIMEOUT_S,
    Raise,
    amount_text,
    amounts_above,
    counts_above,
    fractions_above,
)
from fairshare.settings.shell import FILE as SHELL_FILE
from fairshare.settings.site import Site

if TYPE_CHECKING:
    from fairshare.core.schedulers.fair import scheduler as fair_scheduler
    from fairshare.core.schedulers.fair import views as fair_views
    from fairshare.core.schedulers.fair.scheduler import FairScheduler
    from fairshare.settings import lint_rules
    from fairshare.settings.fair import allocation_file, queue_elements, queue_settings
    from fairshare.settings.fair import lint as fair_lint
    from fairshare.settings.fair import reading as fair_reading
    from fairshare.settings.fair import stored as fair_stored
    from fairshare.settings.fair.lint import subject as fair_subject
else:
    allocation_file = lazy("fairshare.settings.fair.allocation_file")
    fair_reading = lazy("fairshare.settings.fair.reading")
    fair_lint = lazy("fairshare.settings.fair.lint")
    fair_scheduler = lazy("fairshare.core.schedulers.fair.scheduler")
    fair_stored = lazy("fairshare.settings.fair.stored")
    fair_subject = lazy("fairshare.settings.fair.lint.subject")
    fair_views = lazy("fairshare.core.schedulers.fair.views")
    lint_rules = lazy("fairshare.settings.lint_rules")
    queue_elements = lazy("fairshare.settings.fair.queue_elements")
    queue_settings = lazy("fairshare.settings.fair.queue_settings")


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
    elements = part(lambda: allocation_file.NAMES | queue_elements.NAMES)
    reloaded_files = (DEFAULT_ALLOCATION_FILE,)
    has_priorities = False
    draft = part(lambda: queue_settings.DRAFT)

    def create(self, types: ResourceTypes) -> "FairScheduler":
        return fair_scheduler.FairScheduler(types)

    def raised(self, settings: object, reason: Reason, total: Resource) -> Raise | None:
        read = self.checked(settings)
        allocations, name = read.allocations, reason.queue
        queue = allocations.queues.get(name, QueueSettings(name))

        def with_queue(**fields: object) -> FairSettings:
            queues = {**allocations.queues, name: replace(queue, **fields)}
            return replace(read, allocations=replace(allocations, queues=queues))

        match reason.cause:
            case Cause.QUEUE_MAXIMUM if reason.limit is not None:
                return Raise(
                    f"maxResources of {name}",
                    amounts_above(reason, reason.limit, total),
                    lambda value: amount_text(read.types, value),
                    lambda value: with_queue(max_share=Amount(absolute=value)),
                )
            case Cause.QUEUE_APPLICATIONS:
                return Raise(
                    f"maxRunningApps of {name}",
                    counts_above(reason.count),
                    str,
                    lambda value: with_queue(max_running_applications=value),
                )
            case Cause.USER_APPLICATIONS:
                users = allocations.user_max_applications
                return Raise(
                    f"maxRunningApps of the user {reason.user}",
                    counts_above(reason.count),
                    str,
                    lambda value: replace(
                        read,
                        allocations=replace(
                            allocations, user_max_applications={**users, reason.user: value}
                        ),
                    ),
                )
            case Cause.QUEUE_MASTERS:
                now = queue.max_master_share
                now = allocations.queue_max_master_share_default if now is None else now
                return Raise(
                    f"maxAMShare of {name}",
                    fractions_above(now),
                    str,
                    lambda value: with_queue(max_master_share=single(value)),
                )
            case _:
                return None if reason.preemption is None else _preempting(read, reason.preemption)

    def enlarged(self, settings: object, queue: str) -> Raise | None:
        """The weight of a queue; None: of root, which has everything."""
        if queue == "root":
            return None
        read = self.checked(settings)
        allocations = read.allocations
        own = allocations.queues.get(queue, QueueSettings(queue))
        return Raise(
            f"weight of {queue}",
            [single(own.weight * factor) for factor in FACTORS],
            lambda value: f"{value:g}",
            lambda value: replace(
                read,
                allocations=replace(
                    allocations, queues={**allocations.queues, queue: replace(own, weight=value)}
                ),
            ),
        )

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
        return replace(in_force, allocations=allocations), found

    reserves_in_part = True

    def without_whole_reservations(
        self, configuration: Configuration, entitled_after_ms: int | None, *, forced: bool
    ) -> FairSettings:
        """None of the nodes may be reserved; a file that sets the number of them has decided it."""
        settings = self.settings_of(configuration)
        if RESERVABLE_NODES in configuration.site and not forced:
            return settings
        return replace(settings, reservable_nodes=0.0, entitled_after_ms=entitled_after_ms)

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


def _preempting(settings: FairSettings, owed: Preemption) -> Raise | None:
    """Preemption, with more and more of what may be in its way."""
    if owed.obstacle in (Obstacle.NOT_YET, Obstacle.NONE, Obstacle.NO_QUEUE_ABOVE):
        return None
    allocations = settings.allocations
    queue = allocations.queues.get(owed.queue, QueueSettings(owed.queue))
    times = (queue.fair_share_timeout_ms, allocations.fair_share_timeout_ms)
    timed = any(time not in (None, NEVER_MS) for time in times)
    above = [one.queue for one in owed.above]

    def changed(level: int) -> tuple[FairSettings, list[str]]:
        mine, queues = queue, dict(allocations.queues)
        words = ["yarn.scheduler.fair.preemption = true"]
        if not timed:
            mine = replace(mine, fair_share_timeout_ms=1_000 * TIMEOUT_S)
            words.append(f"fairSharePreemptionTimeout of {owed.queue} = {TIMEOUT_S}")
        if level > 0:
            mine = replace(mine, fair_share_threshold=1.0)
            words.append(f"fairSharePreemptionThreshold of {owed.queue} = 1.0")
        for name in above if level > 1 else ():
            known = queues.get(name, QueueSettings(name))
            queues[name] = replace(known, preemptable=True)
            words.append(f"allowPreemptionFrom of {name} = true")
        threshold = settings.preemption_utilization_threshold
        if owed.obstacle is Obstacle.UTILIZATION:
            threshold = 0.0
            words.append("yarn.scheduler.fair.preemption.cluster-utilization-threshold = 0")
        queues[owed.queue] = mine
        whole = replace(
            settings,
            preemption=True,
            preemption_utilization_threshold=threshold,
            allocations=replace(allocations, queues=queues),
        )
        return whole, words

    return Raise(
        "preemption",
        (0, 1, 2),
        lambda level: ", ".join(changed(level)[1]),
        lambda level: changed(level)[0],
        verb="works with",
        price=OF_PREEMPTION,
    )
