"""The Fair Scheduler's properties of yarn-site.xml, one row for each, joined with its file
(Hadoop: FairSchedulerConfiguration).

docs/reference/fair-scheduler.md comes from the table. The default of a property is that of its
field in `FairSettings`.
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from fairshare.core.model.resources import MEMORY, VCORES, Resource
from fairshare.core.schedulers.fair.settings import FairSettings
from fairshare.documents.problems import Problem, Problems
from fairshare.settings.allocation import DEFAULT_ALLOCATION_FILE
from fairshare.settings.fair.allocation_file import collect_allocation_file
from fairshare.settings.fair.element_values import ElementValues
from fairshare.settings.fair.names import ALLOCATION_FILE, PREFIX
from fairshare.settings.known_names import nearest
from fairshare.settings.manager import (
    PORT_IN_NODE_NAME,
    TAG_USERS,
    ManagerSettings,
    read_manager,
    read_tag_users,
)
from fairshare.settings.resource_types import (
    RESOURCE_TYPES,
    limit_key,
    new_increment_key,
    read_increments,
)
from fairshare.settings.setting import of_cluster, read_fields
from fairshare.settings.site import Site


def _interval_ms(site: Site, name: str, default: int, problems: Problems) -> int:
    interval_ms = site.long(name, default, problems)
    if interval_ms >= 0:
        return interval_ms
    problems.warning(
        site.place(name),
        "property-value",
        f"{name} is {interval_ms}: a negative time has no effect, {default} ms hold",
        f"takes {default} and warns",
    )
    return default


def _if_preempting(read: Callable[..., object]) -> Callable[..., Any]:
    """Hadoop reads these only with preemption."""

    def read_then(site: Site, name: str, default: object, problems: Problems) -> Any:
        preempts = site.boolean(PREFIX + "preemption", False, Problems())
        return read(site, name, default, problems if preempts else Problems())

    return read_then


SETTINGS: Final = (
    of_cluster(PREFIX + "user-as-default-queue", "user_as_default_queue", Site.boolean, "true",
        "An application without a queue goes to root.USER, else to root.default."),
    of_cluster(PREFIX + "allow-undeclared-pools", "allow_undeclared_pools", Site.boolean, "true",
        "Whether submissions create queues that the allocation file does not name."),
    of_cluster(PREFIX + "preemption", "preemption", Site.boolean, "false",
        "Whether containers are preempted for starved applications."),
    of_cluster(PREFIX + "preemption.cluster-utilization-threshold",
        "preemption_utilization_threshold",
        _if_preempting(Site.single), "0.8", "The used fraction of the cluster above which"
        " containers are"
        " preempted."),
    of_cluster(PREFIX + "am.preemption", "master_preemption", Site.boolean, "true",
        "Whether ApplicationMasters may be preempted; `am.preemption.QUEUE` for one queue."),
    of_cluster(PREFIX + "waitTimeBeforeKill", "wait_before_kill_ms",
        _if_preempting(Site.integer), "15000",
        "Milliseconds from the announcement of a preemption to the kill."),
    of_cluster(PREFIX + "waitTimeBeforeNextStarvationCheck",
        "wait_before_next_starvation_check_ms",
        _if_preempting(Site.integer), "10000", "Milliseconds after which a starved application may"
        " be served again."),
    of_cluster(PREFIX + "sizebasedweight", "size_based_weight", Site.boolean, "false",
        "Whether an application's weight grows with its demand."),
    of_cluster(PREFIX + "assignmultiple", "assign_multiple", Site.boolean, "false",
        "Whether one heartbeat of a node may allocate several containers."),
    of_cluster(PREFIX + "dynamic.max.assign", "dynamic_max_assign", Site.boolean, "true",
        "With assignmultiple: a heartbeat allocates up to half of the node's free resources."),
    of_cluster(PREFIX + "max.assign", "max_assign", Site.integer, "-1",
        "With assignmultiple, without dynamic.max.assign: the maximum number of"
        " containers of a heartbeat; -1 for unlimited."),
    of_cluster(PREFIX + "locality.threshold.node", "locality_threshold_node", Site.single, "-1",
        "Fraction of the cluster's nodes that an application skips while it waits for a"
        " requested node."),
    of_cluster(PREFIX + "locality.threshold.rack", "locality_threshold_rack", Site.single, "-1",
        "Fraction of the cluster's nodes that an application skips while it waits for a"
        " requested rack."),
    of_cluster(PREFIX + "continuous-scheduling-enabled", "continuous_scheduling", Site.boolean,
        "false", "Whether nodes are offered between their heartbeats."),
    of_cluster(PREFIX + "continuous-scheduling-sleep-ms", "continuous_scheduling_sleep_ms",
        Site.integer, "5", "Milliseconds between two rounds of continuous scheduling."),
    of_cluster(PREFIX + "locality-delay-node-ms", "locality_delay_node_ms", Site.long, "-1",
        "With continuous scheduling: milliseconds to wait for a requested node."),
    of_cluster(PREFIX + "locality-delay-rack-ms", "locality_delay_rack_ms", Site.long, "-1",
        "With continuous scheduling: milliseconds to wait for a requested rack."),
    of_cluster(PREFIX + "update-interval-ms", "update_interval_ms", _interval_ms, "500",
        "Milliseconds between two computations of demand and fair shares."),
    of_cluster(PREFIX + "reservable-nodes", "reservable_nodes", Site.single, "0.05",
        "Fraction of the cluster's nodes that one application may reserve."),
    of_cluster("yarn.scheduler.reservation-threshold.increment-multiple",
        "reservation_threshold_multiple",
        Site.single, "2", "Multiple of the increment from which on nodes are reserved for a"
        " container."),
    of_cluster(TAG_USERS, "tag_users", read_tag_users, "none",
        "Users whose applications are placed as if the user of their tag `userid=USER` had"
        " submitted them; with `application-tag-based-placement.enable`."),
)  # fmt: skip
"""The properties in the order of the reference page."""


_CONVERSION_ONLY: Final = (PREFIX + "migration.mode", PREFIX + "no-terminal-rule.check")


def read_fair(
    site: Site, allocation_text: str | bytes | None, allocation_name: str = DEFAULT_ALLOCATION_FILE
) -> tuple[FairSettings, tuple[Problem, ...]]:
    """The settings, and the warnings and traps found on the way.

    `allocation_text` is None when there is no allocation file. Raises ConfigurationError
    with all problems of all files.
    """
    problems = Problems()
    settings = collect_fair(site, allocation_text, allocation_name, problems)
    problems.raise_errors()
    return settings, problems.all


def collect_fair(
    site: Site, allocation_text: str | bytes | None, allocation_name: str, problems: Problems
) -> FairSettings:
    """As `read_fair`, but errors are only added to the problems."""
    manager = read_manager(site, problems)
    site.integer("yarn.cluster.max-application-priority", 0, problems)  # Hadoop parses it, too
    increment = read_increments(site, manager.types, problems)
    _check_increment(site, increment, problems)
    settings = _settings(site, manager, increment, problems)
    _report_without_effect(site, problems)
    if allocation_text is None:
        return settings
    values = ElementValues(manager.types, problems)
    allocations = collect_allocation_file(allocation_text, allocation_name, values)
    return msgspec.structs.replace(settings, allocations=allocations)


def _settings(
    site: Site, manager: ManagerSettings, increment: Resource, problems: Problems
) -> FairSettings:
    site.text(ALLOCATION_FILE, problems)  # who gave the text has followed it
    # Exceptions of `am.preemption`, by full name of queue (Hadoop: FairSchedulerConfiguration).
    prefix = PREFIX + "am.preemption."
    master_preemption_queues = {
        name.removeprefix(prefix): site.boolean(name, True, problems) for name in site.names(prefix)
    }
    return FairSettings(
        types=manager.types,
        minimum_allocation=manager.minimum_allocation,
        maximum_allocation=manager.maximum_allocation,
        increment_allocation=increment,
        maximum_override_delay_ms=manager.maximum_override_delay_ms,
        master_preemption_queues=master_preemption_queues,
        acl_enabled=manager.acl_enabled,
        administrators=manager.administrators,
        heartbeat_interval_ms=manager.heartbeat_interval_ms,
        master_max_attempts=manager.master_max_attempts,
        **read_fields(SETTINGS, site, FairSettings(), problems),
    )


def _check_increment(site: Site, increment: Resource, problems: Problems) -> None:
    """Memory and vcores need an increment (Hadoop: FairScheduler.validateConf)."""
    for name, amount in zip((MEMORY, VCORES), increment[:2], strict=True):
        if amount > 0:
            continue
        word = "memory" if name == MEMORY else name
        problems.error(
            site.place(new_increment_key(name), limit_key(name, "increment")),
            "allocation-limits",
            f"Invalid resource scheduler {word}: the increment allocation {amount} must be"
            " greater than 0",
            "does not start",
        )


def _report_without_effect(site: Site, problems: Problems) -> None:
    """Report properties that have no effect here."""
    if site.boolean(PORT_IN_NODE_NAME, False, problems):
        problems.warning(
            site.place(PORT_IN_NODE_NAME),
            "unsupported",
            f"{PORT_IN_NODE_NAME} has no effect: a node is known by its name alone",
            "calls nodes host:port",
        )
    for name in _CONVERSION_ONLY:
        if site.text(name, problems) is not None:
            problems.warning(
                site.place(name),
                "unsupported",
                f"{name} has no effect: it belongs to Hadoop's conversion tool",
                "reads it while it converts to the Capacity Scheduler",
            )
    for prefix in (PREFIX, RESOURCE_TYPES + "."):
        for unknown in site.unread(prefix):
            near = nearest(unknown.name)
            hint = f": is {near} meant?" if near else ""
            problems.warning(
                unknown.place,
                "unknown-property",
                f"{unknown.name} is unknown and has no effect{hint}",
                "ignores it",
            )
