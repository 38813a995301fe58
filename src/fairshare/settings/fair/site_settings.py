"""Owns the Fair Scheduler's own properties of yarn-site.xml: one row for each.

`reading.py` reads by this table, and docs/reference/fair-scheduler.md comes from it. The default of
a property is that of its field in `FairSettings`.
"""

from collections.abc import Callable
from typing import Any, Final

from fairshare.documents.problems import Problems
from fairshare.settings.fair.names import PREFIX
from fairshare.settings.manager import TAG_USERS, read_tag_users
from fairshare.settings.setting import of_cluster
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


def _if_preempting(read: Callable[..., Any]) -> Callable[..., Any]:
    """Hadoop reads these only with preemption."""

    def read_then(site: Site, name: str, default: Any, problems: Problems) -> Any:
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
