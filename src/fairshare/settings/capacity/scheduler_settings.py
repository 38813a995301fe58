"""The Capacity Scheduler's settings of the whole cluster: one row for each.

`reading.py` reads by this table, and docs/reference/capacity-scheduler.md comes from it. The
default of a property is that of its field in `CapacitySettings`. To add a setting, add its field
there and a row here. Those of monitors are in `monitor.py`, queue mappings in `mappings.py`.
"""

from collections.abc import Callable
from typing import Final

from fairshare.core.model.resources import NO_LIMIT
from fairshare.core.schedulers.capacity.settings import WorkflowPriority
from fairshare.documents import literals
from fairshare.documents.problems import Problems
from fairshare.settings import nodes
from fairshare.settings.capacity.monitor import REMOVAL, read_if_runs
from fairshare.settings.capacity.names import PREFIX
from fairshare.settings.capacity.text import read_workflow_priorities
from fairshare.settings.manager import TAG_USERS, read_tag_users
from fairshare.settings.setting import of_cluster
from fairshare.settings.site import Site

CALCULATOR: Final = PREFIX + "resource-calculator"
DOMINANT: Final = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"
DEFAULT: Final = "org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator"
CALCULATORS: Final = {DEFAULT: False, DOMINANT: True}

HEARTBEAT: Final = PREFIX + "per-node-heartbeat."
_CREATION: Final = PREFIX + "auto-queue-creation-v2."


def _dominant(site: Site, name: str, default: bool, problems: Problems) -> bool:
    """Whether the calculator looks at all types."""
    written = site.string(name, "", problems)
    if written and written not in CALCULATORS:
        known = " or ".join(CALCULATORS)
        message = f"{name}: there is no calculator {written!r}: it is {known}"
        problems.error(site.place(name), "calculator", message, "does not start")
    return CALCULATORS.get(written, default)


def _users_parallel(
    site: Site, name: str, default: dict[str, int], problems: Problems
) -> dict[str, int]:
    """By user; a user's name may have periods."""
    before, after = name.split("USER")
    limits = {}
    for one in site.names(before):
        user = one.removeprefix(before).removesuffix(after)
        if one == f"{before}{user}{after}":
            limits[user] = _later(site, one, NO_LIMIT, problems, literals.exact_integer)
    return limits or default


def _integer_later(site: Site, name: str, default: int, problems: Problems) -> int:
    return _later(site, name, default, problems, lambda text: literals.property_integer(text, 32))


def _later(
    site: Site, name: str, default: int, problems: Problems, read: Callable[[str], int]
) -> int:
    """A number that Hadoop reads when an application is submitted."""
    text = site.text(name, problems)
    try:
        return default if text is None else read(text)
    except ValueError as error:
        hadoop = "starts, and ends when the first application is submitted"
        problems.error(site.place(name), "property-value", f"{name}: {error}", hadoop)
        return default


def _off_switch(site: Site, name: str, default: int, problems: Problems) -> int:
    most = site.integer(name, default, problems)
    if most >= 1:
        return most
    message = f"{name} is {most}: at least 1 is assigned, so 1 holds"
    problems.warning(site.place(name), "property-value", message, "takes 1 and warns")
    return 1


def _workflow_priorities(
    site: Site, name: str, default: tuple[WorkflowPriority, ...], problems: Problems
) -> tuple[WorkflowPriority, ...]:
    try:
        return read_workflow_priorities(site.text(name, problems) or "")
    except ValueError as error:
        message = f"{name}: {error}"
        problems.error(site.place(name), "property-value", message, "does not start")
        return default


def _seconds(site: Site, name: str, default_ms: int, problems: Problems) -> int:
    seconds, _ = read_if_runs(
        REMOVAL, site, problems, lambda found: site.long(name, default_ms // 1_000, found)
    )
    return 1_000 * seconds


def _list(site: Site, name: str, default: str, problems: Problems) -> str:
    return site.text(name, problems) or default


SCHEDULER: Final = (
    of_cluster(CALCULATOR, "dominant", _dominant, "DefaultResourceCalculator",
        "Whether all resource types count (`DominantResourceCalculator`) or only memory."),
    of_cluster(PREFIX + "maximum-applications", "maximum_applications", Site.integer, "10000",
        "The maximum number of applications in all queues, including pending ones."),
    of_cluster(PREFIX + "global-queue-max-application", "queue_maximum_applications", Site.integer,
        "-1", "maximum-applications of leaf queues without one; -1 for a fraction of the above."),
    of_cluster(PREFIX + "maximum-am-resource-percent", "maximum_master_share", Site.single, "0.1",
        "maximum-am-resource-percent of queues without one."),
    of_cluster(PREFIX + "max-parallel-apps", "maximum_parallel_applications", Site.integer,
        "no limit", "max-parallel-apps of queues without one."),
    of_cluster(PREFIX + "user.max-parallel-apps", "user_maximum_parallel_applications",
        _integer_later, "no limit", "The maximum number of running applications of a user."),
    of_cluster(PREFIX + "user.USER.max-parallel-apps", "users_maximum_parallel_applications",
        _users_parallel, "user.max-parallel-apps", "The same for one user."),
    of_cluster(PREFIX + "minimum-user-limit-percent", "minimum_user_limit_percent", Site.single,
        "100", "minimum-user-limit-percent of leaf queues without one."),
    of_cluster(PREFIX + "user-limit-factor", "user_limit_factor", Site.single, "1",
        "user-limit-factor of leaf queues without one."),
    of_cluster(PREFIX + "node-locality-delay", "node_locality_delay", Site.integer, "40",
        "Missed scheduling opportunities after which a request accepts another node of the rack."),
    of_cluster(PREFIX + "rack-locality-additional-delay", "rack_locality_additional_delay",
        Site.integer,
        "-1", "Further missed opportunities until it accepts another rack; -1 for the number of"
        " nodes."),
    of_cluster(PREFIX + "rack-locality-full-reset", "rack_locality_full_reset", Site.boolean,
        "true", "Whether a container on the rack resets the count of opportunities to 0."),
    of_cluster(PREFIX + "reservations-continue-look-all-nodes", "continue_looking", Site.boolean,
        "true", "Whether an application with a reservation may still use other nodes."),
    of_cluster(HEARTBEAT + "multiple-assignments-enabled", "multiple_assignments", Site.boolean,
        "true", "Whether one heartbeat of a node may allocate several containers."),
    of_cluster(HEARTBEAT + "maximum-container-assignments", "maximum_assignments", Site.integer,
        "100", "The maximum number of containers of such a heartbeat; -1 for unlimited."),
    of_cluster(HEARTBEAT + "maximum-offswitch-assignments", "maximum_off_switch_assignments",
        _off_switch, "1", "The maximum number of containers of a heartbeat outside of their rack."),
    of_cluster(PREFIX + "queue-mappings-override.enable", "mappings_override", Site.boolean,
        "false", "Whether queue mappings apply to submissions that name a queue, too."),
    of_cluster(PREFIX + "workflow-priority-mappings", "workflow_priorities", _workflow_priorities,
        "none",
        "Priorities of workflows in queues: `workflow:queue:priority`, separated by commas."),
    of_cluster(PREFIX + "workflow-priority-mappings-override.enable",
        "workflow_priorities_override",
        Site.boolean, "false", "Whether they apply to submissions that have a priority, too."),
    of_cluster(PREFIX + "legacy-queue-mode.enabled", "legacy_queue_mode", Site.boolean, "true",
        "Whether all queues are in one mode: percentages, weights or amounts."),
    of_cluster(PREFIX + "lazy-preemption-enabled", "lazy_preemption", Site.boolean, "false",
        "Whether containers are killed only when another application uses their resources."),
    of_cluster(_CREATION + "maximum-queue-depth", "maximum_queue_depth", Site.integer, "2",
        "auto-queue-creation-v2.maximum-queue-depth of queues without one."),
    of_cluster(_CREATION + "queue-expiration-time", "queue_expiration_ms", _seconds, "300",
        "Seconds after which an idle auto-created queue is removed."),
)  # fmt: skip
"""The properties of capacity-scheduler.xml that belong to no queue."""

SITE: Final = (
    of_cluster(
        "yarn.cluster.max-application-priority", "maximum_application_priority", Site.integer, "0",
        "The highest priority of an application.",
    ),
    of_cluster("yarn.admin.acl", "administrators_acl", _list, "*",
        "The administrators of the cluster: `user1,user2 group1,group2`."),
    of_cluster("yarn.workflow-id.tag-prefix", "workflow_tag_prefix", Site.string, "workflowid:",
        "The prefix of the tag that names an application's workflow."),
    of_cluster(nodes.ENABLED, "labels_enabled", Site.boolean, "false",
        "Whether node labels are enabled."),
    of_cluster(nodes.TYPE, "labels_distributed", nodes.are_distributed, "centralized",
        "Whether administrators assign node labels (`centralized`) or nodes report them"
        " (`distributed`)."),
    of_cluster(nodes.MASTER_DEFAULT, "master_default_label", nodes.master_label,
        "none", "The node label of ApplicationMasters whose application names none."),
    of_cluster(nodes.MASTER_BORROWS, "master_may_borrow", Site.boolean, "false",
        "Whether ApplicationMasters may use nodes of a non-exclusive label that they do not name."),
    of_cluster(TAG_USERS, "tag_users", read_tag_users, "none",
        "Users whose applications are placed as if the user of their tag `userid=USER` had"
        " submitted them; with `application-tag-based-placement.enable`."),
)  # fmt: skip
"""The properties of yarn-site.xml; those that all schedulers share are in `settings/manager.py`."""

SETTINGS: Final = (*SCHEDULER, *SITE)
