"""The properties of the monitors beside the Capacity Scheduler (Hadoop:
ProportionalCapacityPreemptionPolicy, QueueManagementDynamicEditPolicy).
"""

from collections.abc import Callable
from typing import Final, TypeVar

from fairshare.core.schedulers.capacity.settings import IntraQueuePreemption, MonitorSettings
from fairshare.documents import literals
from fairshare.documents.problems import Problems
from fairshare.settings.capacity.names import PREFIX
from fairshare.settings.setting import of_cluster, read_fields
from fairshare.settings.site import Site

_T = TypeVar("_T")

ENABLE: Final = "yarn.resourcemanager.scheduler.monitor.enable"
POLICIES: Final = "yarn.resourcemanager.scheduler.monitor.policies"
PREEMPTION: Final = "yarn.resourcemanager.monitor.capacity.preemption."
INTRA: Final = PREEMPTION + "intra-queue-preemption."
BALANCE: Final = PREEMPTION + "preemption-to-balance-queue-after-satisfied."
UNDERUTILIZED: Final = PREFIX + "ordering-policy.priority-utilization.underutilized-preemption."

_CAPACITY: Final = "org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity."
_SCHEDULER: Final = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity."
_PROPORTIONAL: Final = _CAPACITY + "ProportionalCapacityPreemptionPolicy"
REMOVAL: Final = _SCHEDULER + "AutoCreatedQueueDeletionPolicy"
_MANAGEMENT: Final = _SCHEDULER + "QueueManagementDynamicEditPolicy"
_MANAGEMENT_INTERVAL: Final = (
    "yarn.resourcemanager.monitor.capacity.queue-management.monitoring-interval"
)
_REFRESH: Final = _SCHEDULER + "QueueConfigurationAutoRefreshPolicy"
_KNOWN: Final = (_PROPORTIONAL, REMOVAL, _MANAGEMENT, _REFRESH)
_REFRESH_INTERVAL: Final = PREFIX + "queue.auto.refresh.monitoring-interval"
_ORDERS: Final = ("userlimit_first", "priority_first")


def _positive(site: Site, name: str, default: int, problems: Problems) -> int:
    return site.long(name, default, problems, minimum=1)


def read_if_runs(
    policy: str, site: Site, problems: Problems, read: Callable[[Problems], _T]
) -> tuple[_T, bool]:
    """What `read` reads, and whether the monitor of this class runs: else Hadoop does not read it,
    and starts whatever it says."""
    policies = site.parts(POLICIES, Problems()) if POLICIES in site else (_PROPORTIONAL,)
    if site.boolean(ENABLE, False, Problems()) and policy in policies:
        return read(problems), True
    found = Problems()
    value = read(found)
    word = policy.rpartition(".")[2]
    problems.add_idle(found, f"starts as long as {word} does not run")
    return value, False


def _order(site: Site, name: str, default: str, problems: Problems) -> str:
    written = site.string(name, default, problems)
    order = literals.trim(written).lower()
    if order in _ORDERS:
        return order
    message = f"{name}: there is no order {written!r}: it is {' or '.join(_ORDERS)}"
    problems.error(site.place(name), "property-value", message, "does not start")
    return default


MONITOR: Final = (
    of_cluster(ENABLE, "monitor_on", Site.boolean, "false", "Whether the monitors run."),
    of_cluster(PREEMPTION + "observe_only", "observe_only", Site.boolean, "false",
        "Whether the preemption monitor selects containers without preempting them."),
    of_cluster(PREEMPTION + "monitoring_interval", "interval_ms", _positive, "3000",
        "Milliseconds between two rounds of preemption."),
    of_cluster(PREEMPTION + "max_wait_before_kill", "wait_before_kill_ms", Site.long, "15000",
        "Milliseconds from the announcement of a preemption to the kill."),
    of_cluster(PREEMPTION + "total_preemption_per_round", "total_per_round", Site.single, "0.1",
        "The maximum that one round preempts, as a fraction of the cluster."),
    of_cluster(PREEMPTION + "max_ignored_over_capacity", "max_ignored_over_capacity", Site.double,
        "0.1", "The fraction above its capacity up to which a queue loses no containers."),
    of_cluster(PREEMPTION + "natural_termination_factor", "natural_termination_factor",
        Site.double, "0.2", "The fraction of the resources to preempt that one round takes."),
    of_cluster(PREEMPTION + "select_based_on_reserved_containers", "select_reserved", Site.boolean,
        "false", "Whether containers are preempted on reserved nodes."),
    of_cluster(PREEMPTION + "additional_res_balance_based_on_reserved_containers",
        "balance_reserved",
        Site.boolean, "false", "Whether more is preempted so that reservations are fulfilled."),
    of_cluster(BALANCE + "enabled", "balance_after_satisfied", Site.boolean, "false",
        "Whether queues above their capacities are balanced by preemption, too."),
    of_cluster(BALANCE + "max-wait-before-kill", "balance_wait_before_kill_ms", Site.long,
        "300000", "Milliseconds from the announcement to the kill for this balance."),
    of_cluster(PREEMPTION + "conservative-drf", "conservative_drf", Site.boolean, "false",
        "Whether a container is kept if a type that is not needed would fall below its share."),
    of_cluster(UNDERUTILIZED + "enabled", "underutilized", Site.boolean, "false",
        "Whether reservations of a queue with a higher priority lead to preemption."),
    of_cluster(UNDERUTILIZED + "reserved-container-delay-ms", "underutilized_delay_ms", Site.long,
        "60000", "Milliseconds that such a reservation waits first."),
    of_cluster(UNDERUTILIZED + "allow-move-reservation", "underutilized_move_reservation",
        Site.boolean, "false", "Whether such a reservation may move to another node."),
    of_cluster(_MANAGEMENT_INTERVAL, "legacy_interval_ms", _positive, "1500",
        "Milliseconds between two rounds of the management of legacy auto-created leaf queues."),
)  # fmt: skip
"""The properties of the monitors, as fields of `MonitorSettings`."""

INTRA_QUEUE: Final = (
    of_cluster(INTRA + "enabled", "enabled", Site.boolean, "false",
        "Whether containers are preempted for applications of the same queue."),
    of_cluster(INTRA + "minimum-threshold", "minimum_threshold", Site.single, "0.5",
        "The used fraction of a queue from which this happens."),
    of_cluster(INTRA + "max-allowable-limit", "max_allowable_limit", Site.single, "0.2",
        "The maximum that one such round preempts, as a fraction of the queue."),
    of_cluster(INTRA + "preemption-order-policy", "order", _order, "userlimit_first",
        "Whether user limits or priorities come first: `userlimit_first`, `priority_first`."),
    of_cluster(INTRA + "conservative-drf", "conservative_drf", Site.boolean, "true",
        "Like conservative-drf, within a queue."),
)  # fmt: skip
"""Those of preemption within queues, as fields of `IntraQueuePreemption`."""

POLICY_NAMES: Final = of_cluster(
    POLICIES, "policies", Site.strings, "ProportionalCapacityPreemptionPolicy",
    "The classes of the monitors.",
)  # fmt: skip
AUTO_REFRESH: Final = of_cluster(
    _REFRESH_INTERVAL, "auto_refresh_ms", _positive, "5000",
    "With QueueConfigurationAutoRefreshPolicy: milliseconds between two checks of the file.",
)  # fmt: skip


def read_monitor(site: Site, problems: Problems) -> MonitorSettings:
    """The monitors that run, and all keys of preemption, with Hadoop's defaults."""
    default = MonitorSettings()
    management = [one for one in MONITOR if one.name == _MANAGEMENT_INTERVAL]
    preemption = [one for one in MONITOR if one not in management]
    settings, _ = read_if_runs(
        _PROPORTIONAL, site, problems, lambda found: read_fields(preemption, site, default, found)
    )
    managed, _ = read_if_runs(
        _MANAGEMENT, site, problems, lambda found: read_fields(management, site, default, found)
    )
    intra, _ = read_if_runs(
        _PROPORTIONAL,
        site,
        problems,
        lambda found: read_fields(INTRA_QUEUE, site, IntraQueuePreemption(), found),
    )
    on = settings["monitor_on"]
    policies = _policies(site, on, problems)
    return MonitorSettings(
        enabled=on and _PROPORTIONAL in policies,
        auto_removal=on and REMOVAL in policies,
        legacy_queue_management=on and _MANAGEMENT in policies,
        intra_queue=IntraQueuePreemption(**intra),
        **settings,
        **managed,
    )


def read_auto_refresh(site: Site, problems: Problems) -> int | None:
    """How often the file is looked at for changes, in milliseconds; None: only a command counts."""
    interval_ms, runs = read_if_runs(
        _REFRESH, site, problems, lambda found: _positive(site, _REFRESH_INTERVAL, 5_000, found)
    )
    if not runs and _REFRESH_INTERVAL in site:
        problems.warning(
            site.place(_REFRESH_INTERVAL),
            "without-effect",
            f"{_REFRESH_INTERVAL} has no effect: {POLICIES} does not name {_REFRESH},"
            f" or {ENABLE} is not true",
            "ignores it",
        )
    return interval_ms if runs else None


def _policies(site: Site, on: bool, problems: Problems) -> tuple[str, ...]:
    """The classes of the monitors; the proportional one if the file names none."""
    if POLICIES not in site:
        return (_PROPORTIONAL,)
    policies = site.parts(POLICIES, problems)
    place = site.place(POLICIES)
    for policy in policies:
        if policy not in _KNOWN:
            known = ", ".join(_KNOWN)
            message = f"{POLICIES}: there is no policy {policy!r} (there are {known})"
            add = problems.error if on else problems.warning
            add(place, "property-value", message, "does not start without the class")
    if not on and policies:
        problems.warning(
            place,
            "without-effect",
            f"{POLICIES} has no effect: {ENABLE} is not true",
            "runs no monitor",
        )
    return policies
