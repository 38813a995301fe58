"""Owns the Fair Scheduler's properties of yarn-site.xml (spec/fair.md 4), joined with its file.

Knows neither where files are nor when they are read again.
"""

from collections.abc import Collection
from typing import Final

import msgspec

from fairshare.config.manager import ManagerSettings, read_manager
from fairshare.config.problems import Problem, Problems
from fairshare.config.resource_types import (
    RESOURCE_TYPES,
    limit_key,
    new_increment_key,
    read_increments,
)
from fairshare.config.site import Site
from fairshare.families.allocation import DEFAULT_ALLOCATION_FILE
from fairshare.families.fair.allocation_file import collect_allocation_file
from fairshare.families.fair.element_values import ElementValues
from fairshare.model.resources import MEMORY, VCORES, Resource
from fairshare.schedulers.fair.settings import FairSettings

PREFIX: Final = "yarn.scheduler.fair."
ALLOCATION_FILE: Final = PREFIX + "allocation.file"
RESERVABLE_NODES: Final = PREFIX + "reservable-nodes"

_PORT_IN_NODE_NAME: Final = "yarn.scheduler.include-port-in-node-name"
_CONVERSION_ONLY: Final = (PREFIX + "migration.mode", PREFIX + "no-terminal-rule.check")


def read_fair(
    site: Site,
    allocation_text: str | bytes | None,
    allocation_name: str = DEFAULT_ALLOCATION_FILE,
    policies: Collection[str] | None = None,
) -> tuple[FairSettings, tuple[Problem, ...]]:
    """The settings, and the warnings and traps found on the way.

    `allocation_text` is None when there is no allocation file. `policies` are the names of all
    scheduling policies, in lower case; None: all that there are. Raises ConfigurationError with all
    problems of all files.
    """
    problems = Problems()
    settings = collect_fair(site, allocation_text, allocation_name, problems, policies)
    problems.raise_errors()
    return settings, problems.all


def collect_fair(
    site: Site,
    allocation_text: str | bytes | None,
    allocation_name: str,
    problems: Problems,
    policies: Collection[str] | None = None,
) -> FairSettings:
    """As `read_fair`, but errors are only added to the problems."""
    manager = read_manager(site, problems)
    increment = read_increments(site, manager.types, problems)
    _check_increment(site, increment, problems)
    settings = _settings(site, manager, increment, problems)
    _report_without_effect(site, problems)
    if allocation_text is None:
        return settings
    values = ElementValues(manager.types, problems, policies)
    allocations = collect_allocation_file(allocation_text, allocation_name, values)
    return msgspec.structs.replace(settings, allocations=allocations)


def _settings(
    site: Site,
    manager: ManagerSettings,
    increment: Resource,
    problems: Problems,
) -> FairSettings:
    def boolean(name: str, default: bool) -> bool:
        return site.boolean(PREFIX + name, default, problems)

    def integer(name: str, default: int) -> int:
        return site.integer(PREFIX + name, default, problems)

    def single(name: str, default: float) -> float:
        return site.single(PREFIX + name, default, problems)

    site.text(ALLOCATION_FILE, problems)  # who gave the text has followed it
    return FairSettings(
        types=manager.types,
        minimum_allocation=manager.minimum_allocation,
        maximum_allocation=manager.maximum_allocation,
        increment_allocation=increment,
        maximum_override_delay_ms=manager.maximum_override_delay_ms,
        user_as_default_queue=boolean("user-as-default-queue", True),
        allow_undeclared_pools=boolean("allow-undeclared-pools", True),
        preemption=boolean("preemption", False),
        preemption_utilization_threshold=single("preemption.cluster-utilization-threshold", 0.8),
        master_preemption=boolean("am.preemption", True),
        master_preemption_queues=_master_preemption_queues(site, problems),
        wait_before_kill_ms=integer("waitTimeBeforeKill", 15_000),
        wait_before_next_starvation_check_ms=integer("waitTimeBeforeNextStarvationCheck", 10_000),
        size_based_weight=boolean("sizebasedweight", False),
        assign_multiple=boolean("assignmultiple", False),
        dynamic_max_assign=boolean("dynamic.max.assign", True),
        max_assign=integer("max.assign", -1),
        locality_threshold_node=single("locality.threshold.node", -1.0),
        locality_threshold_rack=single("locality.threshold.rack", -1.0),
        continuous_scheduling=boolean("continuous-scheduling-enabled", False),
        continuous_scheduling_sleep_ms=integer("continuous-scheduling-sleep-ms", 5),
        locality_delay_node_ms=site.long(PREFIX + "locality-delay-node-ms", -1, problems),
        locality_delay_rack_ms=site.long(PREFIX + "locality-delay-rack-ms", -1, problems),
        update_interval_ms=_update_interval_ms(site, problems),
        reservable_nodes=single("reservable-nodes", 0.05),
        reservation_threshold_multiple=site.single(
            "yarn.scheduler.reservation-threshold.increment-multiple", 2.0, problems
        ),
        acl_enabled=manager.acl_enabled,
        administrators=manager.administrators,
        heartbeat_interval_ms=manager.heartbeat_interval_ms,
        master_max_attempts=manager.master_max_attempts,
    )


def _master_preemption_queues(site: Site, problems: Problems) -> dict[str, bool]:
    """`am.preemption.<full queue name>`: exceptions of `am.preemption`, by queue (14.5.2)."""
    prefix = PREFIX + "am.preemption."
    return {
        name.removeprefix(prefix): site.boolean(name, True, problems) for name in site.names(prefix)
    }


def _update_interval_ms(site: Site, problems: Problems) -> int:
    name = PREFIX + "update-interval-ms"
    interval_ms = site.long(name, 500, problems)
    if interval_ms >= 0:
        return interval_ms
    problems.warning(
        site.place(name),
        "property-value",
        f"{name} is {interval_ms}: a negative time has no effect, 500 ms hold",
        "takes 500 and warns",
    )
    return 500


def _check_increment(site: Site, increment: Resource, problems: Problems) -> None:
    """Memory and vcores need an increment (4.3)."""
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
    """Name the properties that somebody wrote in the hope of an effect."""
    if site.boolean(_PORT_IN_NODE_NAME, False, problems):
        problems.warning(
            site.place(_PORT_IN_NODE_NAME),
            "unsupported",
            f"{_PORT_IN_NODE_NAME} has no effect: a node is known by its name alone",
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
            problems.warning(
                unknown.place,
                "unknown-property",
                f"{unknown.name} is unknown and has no effect",
                "ignores it",
            )
