"""The Capacity Scheduler's properties: those of the whole system, all of them together, and the
places of those that have no effect here or that the scheduler itself refuses.

The scheduler knows queues and properties but no files; here each fault gets its file and line.
Knows neither where files are nor when they are read again (Hadoop: CapacitySchedulerConfiguration).
"""

from typing import Final

import msgspec

from fairshare.core.model.queues import parent_name
from fairshare.core.model.resources import MEMORY, VCORES, ResourceTypes
from fairshare.core.schedulers.capacity.checks import Fault, refusals
from fairshare.core.schedulers.capacity.settings import CapacitySettings
from fairshare.documents import literals
from fairshare.documents.problems import Place, Problem, Problems
from fairshare.settings.capacity.mappings import (
    APPLICATION_MAPPINGS,
    JSON,
    JSON_FILE,
    MAPPINGS,
    read_mappings,
)
from fairshare.settings.capacity.monitor import PREEMPTION, read_monitor
from fairshare.settings.capacity.names import CAPACITY_FILE, PREFIX
from fairshare.settings.capacity.queue_values import QueueValues
from fairshare.settings.capacity.scheduler_settings import (
    CALCULATOR,
    CALCULATORS,
    DEFAULT,
    DOMINANT,
    SETTINGS,
)
from fairshare.settings.capacity.tree import HINTS, QueueReader, advice_on, read_tree
from fairshare.settings.manager import (
    PORT_IN_NODE_NAME,
    ManagerSettings,
    check_limits,
    read_manager,
    warn_unsupported,
)
from fairshare.settings.resource_types import RESOURCE_TYPES, limit_key, scheduler_limit
from fairshare.settings.setting import read_fields
from fairshare.settings.site import Site
from fairshare.settings.site_files import FileReader

_SAME: Final = {
    "maximum-allocation": ("maximum-allocation-mb", "maximum-allocation-vcores"),
    "capacity": ("maximum-capacity", "queues"),
    "queues": ("capacity",),
    "state": ("queues",),
}
"""Where to look when the property of a fault is not in the files."""


def _place(fault: Fault, site: Site, file: str) -> Place:
    if fault.suffix == "queue-mappings":
        names = [MAPPINGS, APPLICATION_MAPPINGS, JSON, JSON_FILE]
        # The message quotes the rule: the list that has it is shown.
        for name in (MAPPINGS, APPLICATION_MAPPINGS):
            if any(repr(entry) in fault.message for entry in site.strings(name, Problems())):
                names.insert(0, name)
    else:  # the queue's own properties, then those that it inherits
        suffixes = (fault.suffix, *_SAME.get(fault.suffix, ()))
        names = [f"{PREFIX}{fault.queue}.{suffix}" for suffix in suffixes]
        above = parent_name(fault.queue)
        while above:
            names += [f"{PREFIX}{above}.{suffix}" for suffix in suffixes]
            above = parent_name(above)
    found = [name for name in names if name in site]
    return site.place(found[0]) if found else Place(file, 1, 1)


_SWITCHES: Final = {
    "schedule-asynchronously.enable": "containers are assigned when a node reports, one at a time",
    "multi-node-placement-enabled": "containers are assigned on the node that reports",
    "skip-allocate-on-nodes-with-reserved-containers": (
        "it belongs to the placement on several nodes, which is not here"
    ),
    "user-metrics.enable": "there are no metrics of single users beside those of their queues",
    "application.fail-fast": (
        "an application whose queue is gone after a restart is refused, and the server goes on"
    ),
}
"""What has no effect when it is on; off is what happens here."""

_DETAILS: Final = (
    "schedule-asynchronously.maximum-threads",
    "schedule-asynchronously.maximum-pending-backlogs",
    "schedule-asynchronously.scheduling-interval-ms",
)
"""What has no effect whatever it says."""

_MULTI_NODE: Final = "multi-node-sorting.policy"


def report_unsupported(site: Site, problems: Problems) -> None:
    """Report properties that have no effect here."""
    for suffix, why in _SWITCHES.items():
        name = PREFIX + suffix
        if site.boolean(name, False, problems):
            warn_unsupported(site, problems, name, why)
    details = [PREFIX + suffix for suffix in _DETAILS]
    details += site.names(PREFIX + _MULTI_NODE)
    for name in details:
        if site.text(name, problems) is not None:
            warn_unsupported(site, problems, name, "what it sets is not here")
    if site.boolean(PORT_IN_NODE_NAME, False, problems):
        warn_unsupported(site, problems, PORT_IN_NODE_NAME, "a node is known by its name alone")


SHIPPED: Final = {
    PREFIX + "root.queues": "default",
    PREFIX + "root.default.capacity": "100",
    PREFIX + "root.default.user-limit-factor": "1",
    PREFIX + "root.default.maximum-capacity": "100",
}
"""What of the file that comes with Hadoop differs from no file at all: one queue."""


def no_files(name: str) -> bytes:
    """A reader of files where there are none."""
    raise FileNotFoundError(2, "there are no files here", name)


def read_capacity(
    site: Site, file: str = CAPACITY_FILE, read_file: FileReader = no_files
) -> tuple[CapacitySettings, tuple[Problem, ...]]:
    """The settings, and the warnings and traps found on the way.

    `site` holds yarn-site.xml and capacity-scheduler.xml together; `file` is the latter's name, to
    be blamed for what is missing. `read_file` gives the bytes of the file that
    mapping-rule-json-file names. Raises ConfigurationError with all problems of all files.
    """
    problems = Problems()
    settings = collect_capacity(site, problems, file, read_file)
    problems.raise_errors()
    return settings, problems.all


def collect_capacity(
    site: Site, problems: Problems, file: str = CAPACITY_FILE, read_file: FileReader = no_files
) -> CapacitySettings:
    """As `read_capacity`, but errors are only added to the problems."""
    manager = read_manager(site, problems)
    _report_misplaced(site, manager.types, problems)
    settings = _global(site, manager, problems, read_file)
    values = QueueValues(
        site,
        manager.types,
        problems,
        legacy=settings.legacy_queue_mode,
        maximum_priority=settings.maximum_application_priority,
    )
    tree = read_tree(site, QueueReader(values), problems)
    report_unsupported(site, problems)
    _report_unknown(site, problems)
    settings = msgspec.structs.replace(settings, queues=tree.queues, templates=tree.templates)
    if not problems.errors:  # what could not be read would be judged by its default
        for fault in refusals(settings):
            problems.error(_place(fault, site, file), "refused", fault.message, "does not start")
    return settings


def _global(
    site: Site, manager: ManagerSettings, problems: Problems, read_file: FileReader
) -> CapacitySettings:
    _check_calculator(site, manager, problems)
    return CapacitySettings(
        types=manager.types,
        minimum_allocation=manager.minimum_allocation,
        maximum_allocation=manager.maximum_allocation,
        maximum_override_delay_ms=manager.maximum_override_delay_ms,
        acl_enabled=manager.acl_enabled,
        master_max_attempts=manager.master_max_attempts,
        heartbeat_interval_ms=manager.heartbeat_interval_ms,
        monitor=read_monitor(site, problems),
        mappings=read_mappings(site, problems, read_file),
        **read_fields(SETTINGS, site, CapacitySettings(), problems),
    )


def _check_calculator(site: Site, manager: ManagerSettings, problems: Problems) -> None:
    """The calculator for memory alone forbids further types."""
    dominant = CALCULATORS.get(site.string(CALCULATOR, "", problems) or DEFAULT)
    if dominant is False and len(manager.types.names) > 2:
        further = ", ".join(manager.types.names[2:])
        problems.error(
            site.place(CALCULATOR, RESOURCE_TYPES),
            "calculator",
            "RM uses DefaultResourceCalculator, which looks at memory alone, but there are further"
            f" resource types: {further}. Set {CALCULATOR} to {DOMINANT}",
            "does not start",
        )


def _report_misplaced(site: Site, types: ResourceTypes, problems: Problems) -> None:
    """Properties of yarn-site.xml in the scheduler's own file have no effect, but for what Hadoop
    checks of resource types and of the sizes of containers."""
    for property_ in site.misplaced.values():
        problems.warning(
            property_.place,
            "misplaced-property",
            f"{property_.name} has no effect in {CAPACITY_FILE}: write it into yarn-site.xml",
            "reads it from yarn-site.xml alone",
        )
    everywhere = site.with_misplaced()
    unknown = set(everywhere.strings(RESOURCE_TYPES, problems)) - set(types.names)
    if RESOURCE_TYPES in site.misplaced and unknown:
        problems.error(
            everywhere.place(RESOURCE_TYPES),
            "misplaced-property",
            f"{RESOURCE_TYPES} in {CAPACITY_FILE} names {', '.join(sorted(unknown))}, which no file"
            " declares that is read before: write it into resource-types.xml",
            "does not start",
        )
    check_limits(everywhere, problems)
    _check_minimum(everywhere, problems)


def _check_minimum(site: Site, problems: Problems) -> None:
    """The smallest container needs memory and vcores (Hadoop: CapacityScheduler.validateConf); that
    it fits has been checked."""
    for name in (MEMORY, VCORES):
        if scheduler_limit(site, name, "minimum", Problems()) == 0:
            key = limit_key(name, "minimum")
            problems.error(
                site.place(key),
                "allocation-limits",
                f"Invalid resource scheduler {'memory' if name == MEMORY else name} allocation"
                f" configuration: the minimum allocation ({key}) must be greater than 0",
                "does not start",
            )


def _report_unknown(site: Site, problems: Problems) -> None:
    for prefix in (PREFIX, PREEMPTION, RESOURCE_TYPES + "."):
        for count, unknown in enumerate(site.unread(prefix)):
            hint = advice_on(unknown.name, search=count < HINTS)
            problems.warning(
                unknown.place,
                "unknown-property",
                f"{literals.trim(unknown.name)} is unknown and has no effect{hint}",
                "ignores it",
            )
