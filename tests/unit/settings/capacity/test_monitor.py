"""The properties of the monitor: preemption, and the deletion of queues."""

import pytest
from tests.unit.settings.capacity.conftest import P, read, refused, reported

from fairshare.core.schedulers.capacity.settings import CapacitySettings

MONITOR = "yarn.resourcemanager.scheduler.monitor."
PREEMPTION = "yarn.resourcemanager.monitor.capacity.preemption."


def test_the_monitor_needs_its_switch_and_its_policy() -> None:
    on: dict[str, object] = {MONITOR + "enable": True}
    assert not read({}).monitor.enabled
    assert read(on).monitor.enabled  # Hadoop's default policy is the proportional one
    removal = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity."
    removal += "AutoCreatedQueueDeletionPolicy"
    monitor = read(on | {MONITOR + "policies": removal}).monitor
    assert (monitor.enabled, monitor.monitor_on, monitor.auto_removal) == (False, True, True)
    (only,) = refused(on | {MONITOR + "policies": "com.example.Policy"})
    assert "there is no policy 'com.example.Policy'" in only
    (warning,) = reported({MONITOR + "policies": removal})
    assert f"has no effect: {MONITOR}enable is not true" in warning


CLASSES = "org.apache.hadoop.yarn.server.resourcemanager."
MONITORS = {
    PREEMPTION + "monitoring_interval": "monitor.capacity.ProportionalCapacityPreemptionPolicy",
    PREEMPTION + "max_wait_before_kill": "monitor.capacity.ProportionalCapacityPreemptionPolicy",
    PREEMPTION + "intra-queue-preemption.preemption-order-policy": (
        "monitor.capacity.ProportionalCapacityPreemptionPolicy"
    ),
    "yarn.resourcemanager.monitor.capacity.queue-management.monitoring-interval": (
        "scheduler.capacity.QueueManagementDynamicEditPolicy"
    ),
    P + "auto-queue-creation-v2.queue-expiration-time": (
        "scheduler.capacity.AutoCreatedQueueDeletionPolicy"
    ),
}


@pytest.mark.parametrize("name", MONITORS)
def test_a_wrong_setting_of_a_monitor_is_an_error_only_if_the_monitor_runs(name: str) -> None:
    on: dict[str, object] = {MONITOR + "enable": True, name: "wrong"}
    (message,) = refused(on | {MONITOR + "policies": CLASSES + MONITORS[name]})
    assert name in message
    other = next(one for one in MONITORS.values() if one != MONITORS[name])
    for idle in ({name: "wrong"}, on | {MONITOR + "policies": CLASSES + other}):
        (trap,) = (line for line in reported(idle) if name in line)
        assert trap.startswith("trap: ")


QUEUE_MANAGEMENT = "yarn.resourcemanager.monitor.capacity.queue-management.monitoring-interval"


def test_all_keys_of_preemption_are_read() -> None:
    intra = PREEMPTION + "intra-queue-preemption."
    balance = PREEMPTION + "preemption-to-balance-queue-after-satisfied."
    under = P + "ordering-policy.priority-utilization.underutilized-preemption."
    monitor = read(
        {
            MONITOR + "enable": True,
            PREEMPTION + "observe_only": True,
            PREEMPTION + "monitoring_interval": 1,
            PREEMPTION + "max_wait_before_kill": 2,
            PREEMPTION + "total_preemption_per_round": 0.3,
            PREEMPTION + "max_ignored_over_capacity": 0.4,
            PREEMPTION + "natural_termination_factor": 0.5,
            PREEMPTION + "select_based_on_reserved_containers": True,
            PREEMPTION + "additional_res_balance_based_on_reserved_containers": True,
            balance + "enabled": True,
            balance + "max-wait-before-kill": 6,
            PREEMPTION + "conservative-drf": True,
            intra + "enabled": True,
            intra + "minimum-threshold": 0.7,
            intra + "max-allowable-limit": 0.8,
            intra + "preemption-order-policy": "PRIORITY_FIRST",
            intra + "conservative-drf": False,
            under + "enabled": True,
            under + "reserved-container-delay-ms": 9,
            under + "allow-move-reservation": True,
            QUEUE_MANAGEMENT: 7,
        }
    ).monitor
    default = CapacitySettings().monitor
    same = [
        name
        for name in monitor.__struct_fields__
        if getattr(monitor, name) == getattr(default, name)
    ]
    assert same == ["auto_removal", "legacy_queue_management"]
    assert monitor.intra_queue.order == "priority_first"
    assert monitor.total_per_round == 0.30000001192092896
    assert monitor.max_ignored_over_capacity == 0.4
    (only,) = refused({MONITOR + "enable": True, intra + "preemption-order-policy": "fastest"})
    assert "there is no order 'fastest'" in only
