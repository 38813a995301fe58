"""Owns the properties of the monitors beside the Capacity Scheduler
(Hadoop: ProportionalCapacityPreemptionPolicy, QueueManagementDynamicEditPolicy)."""

from typing import Final

from fairshare.config import literals
from fairshare.config.problems import Problems
from fairshare.config.site import Site
from fairshare.families.capacity.names import PREFIX
from fairshare.schedulers.capacity.settings import IntraQueuePreemption, MonitorSettings

ENABLE: Final = "yarn.resourcemanager.scheduler.monitor.enable"
POLICIES: Final = "yarn.resourcemanager.scheduler.monitor.policies"
PREEMPTION: Final = "yarn.resourcemanager.monitor.capacity.preemption."
INTRA: Final = PREEMPTION + "intra-queue-preemption."
BALANCE: Final = PREEMPTION + "preemption-to-balance-queue-after-satisfied."
UNDERUTILIZED: Final = PREFIX + "ordering-policy.priority-utilization.underutilized-preemption."

_CAPACITY: Final = "org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity."
_SCHEDULER: Final = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity."
_PROPORTIONAL: Final = _CAPACITY + "ProportionalCapacityPreemptionPolicy"
_REMOVAL: Final = _SCHEDULER + "AutoCreatedQueueDeletionPolicy"
_MANAGEMENT: Final = _SCHEDULER + "QueueManagementDynamicEditPolicy"
_MANAGEMENT_INTERVAL: Final = (
    "yarn.resourcemanager.monitor.capacity.queue-management.monitoring-interval"
)
_REFRESH: Final = _SCHEDULER + "QueueConfigurationAutoRefreshPolicy"
_KNOWN: Final = (_PROPORTIONAL, _REMOVAL, _MANAGEMENT, _REFRESH)
_REFRESH_INTERVAL: Final = PREFIX + "queue.auto.refresh.monitoring-interval"
_ORDERS: Final = ("userlimit_first", "priority_first")


def read_monitor(site: Site, problems: Problems) -> MonitorSettings:
    """The monitors that run, and all keys of preemption, with Hadoop's defaults."""
    on = site.boolean(ENABLE, False, problems)
    policies = _policies(site, on, problems)

    def single(name: str, default: float) -> float:
        return site.single(name, default, problems)

    def boolean(name: str) -> bool:
        return site.boolean(name, False, problems)

    return MonitorSettings(
        enabled=on and _PROPORTIONAL in policies,
        monitor_on=on,
        observe_only=boolean(PREEMPTION + "observe_only"),
        interval_ms=site.long(PREEMPTION + "monitoring_interval", 3_000, problems, minimum=1),
        wait_before_kill_ms=site.long(PREEMPTION + "max_wait_before_kill", 15_000, problems),
        total_per_round=single(PREEMPTION + "total_preemption_per_round", 0.1),
        max_ignored_over_capacity=site.double(
            PREEMPTION + "max_ignored_over_capacity", 0.1, problems
        ),
        natural_termination_factor=site.double(
            PREEMPTION + "natural_termination_factor", 0.2, problems
        ),
        select_reserved=boolean(PREEMPTION + "select_based_on_reserved_containers"),
        balance_reserved=boolean(
            PREEMPTION + "additional_res_balance_based_on_reserved_containers"
        ),
        balance_after_satisfied=boolean(BALANCE + "enabled"),
        balance_wait_before_kill_ms=site.long(BALANCE + "max-wait-before-kill", 300_000, problems),
        conservative_drf=boolean(PREEMPTION + "conservative-drf"),
        intra_queue=IntraQueuePreemption(
            enabled=boolean(INTRA + "enabled"),
            minimum_threshold=single(INTRA + "minimum-threshold", 0.5),
            max_allowable_limit=single(INTRA + "max-allowable-limit", 0.2),
            order=_order(site, problems),
            conservative_drf=site.boolean(INTRA + "conservative-drf", True, problems),
        ),
        underutilized=boolean(UNDERUTILIZED + "enabled"),
        underutilized_delay_ms=site.long(
            UNDERUTILIZED + "reserved-container-delay-ms", 60_000, problems
        ),
        underutilized_move_reservation=boolean(UNDERUTILIZED + "allow-move-reservation"),
        auto_removal=on and _REMOVAL in policies,
        legacy_queue_management=on and _MANAGEMENT in policies,
        legacy_interval_ms=site.long(_MANAGEMENT_INTERVAL, 1_500, problems, minimum=1),
    )


def read_auto_refresh(site: Site, problems: Problems) -> int | None:
    """How often the file is looked at for changes, in milliseconds; None: only a command counts."""
    interval_ms = site.long(_REFRESH_INTERVAL, 5_000, problems, minimum=1)
    on = site.boolean(ENABLE, False, Problems())
    runs = on and _REFRESH in site.strings(POLICIES, Problems())
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
    policies = site.strings(POLICIES, problems)
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


def _order(site: Site, problems: Problems) -> str:
    name = INTRA + "preemption-order-policy"
    written = site.string(name, _ORDERS[0], problems)
    order = literals.trim(written).lower()
    if order in _ORDERS:
        return order
    message = f"{name}: there is no order {written!r}: it is {' or '.join(_ORDERS)}"
    problems.error(site.place(name), "property-value", message, "does not start")
    return _ORDERS[0]
