"""Owns the Capacity Scheduler's properties: those of the whole system, and all of them together.

Knows neither where files are nor when they are read again (Hadoop: CapacitySchedulerConfiguration).
"""

from typing import Final

import msgspec

from fairshare.config import literals
from fairshare.config.manager import ManagerSettings, read_manager
from fairshare.config.node_labels import read_node_labels
from fairshare.config.problems import Problem, Problems
from fairshare.config.resource_types import RESOURCE_TYPES, limit_key
from fairshare.config.site import Site
from fairshare.config.site_files import FileReader
from fairshare.families.capacity.mappings import read_mappings
from fairshare.families.capacity.monitor import PREEMPTION, read_monitor
from fairshare.families.capacity.names import HINTS, PREFIX, advice_on
from fairshare.families.capacity.priorities import read_workflow_priorities
from fairshare.families.capacity.queue import QueueReader
from fairshare.families.capacity.refusals import report_refusals
from fairshare.families.capacity.tree import read_tree
from fairshare.families.capacity.unsupported import report_unsupported
from fairshare.model.resources import MEMORY, VCORES
from fairshare.schedulers.capacity.settings import (
    NO_LIMIT,
    CapacitySettings,
    WorkflowPriority,
)

CAPACITY_FILE: Final = "capacity-scheduler.xml"
CALCULATOR: Final = PREFIX + "resource-calculator"
MAXIMUM_PRIORITY: Final = "yarn.cluster.max-application-priority"
WORKFLOW_TAG: Final = "yarn.workflow-id.tag-prefix"
SHIPPED: Final = {
    PREFIX + "root.queues": "default",
    PREFIX + "root.default.capacity": "100",
    PREFIX + "root.default.user-limit-factor": "1",
    PREFIX + "root.default.maximum-capacity": "100",
}
"""What of the file that comes with Hadoop differs from no file at all: one queue."""

DOMINANT: Final = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"
_CALCULATORS: Final = {
    "org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator": False,
    DOMINANT: True,
}
_USER: Final = PREFIX + "user."
_PARALLEL: Final = "max-parallel-apps"


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
    site: Site,
    problems: Problems,
    file: str = CAPACITY_FILE,
    read_file: FileReader = no_files,
) -> CapacitySettings:
    """As `read_capacity`, but errors are only added to the problems."""
    manager = read_manager(site, problems)
    _check_minimum(site, manager, problems)
    settings = _global(site, manager, problems, read_file)
    reader = QueueReader(
        site,
        manager.types,
        problems,
        legacy=settings.legacy_queue_mode,
        maximum_priority=settings.maximum_application_priority,
    )
    tree = read_tree(site, reader, problems)
    report_unsupported(site, problems)
    _report_unknown(site, problems)
    settings = msgspec.structs.replace(settings, queues=tree.queues, templates=tree.templates)
    if not problems.errors:  # what could not be read would be judged by its default
        report_refusals(settings, site, file, problems)
    return settings


def _global(
    site: Site, manager: ManagerSettings, problems: Problems, read_file: FileReader
) -> CapacitySettings:
    def boolean(name: str, default: bool) -> bool:
        return site.boolean(PREFIX + name, default, problems)

    def integer(name: str, default: int) -> int:
        return site.integer(PREFIX + name, default, problems)

    def single(name: str, default: float) -> float:
        return site.single(PREFIX + name, default, problems)

    return CapacitySettings(
        types=manager.types,
        minimum_allocation=manager.minimum_allocation,
        maximum_allocation=manager.maximum_allocation,
        maximum_override_delay_ms=manager.maximum_override_delay_ms,
        maximum_application_priority=site.integer(MAXIMUM_PRIORITY, 0, problems),
        acl_enabled=manager.acl_enabled,
        administrators_acl=site.text("yarn.admin.acl", problems) or "*",
        master_max_attempts=manager.master_max_attempts,
        heartbeat_interval_ms=manager.heartbeat_interval_ms,
        monitor=read_monitor(site, problems),
        dominant=_dominant(site, manager, problems),
        maximum_applications=integer("maximum-applications", 10_000),
        queue_maximum_applications=integer("global-queue-max-application", -1),
        maximum_master_share=single("maximum-am-resource-percent", 0.1),
        maximum_parallel_applications=integer(_PARALLEL, NO_LIMIT),
        user_maximum_parallel_applications=integer(f"user.{_PARALLEL}", NO_LIMIT),
        users_maximum_parallel_applications=_users_parallel(site, problems),
        minimum_user_limit_percent=single("minimum-user-limit-percent", 100.0),
        user_limit_factor=single("user-limit-factor", 1.0),
        node_locality_delay=integer("node-locality-delay", 40),
        rack_locality_additional_delay=integer("rack-locality-additional-delay", -1),
        rack_locality_full_reset=boolean("rack-locality-full-reset", True),
        continue_looking=boolean("reservations-continue-look-all-nodes", True),
        multiple_assignments=boolean("per-node-heartbeat.multiple-assignments-enabled", True),
        maximum_assignments=integer("per-node-heartbeat.maximum-container-assignments", 100),
        maximum_off_switch_assignments=_off_switch(site, problems),
        mappings=read_mappings(site, problems, read_file),
        mappings_override=boolean("queue-mappings-override.enable", False),
        workflow_priorities=_workflow_priorities(site, problems),
        workflow_priorities_override=boolean("workflow-priority-mappings-override.enable", False),
        workflow_tag_prefix=site.string(WORKFLOW_TAG, "workflowid:", problems),
        legacy_queue_mode=boolean("legacy-queue-mode.enabled", True),
        lazy_preemption=boolean("lazy-preemption-enabled", False),
        maximum_queue_depth=integer("auto-queue-creation-v2.maximum-queue-depth", 2),
        **read_node_labels(site, problems),
        queue_expiration_ms=1_000
        * site.long(PREFIX + "auto-queue-creation-v2.queue-expiration-time", 300, problems),
    )


def _dominant(site: Site, manager: ManagerSettings, problems: Problems) -> bool:
    """Whether the calculator looks at all types; the one for memory alone forbids further types."""
    written = site.string(CALCULATOR, "", problems)
    dominant = _CALCULATORS.get(written, False)
    if written and written not in _CALCULATORS:
        known = " or ".join(_CALCULATORS)
        message = f"{CALCULATOR}: there is no calculator {written!r}: it is {known}"
        problems.error(site.place(CALCULATOR), "calculator", message, "does not start")
    elif not dominant and len(manager.types.names) > 2:
        further = ", ".join(manager.types.names[2:])
        problems.error(
            site.place(CALCULATOR, RESOURCE_TYPES),
            "calculator",
            "RM uses DefaultResourceCalculator, which looks at memory alone, but there are further"
            f" resource types: {further}. Set {CALCULATOR} to {DOMINANT}",
            "does not start",
        )
    return dominant


def _users_parallel(site: Site, problems: Problems) -> dict[str, int]:
    """`user.<name>.max-parallel-apps`; a name may have periods."""
    found = {}
    for name in site.names(_USER):
        user = name.removeprefix(_USER).removesuffix("." + _PARALLEL)
        if name == f"{_USER}{user}.{_PARALLEL}":
            found[user] = site.integer(name, NO_LIMIT, problems)
    return found


def _off_switch(site: Site, problems: Problems) -> int:
    name = PREFIX + "per-node-heartbeat.maximum-offswitch-assignments"
    most = site.integer(name, 1, problems)
    if most >= 1:
        return most
    message = f"{name} is {most}: at least 1 is assigned, so 1 holds"
    problems.warning(site.place(name), "property-value", message, "takes 1 and warns")
    return 1


def _workflow_priorities(site: Site, problems: Problems) -> tuple[WorkflowPriority, ...]:
    name = PREFIX + "workflow-priority-mappings"
    try:
        return read_workflow_priorities(site.text(name, problems) or "")
    except ValueError as error:
        message = f"{name}: {error}"
        problems.error(site.place(name), "property-value", message, "does not start")
        return ()


def _check_minimum(site: Site, manager: ManagerSettings, problems: Problems) -> None:
    """The smallest container needs memory and vcores (Hadoop: CapacityScheduler.validateConf); that
    it fits has been checked."""
    for name, least in zip((MEMORY, VCORES), manager.minimum_allocation[:2], strict=True):
        if least == 0:
            key = limit_key(name, "minimum")
            problems.error(
                site.place(f"{RESOURCE_TYPES}.{name}.minimum-allocation", key),
                "allocation-limits",
                f"Invalid resource scheduler {'memory' if name == MEMORY else name} allocation"
                f" configuration: the minimum allocation ({key}) must be greater than 0",
                "does not start",
            )


def _report_unknown(site: Site, problems: Problems) -> None:
    unread = {unknown.name for unknown in site.unread(PREFIX)}
    known = [name for name in site.names(PREFIX) if name not in unread]
    for prefix in (PREFIX, PREEMPTION, RESOURCE_TYPES + "."):
        for count, unknown in enumerate(site.unread(prefix)):
            hint = advice_on(unknown.name, known if count < HINTS else ())
            problems.warning(
                unknown.place,
                "unknown-property",
                f"{literals.trim(unknown.name)} is unknown and has no effect{hint}",
                "ignores it",
            )
