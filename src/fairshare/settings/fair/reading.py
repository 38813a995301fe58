"""Owns the Fair Scheduler's properties of yarn-site.xml (Hadoop: FairSchedulerConfiguration),
joined with its file.

Knows neither where files are nor when they are read again.
"""

from typing import Final

import msgspec

from fairshare.core.model.resources import MEMORY, VCORES, Resource
from fairshare.core.schedulers.fair.settings import FairSettings
from fairshare.documents.problems import Problem, Problems
from fairshare.settings.allocation import DEFAULT_ALLOCATION_FILE
from fairshare.settings.fair.allocation_file import collect_allocation_file
from fairshare.settings.fair.element_values import ElementValues
from fairshare.settings.fair.names import ALLOCATION_FILE, PREFIX
from fairshare.settings.fair.site_settings import SETTINGS
from fairshare.settings.known_names import nearest
from fairshare.settings.manager import ManagerSettings, read_manager
from fairshare.settings.resource_types import (
    RESOURCE_TYPES,
    limit_key,
    new_increment_key,
    read_increments,
)
from fairshare.settings.setting import read_fields
from fairshare.settings.site import Site

_PORT_IN_NODE_NAME: Final = "yarn.scheduler.include-port-in-node-name"
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
    return FairSettings(
        types=manager.types,
        minimum_allocation=manager.minimum_allocation,
        maximum_allocation=manager.maximum_allocation,
        increment_allocation=increment,
        maximum_override_delay_ms=manager.maximum_override_delay_ms,
        master_preemption_queues=_master_preemption_queues(site, problems),
        acl_enabled=manager.acl_enabled,
        administrators=manager.administrators,
        heartbeat_interval_ms=manager.heartbeat_interval_ms,
        master_max_attempts=manager.master_max_attempts,
        **read_fields(SETTINGS, site, FairSettings(), problems),
    )


def _master_preemption_queues(site: Site, problems: Problems) -> dict[str, bool]:
    """`am.preemption.<full queue name>`: exceptions of `am.preemption`, by queue
    (Hadoop: FairSchedulerConfiguration)."""
    prefix = PREFIX + "am.preemption."
    return {
        name.removeprefix(prefix): site.boolean(name, True, problems) for name in site.names(prefix)
    }


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
            near = nearest(unknown.name)
            hint = f": is {near} meant?" if near else ""
            problems.warning(
                unknown.place,
                "unknown-property",
                f"{unknown.name} is unknown and has no effect{hint}",
                "ignores it",
            )
